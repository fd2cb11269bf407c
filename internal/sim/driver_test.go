package sim

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

func TestEveryFunctionIsThere(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	require.Equal(t, "sim", r.api.Kind)
	require.Equal(t, 13050, r.api.Version)
	for name, present := range map[string]bool{
		"DeviceCount": r.api.DeviceCount != nil, "StreamWaitEvent": r.api.StreamWaitEvent != nil, "CaptureMode": r.api.CaptureMode != nil,
		"LibraryKernels": r.api.LibraryKernels != nil, "MemHostFree": r.api.MemHostFree != nil, "EventElapsed": r.api.EventElapsed != nil,
	} {
		require.True(t, present, name)
	}
}

func TestDevices(t *testing.T) {
	_, err := New(Options{Devices: 99})
	require.EqualError(t, err, "simulator: 99 devices; 1 to 16 are wanted")
	s, err := New(Options{Devices: 2})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	api := s.API()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n, _ := api.DeviceCount()
	require.Equal(t, 2, n)
	for attribute, value := range map[int32]int32{
		driver.DeviceMaxThreadsPerBlock: 1024, driver.DeviceMaxBlockZ: 64, driver.DeviceMaxGridX: 1<<31 - 1, driver.DeviceMaxGridY: 65535,
		driver.DeviceMaxSharedPerBlock: 48 << 10, driver.DeviceMaxSharedPerBlockOptin: 227 << 10, driver.DeviceWarpSize: 32, driver.DeviceComputeMajor: 9,
	} {
		got, r := api.DeviceAttribute(attribute, 1)
		require.Zero(t, r)
		require.Equal(t, value, got, attribute)
	}
	_, r := api.DeviceAttribute(1, 2)
	require.Equal(t, driver.ResultInvalidDevice, r)
	require.Zero(t, api.ContextSetCurrent(0))
	_, r = api.ContextDevice()
	require.Equal(t, driver.ResultInvalidContext, r)
	second, _ := api.PrimaryContextRetain(1)
	require.Zero(t, api.ContextSetCurrent(second))
	device, r := api.ContextDevice()
	require.Zero(t, r)
	require.Equal(t, driver.Device(1), device)
	stream, r := api.StreamCreate(0, 0)
	require.Zero(t, r)
	require.Greater(t, uint64(stream), uint64(0x1000))
	require.Zero(t, api.ContextSetCurrent(0))
	of, r := api.StreamContext(stream)
	require.Zero(t, r)
	require.Equal(t, second, of)
	require.Zero(t, api.StreamDestroy(stream))
	require.Equal(t, driver.ResultInvalidHandle, api.StreamSynchronize(stream))
	require.Equal(t, driver.ResultInvalidContext, api.ContextSetCurrent(77))
}

func TestEvents(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	start, _ := r.api.EventCreate(0)
	end, _ := r.api.EventCreate(0)
	require.Zero(t, r.api.EventRecord(start, 0))
	require.Zero(t, r.api.EventRecord(end, 0))
	elapsed, result := r.api.EventElapsed(start, end)
	require.Zero(t, result)
	require.GreaterOrEqual(t, elapsed, float32(0))
	require.Zero(t, r.api.EventDestroy(end))
	require.Equal(t, driver.ResultInvalidHandle, r.api.EventQuery(end))
}

func TestMemory(t *testing.T) {
	r := newRig(t, corpusFile(t, "fill"))
	base, size := r.s.Memory()
	before, total, result := r.api.MemInfo()
	require.Zero(t, result)
	a, result := r.api.MemAlloc(8000)
	require.Zero(t, result)
	b, result := r.api.MemAlloc(8)
	require.Zero(t, result)
	require.Less(t, uint64(a)-base, size)
	require.Zero(t, a%512)
	require.NotEqual(t, a, b)
	free, _, _ := r.api.MemInfo()
	require.Less(t, free, before)

	require.Nil(t, r.launch("fill", x1(8), x1(128), 0, a, 1.5, uint64(1000)))
	got := host(t, "got", true, make([]float64, 1000)...)
	require.Zero(t, r.api.CopyDeviceToHost(uintptr(got.arg.Data), a, 8000, 0))
	require.Equal(t, 1.5, got.data[999])
	require.Equal(t, driver.ResultInvalidValue, r.api.CopyDeviceToHost(uintptr(got.arg.Data), a+8, 8000, 0), "past the end")

	array := Argument{Index: 0, Name: "p", ItemSize: 8, Data: uint64(a), Low: uint64(a), High: uint64(a) + 8000, Written: true}
	fault := r.launch("fill", x1(8), x1(128), 0, given{array}, 1.5, uint64(1001))
	require.Contains(t, fault.Message, "writes p[1000] (argument 0), which has 1000 elements")

	require.Zero(t, r.api.MemFree(a))
	require.Equal(t, driver.ResultInvalidValue, r.api.MemFree(a), "twice")
	require.Equal(t, driver.ResultIllegalAddress, r.launch("fill", x1(1), x1(32), 0, a, 1.5, uint64(32)).Result, "freed")
	_, result = r.api.MemAlloc(total + 1<<20)
	require.Equal(t, driver.ResultOutOfMemory, result)
	require.Zero(t, r.api.MemFree(b))
	after, _, _ := r.api.MemInfo()
	require.Equal(t, before, after)

	pinned, result := r.api.MemHostAlloc(256)
	require.Zero(t, result)
	require.Nil(t, r.launch("fill", x1(1), x1(32), 0, uint64(pinned), 2.5, uint64(32)))
	require.Zero(t, r.api.MemHostFree(pinned))
}

