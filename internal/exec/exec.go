// Package exec is the executor: what happens at every launch, in C (exec.h says
// how), and its Go face. Go compiles a Program for a kernel and publishes it
// under a handle; launches run it without entering Go.
package exec

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -DDLAUNCH_OWN_DLPACK
#include <stdlib.h>
#include <string.h>
#include "tensor.h"

// A kernel and all that belongs to it in one block: a launch that comes after the
// driver's code finds little of it in the caches.
static dl_kernel *make_kernel(void *function, uint32_t devices, size_t program_bytes) {
	enum { LINE = 64 };
	size_t before = sizeof(dl_kernel) + devices * sizeof(dl_limits);
	dl_kernel *k = aligned_alloc(LINE, (before + program_bytes + LINE - 1) / LINE * LINE);
	if (k == NULL) return NULL;
	memset(k, 0, before);
	k->limits = (dl_limits *)(k + 1);
	k->function = function;
	k->program.device = -1;
	return k;
}
static uint8_t *behind(dl_kernel *k, uint32_t devices) { return (uint8_t *)(k->limits + devices); }
static void set_limits(dl_kernel *k, uint32_t device, const dl_limits *l) {
	dl_limits *to = &k->limits[device];
	to->threads = l->threads;
	memcpy(to->block, l->block, sizeof to->block);
	memcpy(to->grid, l->grid, sizeof to->grid);
	atomic_store(&to->shared, l->shared);
	atomic_store(&to->ready, 1);
}
static void set_shared(dl_kernel *k, uint32_t device, uint32_t bytes) { atomic_store(&k->limits[device].shared, bytes); }
static void set_context(uint32_t device, void *context) { atomic_store(&dl_the_driver.contexts[device], context); }
static dl_tensor *make_tensor(uint32_t axes) {
	enum { LINE = _Alignof(dl_tensor) };
	size_t bytes = (sizeof(dl_tensor) + axes * sizeof(int64_t) + LINE - 1) / LINE * LINE;
	dl_tensor *t = aligned_alloc(LINE, bytes);
	if (t == NULL) return NULL;
	memset(t, 0, bytes);
	for (int i = 0; i < DL_KNOWN_STREAMS; i++) atomic_store(&t->streams[i], DL_NO_STREAM);
	t->owner = t;
	return t;
}
static int64_t *axes_of(dl_tensor *t) { return t->axes; }
static uint64_t launched_on(dl_tensor *t, int i) { return atomic_load(&t->streams[i]); }
static uint32_t launched_elsewhere(dl_tensor *t) { return atomic_load(&t->elsewhere); }
static void left_our_hands(dl_tensor *t) { atomic_fetch_or(&t->elsewhere, DL_LEFT); }
// malloc that may fail: cgo's own ends the process.
static void *allocate(size_t bytes) { return calloc(1, bytes); }
static void *at(uintptr_t address) { return (void *)address; }
*/
import "C"

import (
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"dlaunch/internal/status"
)

// MaxDevices is how many devices the executor has room for.
const MaxDevices = C.DL_MAX_DEVICES

// MaxSizes is how many size names a prototype may have.
const MaxSizes = C.DL_MAX_SIZES

// MaxRank is the highest rank that the executor reads.
const MaxRank = C.DL_MAX_RANK

// MaxParams is the largest parameter buffer in bytes: CUDA's own limit from
// driver 12.1 on, for sm_70 and newer.
const MaxParams = 32764

// Driver is what the executor calls: addresses of C functions.
type Driver struct {
	Launch, CtxGetCurrent, CtxSetCurrent, CtxGetDevice, StreamGetCtx, StreamIsCapturing, PointerGetAttributes uintptr

	DeviceType int32  // the DLDeviceType of its device memory
	Devices    int    // at most MaxDevices
	MemoryBase uint64 // of the simulator's device memory; size 0 elsewhere
	MemorySize uint64
	Checks     uint32 // of every launch: CheckPointers
}

