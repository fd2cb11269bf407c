package launch

import (
	"fmt"
	"sync"
	"sync/atomic"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// array is what a dlaunch_array stands for: a C-contiguous block of device memory, or
// a view of one.
type array struct {
	device  int
	address driver.Address // 0 when there are no bytes
	bytes   uint64         // of the elements
	strided bool           // not C-contiguous
	shared  *exec.Tensor
	of      *handles.Entry // the array whose memory this views; nil if it is its own
}

// DeviceBytes is for the table's report.
func (a *array) DeviceBytes() uint64 { return a.bytes }

// counter sums up what is alive.
type counter = atomic.Int64

// CreateArray allocates device memory.
func (e *Engine) CreateArray(index int, dtype dlpack.DataType, shape []int64) (handles.Handle, error) {
	a := &array{device: index}
	var err error
	if a.bytes, err = arrayBytes(dtype, shape); err != nil {
		return 0, err
	}
	if _, err := e.device(index); err != nil {
		return 0, err
	}
	if a.bytes > 0 {
		if err := e.allocate(a); err != nil {
			return 0, err
		}
	}
	if a.shared, err = e.newTensor(a, dtype, shape, nil); err != nil {
		e.free(a)
		return 0, err
	}
	var entry *handles.Entry
	entry, err = e.table.Open(handles.Array, fmt.Sprintf("%v%v on device %d", dtype, shape, index), a, func() { e.destroyArray(a, entry) })
	if err != nil {
		e.free(a)
		return 0, err
	}
	return e.publish(entry, a.shared)
}

func (e *Engine) newTensor(a *array, dtype dlpack.DataType, shape, strides []int64) (*exec.Tensor, error) {
	number := int32(a.device)
	if e.simulated() {
		number = 0 // (kDLCPU, 0), as CPU tensors have it
	}
	return exec.NewTensor(uint64(a.address), e.driver.DeviceType, number, dtype.Packed(), shape, strides)
}

func arrayBytes(dtype dlpack.DataType, shape []int64) (uint64, error) {
	if _, err := dlpack.ParseType(dtype.String()); err != nil {
		return 0, status.Errorf(status.Argument, "dtype {code %d, bits %d, lanes %d} is none that DLPack 1.3 has", dtype.Code, dtype.Bits, dtype.Lanes)
	}
	if len(shape) > dlpack.MaxRank {
		return 0, status.Errorf(status.Argument, "ndim is %d; at most %d is supported", len(shape), dlpack.MaxRank)
	}
	elements, empty := uint64(1), false
	for axis, extent := range shape {
		if extent < 0 {
			return 0, status.Errorf(status.Argument, "shape[%d] is %d; 0 or more is wanted", axis, extent)
		}
		if extent == 0 {
			empty = true
			continue
		}
		if elements > (1<<63-1)/uint64(extent) {
			return 0, status.Errorf(status.Argument, "shape %v has more than 2^63-1 elements", shape)
		}
		elements *= uint64(extent)
	}
	if empty {
		return 0, nil
	}
	bytes, err := dtype.Bytes(elements, false)
	if err != nil {
		return 0, status.Errorf(status.Argument, "shape %v of %v has more than 2^63-1 bytes", shape, dtype)
	}
	return bytes, nil
}

func (e *Engine) allocate(a *array) error {
	if err := e.poisoned(); err != nil {
		return err
	}
	e.reclaim()
	e.runFinished()
	err := e.on(a.device, func(d *device) error {
		r := e.allocateNow(d, a)
		if r == driver.ResultOutOfMemory && e.freesOwedBy(a.device) > 0 { // what was closed may be enough
			if err := e.Synchronize(a.device); err != nil {
				return err
			}
			r = e.allocateNow(d, a)
		}
		switch r {
		case driver.ResultSuccess:
			return nil
		case driver.ResultOutOfMemory:
			free, total, _ := e.driver.API.MemInfo()
			err := status.Errorf(status.Memory, "%d bytes wanted on device %d, which has %d free of %d", a.bytes, a.device, free, total)
			err.Driver = int32(r)
			return err
		}
		return e.failure("cuMemAllocAsync", r)
	})
	if err == nil {
		e.bytes.Add(int64(a.bytes))
	}
	return err
}

// allocateNow gives memory that every stream may use: what was allocated in the
// order of the device's memory stream is there once that has been waited for.
func (e *Engine) allocateNow(d *device, a *array) driver.Result {
	api := e.driver.API
	stream, r := e.memoryStream(d)
	if r != driver.ResultSuccess {
		return r
	}
	if a.address, r = api.MemAllocAsync(a.bytes, stream); r == driver.ResultSuccess {
		r = api.StreamSynchronize(stream)
	}
	return r
}

// memoryStream gives the stream that orders a device's allocations, and nothing
// else: waiting for it never waits for a kernel.
func (e *Engine) memoryStream(d *device) (driver.Stream, driver.Result) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.memory != 0 {
		return d.memory, driver.ResultSuccess
	}
	var r driver.Result
	d.memory, r = e.driver.API.StreamCreate(StreamNonBlocking, 0)
	return d.memory, r
}