func TestAnInputIsNotWritten(t *testing.T) {
	r := newRig(t, corpusFile(t, "fill"))
	p := host(t, "p", false, make([]float64, 32)...)
	fault := r.launch("fill", x1(1), x1(32), 0, p, 1.5, uint64(32))
	require.Equal(t, "fill: block (0,0,0) thread (0,0,0): PTX line 42 (st.global.f64): writes p[0] (argument 0), which is an input; declare it out or inout", fault.Message)
}

func TestKernels(t *testing.T) {
	r := newRig(t, corpusFile(t, "dynamic_shared"))
	k, result := r.api.LibraryKernel(r.library, "dynamic_shared")
	require.Zero(t, result)
	_, result = r.api.LibraryKernel(r.library, "other")
	require.Equal(t, driver.ResultNotFound, result)
	name, _ := r.api.KernelName(k)
	require.Equal(t, "dynamic_shared", name)
	n, _ := r.api.LibraryKernelCount(r.library)
	all, _ := r.api.LibraryKernels(r.library, n)
	require.Equal(t, []driver.Kernel{k}, all)
	offset, size, result := r.api.KernelParam(k, 2)
	require.Zero(t, result)
	require.Equal(t, [2]uint64{16, 4}, [2]uint64{offset, size})
	_, _, result = r.api.KernelParam(k, 4)
	require.Equal(t, driver.ResultInvalidValue, result)

	const per, count = 8000, 20000
	x, y := host(t, "x", false, upTo(count, func(i int) float64 { return float64(i) })...), host(t, "y", true, make([]float64, count)...)
	require.Contains(t, r.launch("dynamic_shared", x1(3), x1(128), 8*per, x, y, per, count).Message, "64000 bytes of dynamic shared memory; the limit is 49152")
	require.Equal(t, driver.ResultInvalidValue, r.api.KernelSetAttribute(driver.KernelMaxDynamicShared, 228<<10, k, 0))
	require.Zero(t, r.api.KernelSetAttribute(driver.KernelMaxDynamicShared, 8*per, k, 0))
	require.Nil(t, r.launch("dynamic_shared", x1(3), x1(128), 8*per, x, y, per, count))
	for i, v := range y.data { // each part is turned round
		first := i / per * per
		end := min(first+per, count)
		require.Equal(t, float64(end-1-(i-first)), v)
	}
	require.Zero(t, r.api.LibraryUnload(r.library))
	require.Equal(t, driver.ResultInvalidHandle, r.launchOf(k).Result)
	require.Equal(t, driver.ResultInvalidHandle, r.api.LibraryUnload(r.library))
}

func (r *rig) launchOf(k driver.Kernel) *Fault {
	return r.s.Launch(Launch{Kernel: k, Grid: x1(1), Block: x1(1)})
}

func TestLimits(t *testing.T) {
	r := newRig(t, corpusFile(t, "relu_triton"))
	k, _ := r.api.LibraryKernel(r.library, "relu_triton")
	threads, _ := r.api.KernelAttribute(driver.KernelMaxThreadsPerBlock, k, 0)
	require.Equal(t, int32(128), threads)
	for message, l := range map[string]Launch{
		"block (128,0,1): axis 1 may have 1 to 1024 threads": {Block: [3]uint32{128, 0, 1}, Grid: x1(1)},
		"grid (1,70000,1): axis 1 may have 1 to 65535":       {Block: x1(128), Grid: [3]uint32{1, 70000, 1}},
		"0 bytes of parameters; 40 are wanted":               {Block: x1(128), Grid: x1(1)},
		"a block of 129 threads; the kernel takes 128":       {Block: x1(129), Grid: x1(1)},
	} {
		l.Kernel = k
		fault := r.s.Launch(l)
		require.Equal(t, driver.ResultInvalidValue, fault.Result)
		require.Contains(t, fault.Message, message)
	}
}