// SetDriver is called once, before the first kernel is published.
func SetDriver(d Driver) {
	C.dl_driver_opened()
	t := &C.dl_the_driver
	*(*uintptr)(unsafe.Pointer(&t.launch)) = d.Launch
	*(*uintptr)(unsafe.Pointer(&t.ctx_get_current)) = d.CtxGetCurrent
	*(*uintptr)(unsafe.Pointer(&t.ctx_set_current)) = d.CtxSetCurrent
	*(*uintptr)(unsafe.Pointer(&t.ctx_get_device)) = d.CtxGetDevice
	*(*uintptr)(unsafe.Pointer(&t.stream_get_ctx)) = d.StreamGetCtx
	*(*uintptr)(unsafe.Pointer(&t.pointer_attributes)) = d.PointerGetAttributes
	t.checks = C.uint32_t(d.Checks)
	*(*uintptr)(unsafe.Pointer(&t.stream_is_capturing)) = d.StreamIsCapturing
	t.device_type = C.int32_t(d.DeviceType)
	t.num_devices = C.int32_t(d.Devices)
	t.memory_base = C.uint64_t(d.MemoryBase)
	t.memory_size = C.uint64_t(d.MemorySize)
	t.is_plain = C.bool(d.MemorySize == 0 && d.Checks == 0)
}

// SetContext says which primary context a device has.
func SetContext(device int, context uintptr) {
	C.set_context(C.uint32_t(device), C.at(C.uintptr_t(context)))
}

// Kernel is a kernel as launches see it: C memory, never moved.
type Kernel struct{ c *C.dl_kernel }

// NewKernel copies a program into C memory.
func NewKernel(function uintptr, program *Program, devices int) (*Kernel, error) {
	sizes := program.known()
	for len(sizes) < C.DL_FEW_SIZES {
		sizes = append(sizes, -1)
	}
	bytes := bytesOf(sizes) + program.Bound.bytes() + bytesOf(program.Steps) + bytesOf(program.Dims) + bytesOf(program.Derived) + bytesOf(program.Terms) + bytesOf(program.Params)
	k := C.make_kernel(C.at(C.uintptr_t(function)), C.uint32_t(devices), C.size_t(bytes))
	if k == nil {
		return nil, outOfMemory()
	}
	to := unsafe.Pointer(C.behind(k, C.uint32_t(devices)))
	p := &k.program
	p.num_steps = C.uint32_t(len(program.Steps))
	p.num_derived = C.uint32_t(len(program.Derived))
	p.num_sizes = C.uint32_t(program.Sizes)
	p.params_size = C.uint32_t(len(program.Params))
	p.has_constants = C.bool(program.hasConstants())
	p.is_plain = C.bool(len(program.Params) <= C.DL_PLAIN_PARAMS && program.Sizes <= C.DL_FEW_SIZES)
	p.steps = (*C.dl_step)(place(&to, program.Steps))
	p.dims = (*C.dl_dim)(place(&to, program.Dims))
	p.derived = (*C.dl_derived)(place(&to, program.Derived))
	p.terms = (*C.dl_term)(place(&to, program.Terms))
	p.params = (*C.uint8_t)(place(&to, program.Params))
	p.sizes = (*C.int64_t)(place(&to, sizes))
	made := &Kernel{k}
	if err := made.setBound(program.Bound, &to); err != nil {
		made.Free()
		return nil, err
	}
	return made, nil
}

// bytesOf is what place needs: everything begins at a multiple of what constants are
// copied by.
func bytesOf[T any](slice []T) uintptr {
	const unit = C.DL_CONSTANTS_AT_ONCE
	var item T
	return (uintptr(len(slice))*unsafe.Sizeof(item) + unit - 1) / unit * unit
}

// place copies a slice to C memory, behind what was placed before.
func place[T any](to *unsafe.Pointer, slice []T) unsafe.Pointer {
	at := *to
	if len(slice) > 0 {
		C.memcpy(at, unsafe.Pointer(&slice[0]), C.size_t(uintptr(len(slice))*unsafe.Sizeof(slice[0])))
	}
	*to = unsafe.Add(at, bytesOf(slice))
	return at
}

// hasConstants says whether a launch must begin with Params: whether steps and
// derived parameters leave any byte as it is.
func (p *Program) hasConstants() bool {
	written := make([]bool, len(p.Params))
	mark := func(offset, size uint32) {
		for i := range size {
			written[offset+i] = true
		}
	}
	for _, s := range p.Steps {
		mark(s.Offset, s.Size)
	}
	for _, d := range p.Derived {
		mark(d.Offset, d.Size)
	}
	return slices.Contains(written, false)
}

// Publish makes the kernel launchable under its handle.
func (k *Kernel) Publish(handle uint64) error { return publish(handle, &k.c.object) }

// SetLimits completes what a launch on one device is checked against.
func (k *Kernel) SetLimits(device int, l Limits) {
	c := C.dl_limits{threads: C.uint32_t(l.Threads), shared: C.uint32_t(l.Shared)}
	for i := range 3 {
		c.block[i], c.grid[i] = C.uint32_t(l.Block[i]), C.uint32_t(l.Grid[i])
	}
	C.set_limits(k.c, C.uint32_t(device), &c)
}

