package launch_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

const cpuDevice, cudaDevice = 1, 2

func refused(t *testing.T, err error, code status.Code, parts ...string) *status.Error {
	t.Helper()
	var e *status.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code, e.Message)
	for _, part := range parts {
		require.Contains(t, e.Message, part)
	}
	return e
}

func float(v float64) exec.Arg { return exec.Arg{Kind: exec.ArgFloat, Value: math.Float64bits(v)} }

func TestHostTensorsGoToTheDeviceAndBack(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	x, y := []float32{1, 2, 3, 4}, []float32{10, 20, 30, 40}
	require.NoError(t, run(e, k, config(), float(2), tensorArg(t, x, cpuDevice, []int64{4}, nil), tensorArg(t, y, cpuDevice, []int64{4}, nil)))

	p := exectest.Params()
	require.Len(t, p, 28, "the padding after the last parameter is not part of the buffer")
	require.Equal(t, math.Float32bits(2), binary.LittleEndian.Uint32(p))
	require.NotEqual(t, addressOf(x), binary.LittleEndian.Uint64(p[8:]), "the kernel gets device memory")
	require.EqualValues(t, 4, binary.LittleEndian.Uint32(p[24:]))
	require.Equal(t, []float32{10, 20, 30, 40}, y, "came back as the kernel, which did nothing, left it")
	require.Zero(t, f.alive(), "the copies are freed")
}

func TestHostTensorsThatDoNotFitLeaveNothing(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	x, y := []float32{1, 2, 3}, []float32{10, 20, 30, 40}
	err := run(e, k, config(), float(2), tensorArg(t, x, cpuDevice, []int64{3}, nil), tensorArg(t, y, cpuDevice, []int64{4}, nil))
	se := refused(t, err, status.Tensor, "argument 2 (y)", "extent 4, 3 wanted")
	require.EqualValues(t, 2, se.Argument)
	require.Zero(t, f.alive())

	f.capturing = true
	refused(t, run(e, k, config(), float(2), tensorArg(t, y, cpuDevice, []int64{4}, nil), tensorArg(t, y, cpuDevice, []int64{4}, nil)),
		status.Tensor, "captured")
	require.Zero(t, f.alive())
	require.False(t, f.lost, "the capture goes on")
}

func TestFaultsArePoison(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	f.syncs = driver.ResultIllegalAddress
	first := refused(t, e.Synchronize(0), status.Fault, "CUDA_ERROR_ILLEGAL_ADDRESS", "700")
	require.EqualValues(t, 700, first.Driver)
	f.syncs = driver.ResultSuccess
	err := run(e, k, config(), float(1), exec.Arg{Kind: exec.ArgNone}, exec.Arg{Kind: exec.ArgNone}, exec.Arg{Kind: exec.ArgInt})
	refused(t, err, status.Fault, "poisoned", "CUDA_ERROR_ILLEGAL_ADDRESS")
	_, err = e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
	refused(t, err, status.Fault, "poisoned")
}

func TestDriverRefusalsAreExplained(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy")
	null, zero := exec.Arg{Kind: exec.ArgNone}, exec.Arg{Kind: exec.ArgInt}
	require.NoError(t, run(e, k, config(), float(1), null, null, zero))
	exectest.Answer(701)
	t.Cleanup(func() { exectest.Answer(0) })
	err := refused(t, run(e, k, config(), float(1), null, null, zero), status.Driver, "saxpy", "701", "grid (4, 0, 0)")
	require.EqualValues(t, 701, err.Driver)
}