// destroyArray gives back what a closed array holds, when nothing uses it.
func (e *Engine) destroyArray(a *array, entry *handles.Entry) {
	if a.address == 0 {
		a.shared.Free()
		return
	}
	e.freeWhenDone(&pendingFree{entry: entry, shared: a.shared, device: a.device, end: func() { e.free(a) }})
}

// free gives the memory back; in a poisoned context it is lost with it.
func (e *Engine) free(a *array) {
	if a.shared != nil {
		a.shared.Free()
	}
	if a.address == 0 {
		return
	}
	if e.poisoned() != nil {
		e.leaked.Add(int64(a.bytes))
		return
	}
	_ = e.on(a.device, func(d *device) error {
		e.driver.API.MemFreeAsync(a.address, d.memory)
		return nil
	})
	e.bytes.Add(-int64(a.bytes))
}

// Copy moves an array's bytes from (toDevice) or to host memory, in the order of
// a stream, and returns when the host's side may be used again.
func (e *Engine) Copy(h handles.Handle, host uintptr, bytes uint64, stream uint64, toDevice bool) error {
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return err
	}
	defer entry.Drop()
	a := entry.Value.(*array)
	if err := e.CheckStream(stream); err != nil {
		return err
	}
	if a.strided {
		return status.Errorf(status.Argument, "the array (%s) is not C-contiguous; copy a contiguous one", entry.Label)
	}
	if bytes != a.bytes {
		return status.Errorf(status.Argument, "%d bytes given; the array (%s) has %d", bytes, entry.Label, a.bytes)
	}
	if bytes == 0 {
		return nil
	}
	if host == 0 {
		return status.Errorf(status.Argument, "host is NULL; %d bytes are wanted there", bytes)
	}
	if err := e.poisoned(); err != nil {
		return err
	}
	return e.withStream(stream, a.device, func(native driver.Stream) error { return e.copyNow(a, host, native, toDevice) })
}

func (e *Engine) copyNow(a *array, host uintptr, native driver.Stream, toDevice bool) error {
	api := e.driver.API
	if captured, err := e.isCaptured(native); err != nil {
		return err
	} else if captured {
		err := status.Errorf(status.Driver, "the stream is being captured into a graph; a copy that waits cannot be part of it")
		err.Driver = int32(driver.ResultStreamCaptureUnsupported)
		return err
	}
	name, r := "cuMemcpyDtoHAsync", driver.ResultSuccess
	if toDevice {
		name = "cuMemcpyHtoDAsync"
		r = api.CopyHostToDevice(a.address, host, a.bytes, native)
	} else {
		r = api.CopyDeviceToHost(host, a.address, a.bytes, native)
	}
	if r != driver.ResultSuccess {
		return e.failure(name, r)
	}
	if r := api.StreamSynchronize(native); r != driver.ResultSuccess {
		return e.failure("cuStreamSynchronize", r)
	}
	return nil
}

// ArrayTensor runs read with the address of the array's DLTensor, which is not
// freed meanwhile.
func (e *Engine) ArrayTensor(h handles.Handle, read func(address uint64) error) error {
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return err
	}
	defer entry.Drop()
	return read(entry.Value.(*array).shared.Address())
}

// exports are the references that exported tensors hold.
type exports struct {
	mu   sync.Mutex
	next uint64
	held map[uint64]*handles.Entry
}

// ExportArray holds an array for a managed tensor until ReleaseExport.
func (e *Engine) ExportArray(h handles.Handle) (id, tensor uint64, err error) {
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return 0, 0, err
	}
	x := &e.exports
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held == nil {
		x.held = map[uint64]*handles.Entry{}
	}
	x.next++
	x.held[x.next] = entry
	return x.next, entry.Value.(*array).shared.Address(), nil
}

// ReleaseExport lets go of what ExportArray held.
func (e *Engine) ReleaseExport(id uint64) {
	x := &e.exports
	x.mu.Lock()
	entry := x.held[id]
	delete(x.held, id)
	x.mu.Unlock()
	if entry != nil {
		entry.Value.(*array).shared.Leave() // the consumer's streams are its own
		e.deferred.Retire(entry.Drop)
	}
}