// All blocks of a cooperative grid wait for one another.
func TestCooperativeGrid(t *testing.T) {
	r := newRig(t, []byte(testHeader+`.visible .entry k(.param .u64 count, .param .u64 out) {
	.reg .b64 %c, %o, %t; .reg .b32 %r, %n, %b; .reg .pred %p;
	ld.param.u64 %c, [count]; ld.param.u64 %o, [out]; mov.u32 %n, %nctaid.x; mov.u32 %b, %ctaid.x;
	atom.global.add.u32 %r, [%c], 1;
wait: ld.volatile.global.u32 %r, [%c]; setp.lt.u32 %p, %r, %n; @%p bra wait;
	mul.wide.u32 %t, %b, 4; add.u64 %o, %o, %t; st.global.u32 [%o], %r; ret; }`))
	k, _ := r.api.LibraryKernel(r.library, "k")
	count, out := host(t, "count", true, uint32(0)), host(t, "out", true, make([]uint32, 50)...)
	params := make([]byte, 16)
	write(pointerTo(params, 0), 8, count.arg.Data)
	write(pointerTo(params, 8), 8, out.arg.Data)
	l := Launch{Kernel: k, Grid: x1(50), Block: x1(1), Params: params, Arguments: []Argument{count.arg, out.arg}, Cooperative: true}
	require.Nil(t, r.s.Launch(l))
	for _, v := range out.data {
		require.Equal(t, uint32(50), v)
	}
	l.Grid = x1(132*32 + 1)
	require.Equal(t, driver.ResultCooperativeLaunchTooLarge, r.s.Launch(l).Result)
}

// Launches, loads, allocations and frees from several threads at once.
func TestThreads(t *testing.T) {
	r := newRig(t, corpusFile(t, "fill"))
	text := append(corpusFile(t, "block_sum"), 0)
	got := make([]*tensor[float64], 4)
	for i := range got {
		got[i] = host(t, "got", true, make([]float64, 500)...)
	}
	var wait sync.WaitGroup
	for i := range got {
		wait.Go(func() {
			runtime.LockOSThread()
			context, _ := r.api.PrimaryContextRetain(0)
			r.api.ContextSetCurrent(context)
			for round := range 40 {
				a, result := r.api.MemAlloc(4000)
				library, loaded := r.api.LibraryLoad(text, nil)
				fault := r.launch("fill", x1(5), x1(100), 0, a, float64(round+i), uint64(500))
				copied := r.api.CopyDeviceToHost(uintptr(got[i].arg.Data), a, 4000, 0)
				if result != 0 || loaded != 0 || fault != nil || copied != 0 || got[i].data[499] != float64(round+i) {
					t.Errorf("round %d: %v %v %v %v %v", round, result, loaded, fault, copied, got[i].data[499])
				}
				r.api.LibraryUnload(library)
				r.api.MemFree(a)
			}
		})
	}
	wait.Wait()
}

func TestPrintf(t *testing.T) {
	strings := map[uint64]string{1: "value"}
	words := []uint64{1, 7, 9, df(1.5), 1 << 33}
	at := 0
	next := func(uint64) uint64 { at++; return words[at-1] }
	line := formatPrintf("%s %d of %u: %.3f (%lld) 100%%\n", next, func(a uint64) string { return strings[a] })
	require.Equal(t, "value 7 of 9: 1.500 (8589934592) 100%\n", line)
	words, at = []uint64{neg32, 0xff, 'x', 5, 3}, 0
	require.Equal(t, "-1 0xff x 00005    3 %", formatPrintf("%d %#x %c %05d %*d %", func() func(uint64) uint64 {
		words = []uint64{neg32, 0xff, 'x', 5, 4, 3}
		return next
	}(), nil))
}

func TestAssertionsAndPrintf(t *testing.T) {
	r := newRig(t, []byte(testHeader+`
.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .b8 what[6] = {110, 32, 62, 32, 48, 0}; .global .b8 file[5] = {107, 46, 99, 117, 0}; .global .b8 in[2] = {107, 0};
.entry k() { .reg .b64 g; .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3; .param .b64 p4;
	mov.u64 g, what; st.param.b64 [p0], g; mov.u64 g, file; st.param.b64 [p1], g; st.param.b32 [p2], 12; mov.u64 g, in; st.param.b64 [p3], g; st.param.b64 [p4], 1;
	call.uni __assertfail, (p0, p1, p2, p3, p4); ret; }`))
	fault := r.launch("k", x1(1), x1(1), 0)
	require.Equal(t, driver.ResultAssert, fault.Result)
	require.Contains(t, fault.Message, "assertion `n > 0` failed at k.cu:12, in k")

	p := newRig(t, corpusFile(t, "report_printf"))
	x := host(t, "x", false, []float32{1, 5, 2}...)
	require.Nil(t, p.launch("report_printf", x1(1), x1(32), 0, x, float32(4), 3))
}