func TestWhatALaunchIsRefusedFor(t *testing.T) {
	e, _ := newEngine(t)
	typed, untyped := getKernel(t, e, saxpyPrototype), getKernel(t, e, "saxpy")
	data := make([]float32, 4)
	vector := func() exec.Arg { return tensorArg(t, data, cudaDevice, []int64{4}, nil) }
	integer := exec.Arg{Kind: exec.ArgInt, Value: 4}
	for _, c := range []struct {
		name  string
		k     handles.Handle
		args  []exec.Arg
		code  status.Code
		parts []string
	}{
		{"too few", typed, []exec.Arg{float(1)}, status.Argument, []string{"takes 3 arguments, 1 given", "a: f32, x: f32[n], y: inout f32[n]"}},
		{"too many", typed, []exec.Arg{float(1), vector(), vector(), integer}, status.Argument, []string{"takes 3 arguments, 4 given"}},
		{"a tensor for a scalar", typed, []exec.Arg{vector(), vector(), vector()}, status.Argument, []string{"argument 0 (a)", "a tensor given, f32 wanted"}},
		{"a scalar for a tensor", typed, []exec.Arg{float(1), integer, vector()}, status.Argument, []string{"argument 1 (x)", "an integer given, f32[n] wanted"}},
		{"a null", typed, []exec.Arg{float(1), {Kind: exec.ArgNone}, vector()}, status.Argument, []string{"a null given"}},
		{"a pointer", typed, []exec.Arg{float(1), {Kind: exec.ArgPointer}, vector()}, status.Argument, []string{"declare the parameter ptr"}},
		{"rank", typed, []exec.Arg{float(1), tensorArg(t, data, cudaDevice, []int64{2, 2}, nil), vector()}, status.Tensor, []string{"2 dimensions given"}},
		{"layout", typed, []exec.Arg{float(1), tensorArg(t, data, cudaDevice, []int64{2}, []int64{2}), vector()}, status.Tensor, []string{"stride 2, 1 wanted", "@strided"}},
		{"an unknown kind", typed, []exec.Arg{{Kind: 99}, vector(), vector()}, status.Argument, []string{"kind 99 is unknown"}},
		{"a float without a prototype", untyped, []exec.Arg{float(1), vector(), vector(), float(4)}, status.Argument, []string{"argument 3", "give the kernel a prototype"}},
		{"an unmarked host tensor", untyped, []exec.Arg{float(1), tensorArg(t, data, cpuDevice, []int64{4}, nil), vector(), integer}, status.Tensor, []string{"a host tensor given", "mark it"}},
		{"out of range", untyped, []exec.Arg{float(1), vector(), vector(), {Kind: exec.ArgInt, Value: 1 << 32}}, status.Argument, []string{"4294967296 is out of range"}},
		{"bytes", untyped, []exec.Arg{float(1), vector(), vector(), {Kind: exec.ArgBytes, Size: 3, Value: addressOf(data)}}, status.Argument, []string{"3 bytes given, 4 wanted"}},
		{"infinite", typed, []exec.Arg{float(1e300), vector(), vector()}, status.Argument, []string{"1e+300 is finite", "infinite"}},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, run(e, c.k, config(), c.args...), c.code, c.parts...) })
	}
}

func TestKernelsAreFound(t *testing.T) {
	e, _ := newEngine(t)
	lib := load(t, e)
	for _, c := range []struct {
		text  string
		code  status.Code
		parts []string
	}{
		{"saxpy", status.OK, nil},
		{"saxpi", status.NotFound, []string{`no kernel "saxpi"`, `there is only "saxpy"`}},
		{"(a: f32, x: f32[n], y: f32[n], n: i32 = n)", status.OK, nil}, // the only one
		{"", status.NotFound, []string{`no kernel ""`}},
		{"saxpy(a: f32", status.NotFound, []string{`"saxpy(a: f32"`}}, // a name: nothing closes the bracket
		{"saxpy(a: f33, x: f32[n])", status.Prototype, []string{"f33"}},
		{"saxpy(a: f32, x: f32[n])", status.Prototype, []string{"has 2 parameters, the kernel has 4"}},
		{"saxpy(a: f64, x: f32[n], y: f32[n], n: i32)", status.Prototype, []string{"parameter 0 (a: f64) has 8 bytes", "has 4"}},
		{"saxpy(a: i32, x: f32[n], y: f32[n], n: i32)", status.Prototype, []string{"declared i32", ".f32"}},
		{"saxpy(a: f32, x: f32[n], y: f32[n], n: f32)", status.Prototype, []string{"declared f32", ".u32"}},
		{"saxpy(a: f32, x: f32[n] @view, y: f32[n], n: i32)", status.Prototype, []string{"has 24 bytes", "has 8"}},
		{"saxpy(a: f32, x: f32[n] @numba, y: f32[n], n: i32)", status.Prototype, []string{"has 10 parameters, the kernel has 4"}},
	} {
		_, err := e.GetKernel(lib, c.text)
		if c.code == status.OK {
			require.NoError(t, err, c.text)
			continue
		}
		refused(t, err, c.code, c.parts...)
	}
	_, err := e.GetKernel(lib+1<<24, "saxpy")
	refused(t, err, status.Handle)
}