// SetShared raises the dynamic shared memory that needs no further opt-in.
func (k *Kernel) SetShared(device int, bytes uint32) {
	C.set_shared(k.c, C.uint32_t(device), C.uint32_t(bytes))
}

// Function is the driver's kernel.
func (k *Kernel) Function() uintptr { return uintptr(k.c.function) }

// Free gives the memory back: after Unpublish, in a function given to Retire.
func (k *Kernel) Free() {
	C.free(unsafe.Pointer(k.c.use))
	C.free(unsafe.Pointer(k.c))
}

// Tensor is an array or imported tensor as launches see it: a DLTensor in C
// memory, with its shape and strides behind it.
type Tensor struct{ c *C.dl_tensor }

// NewTensor makes a tensor; strides are in elements, nil is C order.
func NewTensor(data uint64, deviceType, device int32, dtype uint32, shape, strides []int64) (*Tensor, error) {
	rank := len(shape)
	t := C.make_tensor(C.uint32_t(2 * rank))
	if t == nil {
		return nil, outOfMemory()
	}
	t.tensor.data = C.at(C.uintptr_t(data))
	*(*int32)(unsafe.Pointer(&t.tensor.device.device_type)) = deviceType
	t.tensor.device.device_id = C.int32_t(device)
	*(*uint32)(unsafe.Pointer(&t.tensor.dtype)) = dtype
	t.tensor.ndim = C.int32_t(rank)
	t.in_order = C.bool(isInOrder(data, shape, strides))
	if rank == 0 {
		return &Tensor{t}, nil
	}
	room := unsafe.Slice((*int64)(C.axes_of(t)), 2*rank)
	copy(room, shape)
	stride := int64(1)
	for i := rank - 1; i >= 0; i-- {
		room[rank+i] = stride
		stride *= max(shape[i], 1)
	}
	copy(room[rank:], strides)
	t.tensor.shape = (*C.int64_t)(unsafe.Pointer(&room[0]))
	t.tensor.strides = (*C.int64_t)(unsafe.Pointer(&room[rank]))
	return &Tensor{t}, nil
}

// isInOrder says of a tensor what launches then need not look at again: it has
// elements, they lie in C order, and so few that no address of theirs overflows.
func isInOrder(data uint64, shape, strides []int64) bool {
	contiguous := uint64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		if strides != nil && shape[i] != 1 && strides[i] != int64(contiguous) {
			return false
		}
		high, low := bits.Mul64(contiguous, uint64(shape[i]))
		if shape[i] <= 0 || high != 0 || low>>C.DL_MOST_PLAIN_BITS != 0 {
			return false
		}
		contiguous = low
	}
	return data >= C.DL_FIRST_PAGE && data>>C.DL_MOST_PLAIN_BITS == 0
}

// Publish makes the tensor usable as an argument under its handle.
func (t *Tensor) Publish(handle uint64) error { return publish(handle, &t.c.object) }

// Address is where the DLTensor is, until Free.
func (t *Tensor) Address() uint64 { return uint64(uintptr(unsafe.Pointer(&t.c.tensor))) }

// ViewOf lets an array's tensor remember where this one is launched: before Publish.
// The array's lives as long as this.
func (t *Tensor) ViewOf(owner *Tensor) { t.c.owner = owner.c }

// Use says where a tensor and its views were launched.
type Use struct {
	Streams []uint64 // as the callers gave them
	More    bool     // on others too
	Peers   bool     // by kernels of other devices too
	Left    bool     // others had it, who launch on streams of their own
}

// Use reads it.
func (t *Tensor) Use() Use {
	var use Use
	for i := range C.int(C.DL_KNOWN_STREAMS) {
		if stream := uint64(C.launched_on(t.c, i)); stream != math.MaxUint64 {
			use.Streams = append(use.Streams, stream)
		}
	}
	elsewhere := C.launched_elsewhere(t.c)
	use.More, use.Peers, use.Left = elsewhere&C.DL_MORE_STREAMS != 0, elsewhere&C.DL_OTHER_DEVICES != 0, elsewhere&C.DL_LEFT != 0
	return use
}

// Leave says that others use the tensor too, on streams of their own.
func (t *Tensor) Leave() { C.left_our_hands(t.c.owner) }

// Free gives the memory back, as Kernel.Free does.
func (t *Tensor) Free() { C.free(unsafe.Pointer(t.c)) }

// Stream is a dlaunch_stream as launches see it.
type Stream struct{ c *C.dl_stream }