func TestParametersOfABinary(t *testing.T) {
	e, f := newEngine(t)
	lib, err := e.Load(cubin(), launch.LibraryOptions{})
	require.NoError(t, err)
	_, err = e.GetKernel(lib, "saxpy")
	refused(t, err, status.Unsupported, "driver 12.4")
	k, err := e.GetKernel(lib, "saxpy(a: f32, x: f32[n], y: f32[n], n: i32 = n)")
	require.NoError(t, err, "a prototype does where the driver cannot tell")
	p, err := e.KernelParameter(k, 2)
	require.NoError(t, err)
	require.Equal(t, launch.Parameter{Name: "y", Type: "f32[n]", Offset: 16, Size: 8, Mode: exec.ArgIn}, p)

	f.params = [][2]uint64{{0, 4}, {8, 8}}
	_, err = e.GetKernel(lib, "saxpy(a: f32, x: f32[n], y: f32[n])")
	refused(t, err, status.Prototype, "has 3 parameters, the kernel has 2")
	k, err = e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	p, err = e.KernelParameter(k, 1)
	require.NoError(t, err)
	require.Equal(t, launch.Parameter{Offset: 8, Size: 8}, p)
	_, err = e.KernelParameter(k, 2)
	refused(t, err, status.NotFound, "has 2 parameters")
}

func TestImagesThatDoNotLoad(t *testing.T) {
	e, f := newEngine(t)
	whole := cubin()
	for _, c := range []struct {
		name  string
		image []byte
		parts []string
	}{
		{"empty", nil, []string{"empty"}},
		{"text", []byte("hello"), []string{`"hello"`, "no PTX text"}},
		{"CUDA C++", []byte("extern \"C\" __global__ void k() {}"), []string{"this is CUDA C++", "nvcc -ptx"}},
		{"zeros", make([]byte, 100), []string{"no PTX text"}},
		{"PTX of the future", []byte(".version 99.0\n.target sm_75\n"), []string{"PTX 99.0", "13.0"}},
		{"PTX newer than the driver", []byte(".version 9.1\n.target sm_75\n"), []string{"PTX 9.1", "driver 13.1", "13.0"}},
		{"a host library", append([]byte("\x7fELF\x02\x01"), make([]byte, 100)...), []string{"machine 0", "190"}},
		{"half an ELF header", whole[:40], []string{"truncated"}},
		{"a fatbin cut short", []byte{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 0, 1, 0, 0, 0, 0, 0, 0}, []string{"fatbin is truncated", "16 bytes", "272"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := e.Load(c.image, launch.LibraryOptions{})
			refused(t, err, status.Image, c.parts...)
		})
	}
	for end := len(whole) - 1; end >= 0; end-- {
		_, err := e.Load(whole[:end], launch.LibraryOptions{})
		refused(t, err, status.Image)
	}

	f.loads, f.log = driver.ResultInvalidPTX, "ptxas application ptx input, line 4; error: Not a name of any known instruction: 'frob'"
	var log string
	_, err := e.Load([]byte(saxpyPTX), launch.LibraryOptions{Log: func(text string) { log = text }})
	refused(t, err, status.Image, "218", "line 4", "frob")
	require.Equal(t, f.log, log)
	require.Equal(t, []driver.Library{7}, f.unloaded)

	f.loads, f.log = driver.ResultNoBinaryForGPU, ""
	_, err = e.Load(whole, launch.LibraryOptions{})
	refused(t, err, status.Image, "209", "the device is sm_90", "the cubin is for sm_75")
	require.Empty(t, liveHandles(t, e))
}

func TestALazyLoadThatFailsLeavesNothing(t *testing.T) {
	e, f := newEngine(t)
	f.counts = driver.ResultIllegalAddress
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	_, err := e.Load(cubin(), launch.LibraryOptions{Lazy: true})
	refused(t, err, status.Fault, "700")
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Empty(t, liveHandles(t, e))
}

// cubin makes an ELF file with one section, which a driver that looks would refuse.
func cubin() []byte {
	image := make([]byte, 64+64+16)
	copy(image, "\x7fELF\x02\x01\x01")
	word := binary.LittleEndian
	word.PutUint16(image[18:], 190)
	word.PutUint64(image[40:], 64) // section headers
	word.PutUint32(image[48:], 75)
	word.PutUint16(image[58:], 64)
	word.PutUint16(image[60:], 1)
	word.PutUint32(image[64+4:], 3) // of its own name, which is empty
	word.PutUint64(image[64+24:], 128)
	word.PutUint64(image[64+32:], 16)
	return image
}

func liveHandles(t *testing.T, e *launch.Engine) map[string]int {
	t.Helper()
	var report struct{ Live map[string]int }
	require.NoError(t, json.Unmarshal([]byte(e.Report()), &report))
	return report.Live
}

func TestClosingInAnyOrder(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	k, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	require.NoError(t, e.Close(lib, handles.Library))
	require.Empty(t, f.unloaded, "the kernel holds its library")
	require.NoError(t, run(e, k, config(), float(1), exec.Arg{}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
	refused(t, e.Close(lib, handles.Library), status.Handle, "closed already")
	refused(t, e.Close(k, handles.Library), status.Handle, "is a kernel", "a library was wanted")
	require.NoError(t, e.Close(k, handles.Kernel))
	require.Equal(t, []driver.Library{7}, f.unloaded)
	refused(t, run(e, k, config()), status.Handle, "closed already")
	require.Empty(t, liveHandles(t, e))
}

func TestRetireUnloadsWithoutWaiting(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	require.NoError(t, e.Retire(lib))
	refused(t, e.Retire(lib), status.Handle)
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
}

func TestArrays(t *testing.T) {
	e, f := newEngine(t)
	f32 := dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}
	a, err := e.CreateArray(1, f32, []int64{2, 3})
	require.NoError(t, err)
	in, back := []float32{1, 2, 3, 4, 5, 6}, make([]float32, 6)
	require.NoError(t, e.Copy(a, uintptr(addressOf(in)), 24, 0, true))
	require.NoError(t, e.Copy(a, uintptr(addressOf(back)), 24, 0, false))
	require.Equal(t, in, back)
	refused(t, e.Copy(a, uintptr(addressOf(in)), 20, 0, true), status.Argument, "20 bytes given", "has 24")
	f.capturing = true
	require.EqualValues(t, 900, refused(t, e.Copy(a, uintptr(addressOf(in)), 24, 0, true), status.Driver, "captured").Driver)
	f.capturing = false

	id, _, err := e.ExportArray(a)
	require.NoError(t, err)
	require.NoError(t, e.Close(a, handles.Array))
	require.Equal(t, 1, f.alive(), "the exported tensor holds the memory")
	e.ReleaseExport(id)
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())

	a, err = e.CreateArray(0, f32, []int64{1})
	require.NoError(t, err)
	require.NoError(t, e.Close(a, handles.Array))
	require.Zero(t, f.alive(), "never launched: freed at once")

	_, err = e.CreateArray(2, f32, []int64{1})
	refused(t, err, status.Argument, "device 2 does not exist")
	_, err = e.CreateArray(0, f32, []int64{-1})
	refused(t, err, status.Argument, "shape[0] is -1")
	_, err = e.CreateArray(0, f32, []int64{1 << 40, 1 << 40})
	refused(t, err, status.Argument, "2^63-1")
	f.allocates = driver.ResultOutOfMemory
	_, err = e.CreateArray(0, f32, []int64{1})
	refused(t, err, status.Memory, "4 bytes wanted", "1000 free of 2000")
	empty, err := e.CreateArray(0, f32, []int64{3, 0})
	require.NoError(t, err)
	require.NoError(t, e.Close(empty, handles.Array))
	require.Empty(t, liveHandles(t, e))
}

// Host arrays that overlap are one piece of device memory, as they are on the host.
func TestHostTensorsThatOverlap(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	data := []float32{1, 2, 3, 4, 5}
	head, tail := tensorArg(t, data[:4], cpuDevice, []int64{4}, nil), tensorArg(t, data[1:], cpuDevice, []int64{4}, nil)
	require.NoError(t, run(e, k, config(), float(1), head, tail))
	p := exectest.Params()
	require.EqualValues(t, 4, binary.LittleEndian.Uint64(p[16:])-binary.LittleEndian.Uint64(p[8:]), "one element apart")
	require.NoError(t, run(e, k, config(), float(1), head, head))
	p = exectest.Params()
	require.Equal(t, p[8:16], p[16:24])
	require.Equal(t, []float32{1, 2, 3, 4, 5}, data)
	require.Zero(t, f.alive())
}