// NewStream makes one from the driver's stream.
func NewStream(native uint64, device int32) (*Stream, error) {
	s := (*C.dl_stream)(C.allocate(C.size_t(unsafe.Sizeof(C.dl_stream{}))))
	if s == nil {
		return nil, outOfMemory()
	}
	s.native, s.device = C.uint64_t(native), C.int32_t(device)
	return &Stream{s}, nil
}

// Publish makes the stream usable in a configuration under its handle.
func (s *Stream) Publish(handle uint64) error { return publish(handle, &s.c.object) }

// Free gives the memory back, as Kernel.Free does.
func (s *Stream) Free() { C.free(unsafe.Pointer(s.c)) }

func publish(handle uint64, object *C.dl_object) error {
	if !C.dl_publish(C.uint64_t(handle), object) {
		return outOfMemory()
	}
	return nil
}

func outOfMemory() error {
	return status.Errorf(status.Memory, "dlaunch: out of host memory")
}

// Unpublish makes a handle stale for every launch that begins from now on.
func Unpublish(handle uint64) { C.dl_unpublish(C.uint64_t(handle)) }

// LaunchAgain runs a published kernel whose launch was mended, and gives what
// came of it: Reason is OK, or says why not.
//
// scratch has an address for each derived parameter, or is nil. held says that the
// graph which the launch may be captured into holds what it needs.
func LaunchAgain(kernel uint64, config *Config, args []Arg, scratch []uint64, held bool) Fault {
	var fault C.dl_fault
	C.dl_execute_again(C.uint64_t(kernel), (*C.dlaunch_config)(unsafe.Pointer(config)),
		(*C.dlaunch_arg)(unsafe.Pointer(unsafe.SliceData(args))), C.uint32_t(len(args)), (*C.uint64_t)(unsafe.SliceData(scratch)), C.bool(held), &fault)
	return *(*Fault)(unsafe.Pointer(&fault))
}

// DeviceOf says on which device a launch would run.
func DeviceOf(kernel uint64, config *Config, args []Arg) (int, Fault) {
	fault := C.dl_fault{argument: -1, axis: -1}
	var device C.int32_t
	fault.reason = C.dl_device_of(C.uint64_t(kernel), (*C.dlaunch_config)(unsafe.Pointer(config)),
		(*C.dlaunch_arg)(unsafe.Pointer(unsafe.SliceData(args))), C.uint32_t(len(args)), &device, &fault)
	return int(device), *(*Fault)(unsafe.Pointer(&fault))
}

// Configure checks a configuration as a launch on a device would, and gives the
// CUlaunchConfig of it, which lies at the buffer's address until that is freed.
func Configure(kernel uint64, config *Config, device int) (*Buffer, Fault, error) {
	b, err := NewBuffer(int(unsafe.Sizeof(C.dl_configured{})))
	if err != nil {
		return nil, Fault{}, err
	}
	fault := C.dl_fault{argument: -1, axis: -1}
	fault.reason = C.dl_configure(C.uint64_t(kernel), (*C.dlaunch_config)(unsafe.Pointer(config)), C.int32_t(device),
		(*C.dl_configured)(unsafe.Pointer(&b.Bytes[0])), &fault)
	if fault.reason != C.DL_OK {
		b.Free()
		b = nil
	}
	return b, *(*Fault)(unsafe.Pointer(&fault)), nil
}

// FastLaunches counts the launches that needed nothing of Go.
func FastLaunches() uint64 { return uint64(C.dl_fast_launches()) }

// PackInteger packs an integer as a launch would: false if it does not fit.
func PackInteger(format uint8, size int, value int64) ([]byte, bool) {
	var packed [8]byte
	reason := C.dl_put_integer((*C.uint8_t)(&packed[0]), C.uint8_t(format), C.uint32_t(size), C.int64_t(value))
	return packed[:size], reason == C.DL_OK
}

// Buffer is C memory: what a driver may write to after the call it was given in.
type Buffer struct {
	Address uint64
	Bytes   []byte
}

// NewBuffer allocates zeroed memory.
func NewBuffer(size int) (*Buffer, error) {
	memory := C.allocate(C.size_t(size))
	if memory == nil {
		return nil, outOfMemory()
	}
	return &Buffer{uint64(uintptr(memory)), unsafe.Slice((*byte)(memory), size)}, nil
}

// Free gives the memory back.
func (b *Buffer) Free() {
	C.free(C.at(C.uintptr_t(b.Address)))
	b.Bytes = nil
}