// What a kernel does not write of an out tensor is as it was.
func TestPartOfAnOutTensor(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], y: out f32[n], n: i32 = n)")
	y := []float32{7, 7, 7}
	require.NoError(t, run(e, k, config(), float(1), tensorArg(t, y, cpuDevice, []int64{3}, nil), tensorArg(t, y, cpuDevice, []int64{3}, nil)))
	require.Equal(t, []float32{7, 7, 7}, y)
}

func TestEmptyHostTensors(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	empty := tensorArg(t, nil, cpuDevice, []int64{0}, nil)
	require.NoError(t, run(e, k, config(), float(1), empty, empty))
	require.Zero(t, binary.LittleEndian.Uint64(exectest.Params()[8:]))
	require.Zero(t, f.alive())
}

func TestStridedHostTensors(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n] @strided, y: inout f32[n] @strided, n: i32 = n)")
	data := []float32{1, 2, 3, 4, 5, 6}
	backwards := tensorArg(t, data[4:], cpuDevice, []int64{3}, []int64{-2})
	require.NoError(t, run(e, k, config(), float(1), backwards, backwards))
	p := binary.LittleEndian.Uint64(exectest.Params()[8:])
	require.NotZero(t, p)
	require.Equal(t, []float32{1, 2, 3, 4, 5, 6}, data)
	require.Zero(t, f.alive())
}

func TestReadOnlyHostTensors(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	data := []float32{1, 2}
	x := tensorArg(t, data, cpuDevice, []int64{2}, nil)
	require.NoError(t, run(e, k, config(), float(1), readOnly(t, x), x))
	se := refused(t, run(e, k, config(), float(1), x, readOnly(t, x)), status.Tensor, "argument 2 (y)", "read-only")
	require.EqualValues(t, 2, se.Argument)
	require.Zero(t, f.alive())
}

func TestScratchMemory(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: ptr = scratch(100, 1024), y: ptr, n: i32)")
	null, zero := exec.Arg{Kind: exec.ArgNone}, exec.Arg{Kind: exec.ArgInt}
	require.NoError(t, run(e, k, config(), float(1), null, zero))
	address := binary.LittleEndian.Uint64(exectest.Params()[8:])
	require.NotZero(t, address)
	require.Zero(t, address%1024)
	require.Zero(t, f.alive(), "freed behind the launch")
	f.allocates = driver.ResultOutOfMemory
	refused(t, run(e, k, config(), float(1), null, zero), status.Memory)
}

func TestMultiples(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], y: f32[n], n: i32 @multiple(4) = n)")
	for n, fits := range map[int64]bool{4: true, 8: true, 6: false} {
		x := tensorArg(t, make([]float32, n), cudaDevice, []int64{n}, nil)
		err := run(e, k, config(), float(1), x, x)
		if fits {
			require.NoError(t, err)
		} else {
			refused(t, err, status.Argument, "n = n is 6, which is no multiple of 4")
		}
	}
	k = getKernel(t, e, "saxpy(a: f32, x: ptr, y: ptr, n: i32 @multiple(16))")
	null := exec.Arg{Kind: exec.ArgNone}
	require.NoError(t, run(e, k, config(), float(1), null, null, exec.Arg{Kind: exec.ArgInt, Value: 32}))
	refused(t, run(e, k, config(), float(1), null, null, exec.Arg{Kind: exec.ArgInt, Value: 33}), status.Argument, "33 is no multiple of 16")
}

// Kernels that finalizers close go at once while their library is open.
func TestRetiredKernelsDoNotPileUp(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	for range 10 {
		k, err := e.GetKernel(lib, "saxpy")
		require.NoError(t, err)
		require.NoError(t, e.Retire(k))
	}
	require.Contains(t, e.Report(), `"pending":0`)
	k, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	require.NoError(t, e.Close(lib, handles.Library))
	require.NoError(t, e.Retire(k))
	require.Empty(t, f.unloaded, "retiring never waits: the library goes later")
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
}

// What was launched is not freed before that work is done.
func TestClosedArraysWaitForTheirLaunches(t *testing.T) {
	f32 := dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}
	for _, c := range []struct {
		name    string
		streams []uint64
		fenced  bool // an event tells when; else only a synchronized device does
	}{
		{"legacy", []uint64{0, 0}, true},
		{"foreign", []uint64{0x7000}, false},
		{"two streams", []uint64{0, 1}, false},
		{"per thread", []uint64{2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			k := getKernel(t, e, "saxpy")
			a, err := e.CreateArray(0, f32, []int64{8})
			require.NoError(t, err)
			for _, stream := range c.streams {
				cfg := config()
				cfg.Stream = stream
				require.NoError(t, run(e, k, cfg, float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
			}
			f.events = driver.ResultNotReady
			require.NoError(t, e.Close(a, handles.Array))
			require.Equal(t, 1, f.alive())
			f.events = driver.ResultSuccess
			b, err := e.CreateArray(0, f32, []int64{8})
			require.NoError(t, err)
			require.NoError(t, e.Close(b, handles.Array))
			if c.fenced {
				require.Zero(t, f.alive(), "a later call finds the event done")
			} else {
				require.Equal(t, 1, f.alive())
			}
			require.NoError(t, e.Drain())
			require.Zero(t, f.alive())
		})
	}
}

// Memory that a kernel of another device may use waits for every device.
func TestClosedPeersWaitForAllDevices(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n] @peer, y: ptr, n: i32 = n)")
	a, err := e.CreateArray(1, dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}, []int64{8})
	require.NoError(t, err)
	require.NoError(t, run(e, k, config(), float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}))
	require.NoError(t, e.Close(a, handles.Array))
	require.NoError(t, e.Synchronize(1))
	require.Equal(t, 1, f.alive(), "device 0 runs the kernel")
	require.NoError(t, e.Synchronize(0))
	require.Zero(t, f.alive())
}

func TestMoreSharedMemory(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	cfg := config()
	args := []exec.Arg{float(1), {}, {}, {Kind: exec.ArgInt}}
	cfg.SharedBytes = 60000
	require.NoError(t, run(e, k, cfg, args...))
	require.EqualValues(t, 60000, f.dynamic)
	cfg.SharedBytes = 50000
	require.NoError(t, run(e, k, cfg, args...))
	require.EqualValues(t, 60000, f.dynamic, "it is only ever raised")
	cfg.SharedBytes = fakeSharedOptIn
	refused(t, run(e, k, cfg, args...), status.Config, "1024 static", "232448 for a block")
}

func TestLimitsAreTheKernelsAndTheDevices(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy")
	args := []exec.Arg{float(1), {}, {}, {Kind: exec.ArgInt}}
	cfg := config()
	cfg.Block = [3]uint32{513}
	refused(t, run(e, k, cfg, args...), status.Config, "513 threads", "allows 512")
	cfg = config()
	cfg.Grid = [3]uint32{1, 70000}
	refused(t, run(e, k, cfg, args...), status.Config, "grid.y is 70000", "65535")
	cfg = config()
	cfg.Grid = [3]uint32{0}
	refused(t, run(e, k, cfg, args...), status.Config, "grid.x is 0")
	refused(t, run(e, k, nil, args...), status.Argument, "config is NULL")
}

func TestStreams(t *testing.T) {
	e, _ := newEngine(t)
	s, err := e.CreateStream(1, launch.StreamNonBlocking)
	require.NoError(t, err)
	native, err := e.NativeStream(s)
	require.NoError(t, err)
	require.EqualValues(t, 0x5000, native)
	require.NoError(t, e.SynchronizeStream(uint64(s)))
	k := getKernel(t, e, "saxpy")
	cfg := config()
	cfg.Stream = uint64(s)
	args := []exec.Arg{float(1), {}, {}, {Kind: exec.ArgInt}}
	require.NoError(t, run(e, k, cfg, args...))
	_, _, _, stream, _ := exectest.Config()
	require.EqualValues(t, 0x5000, stream)
	args[1] = tensorArg(t, make([]float32, 1), cudaDevice, []int64{1}, nil)
	refused(t, run(e, k, cfg, args...), status.Tensor, "the stream is of device 1", "device 0")
	require.NoError(t, e.Close(s, handles.Stream))
	refused(t, e.SynchronizeStream(uint64(s)), status.Handle, "closed already")
	refused(t, run(e, k, cfg, args...), status.Handle, "stream", "closed already")
	_, err = e.CreateStream(0, 2)
	refused(t, err, status.Argument, "flags 0x2")
}

func TestADriverThatIsNotThere(t *testing.T) {
	e := launch.New(func() (launch.Driver, error) {
		return launch.Driver{}, status.Errorf(status.NoDriver, "no driver")
	}, nil)
	_, err := e.Info()
	refused(t, err, status.NoDriver)
	_, err = e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
	refused(t, err, status.NoDriver)
	refused(t, e.Close(1, handles.Library), status.Handle)
	require.Contains(t, e.Report(), `"live":{}`)
}
