package launch_test

import (
	"encoding/binary"
	"math"
	"slices"
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

var float32Type = dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}

func makeArray(t *testing.T, e *launch.Engine, device int, shape ...int64) handles.Handle {
	t.Helper()
	a, err := e.CreateArray(device, float32Type, shape)
	require.NoError(t, err)
	return a
}

func bind(t *testing.T, e *launch.Engine, k handles.Handle, index int, arg exec.Arg) handles.Handle {
	t.Helper()
	bound, err := e.BindKernel(k, index, &arg)
	require.NoError(t, err)
	return bound
}

func closeAll(t *testing.T, e *launch.Engine, all ...handles.Handle) {
	t.Helper()
	for _, h := range all {
		require.NoError(t, e.Close(h, h.Kind()))
	}
}

// Whatever is bound, in whatever order: the kernel gets what it got when all was
// passed, and the rest is passed in its old order.
func TestBoundArgumentsArePackedAsPassedOnes(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	x, y := makeArray(t, e, 0, 4), makeArray(t, e, 0, 4)
	args := []exec.Arg{float(2), handleArg(x), handleArg(y)}
	require.NoError(t, run(e, k, config(), args...))
	wanted := exectest.Params()
	for _, order := range [][]int{{0}, {1}, {2}, {0, 1}, {2, 1}, {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		bound := k
		for _, index := range order {
			bound = bind(t, e, bound, index, args[index])
		}
		var rest []exec.Arg
		for i, arg := range args {
			if !slices.Contains(order, i) {
				rest = append(rest, arg)
			}
		}
		before := exectest.Launches()
		require.NoError(t, run(e, bound, config(), rest...))
		require.Equal(t, before+1, exectest.Launches())
		require.Equal(t, wanted, exectest.Params(), "%v", order)
	}
}

func TestEachLaunchChecksWhatIsPassedAgainstWhatIsBound(t *testing.T) {
	e, _ := newEngine(t)
	k := bind(t, e, getKernel(t, e, saxpyPrototype), 1, handleArg(makeArray(t, e, 1, 4)))
	good := handleArg(makeArray(t, e, 1, 4))
	require.NoError(t, run(e, k, config(), float(1), good))
	err := refused(t, run(e, k, config(), float(1), handleArg(makeArray(t, e, 1, 5))), status.Tensor, "argument 1 (y)", "extent 5, 4 wanted")
	require.EqualValues(t, 1, err.Argument)
	refused(t, run(e, k, config(), float(1), handleArg(makeArray(t, e, 0, 4))), status.Tensor, "argument 1 (y)", "on device 0", "device 1")
	refused(t, run(e, k, config(), float(1)), status.Argument, "takes 2 arguments, 1 given: (a: f32, y: inout f32[n])")
	refused(t, run(e, k, config(), exec.Arg{Kind: exec.ArgNone}, good), status.Argument, "argument 0 (a)")
	stream, err2 := e.CreateStream(0, 0)
	require.NoError(t, err2)
	cfg := config()
	cfg.Stream = uint64(stream)
	refused(t, run(e, k, cfg, float(1), good), status.Tensor, "stream is of device 0", "device 1")

	for index, bound := range []bool{false, true, false, false} {
		p, err := e.KernelParameter(k, index)
		require.NoError(t, err)
		require.Equal(t, bound, p.Mode&exec.ParameterBound != 0)
	}
	p, err3 := e.KernelParameter(getKernel(t, e, saxpyPrototype), 1)
	require.NoError(t, err3)
	require.EqualValues(t, exec.ArgIn, p.Mode)
}

// Host tensors that are passed beside bound ones are staged where those are.
func TestStagingBesideBoundTensors(t *testing.T) {
	e, f := newEngine(t)
	x := makeArray(t, e, 1, 4)
	k := bind(t, e, getKernel(t, e, saxpyPrototype), 1, handleArg(x))
	y := []float32{1, 2, 3, 4}
	require.NoError(t, run(e, k, config(), float(1), tensorArg(t, y, cpuDevice, []int64{4}, nil)))
	require.Equal(t, []float32{1, 2, 3, 4}, y)
	require.Equal(t, 1, f.alive())
	require.Equal(t, [2]bool{true, true}, f.retained)
}

// The strides of bound tensors are numbers in what is filled in, those of passed ones
// are found though other arguments went.
func TestStridesOfBoundTensors(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[_,_] @strided, y: f32[_,_] @strided, n: i32 = stride(x,0)*stride(y,0)*2)")
	data := make([]float32, 64)
	x := tensorArg(t, data, cudaDevice, []int64{2, 2}, []int64{7, 1})
	y := tensorArg(t, data, cudaDevice, []int64{2, 2}, []int64{-3, 1})
	for _, order := range [][]int{{1}, {2}, {1, 2}, {2, 1}, {0, 1, 2}, {0, 2}} {
		bound, args := k, []exec.Arg{float(1), x, y}
		for _, index := range order {
			bound = bind(t, e, bound, index, args[index])
		}
		var rest []exec.Arg
		for i, arg := range args {
			if !slices.Contains(order, i) {
				rest = append(rest, arg)
			}
		}
		require.NoError(t, run(e, bound, config(), rest...))
		require.EqualValues(t, 7*-3*2, int32(binary.LittleEndian.Uint32(exectest.Params()[24:])), "%v", order)
	}
	far := tensorArg(t, data, cudaDevice, []int64{2, 1}, []int64{1 << 59, 1})
	_, err := e.BindKernel(bind(t, e, k, 2, far), 1, &far)
	refused(t, err, status.Argument, "parameter 1 (x)", "parameter n = ", "more than 64 bits")
}

// What is filled in from a parameter is so when that is bound.
func TestBoundParametersInExpressions(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: u64, y: u64 = x*2, n: i32 @multiple(4))")
	k = bind(t, e, bind(t, e, k, 1, exec.Arg{Kind: exec.ArgInt, Value: 21}), 3, exec.Arg{Kind: exec.ArgInt, Value: 8})
	require.NoError(t, run(e, k, config(), float(1)))
	p := exectest.Params()
	require.EqualValues(t, []uint64{21, 42, 8}, []uint64{binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(p[16:]), uint64(binary.LittleEndian.Uint32(p[24:]))})
}

func TestWhatBindingIsRefusedFor(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	bound := bind(t, e, k, 0, float(1))
	closed := makeArray(t, e, 0, 4)
	closeAll(t, e, closed)
	stream, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	data := make([]float32, 4)
	alive := f.alive()
	for _, c := range []struct {
		name  string
		k     handles.Handle
		index int
		arg   exec.Arg
		code  status.Code
		parts []string
	}{
		{"past the end", k, 4, float(1), status.NotFound, []string{"has 4 parameters", "index 4"}},
		{"filled in", k, 3, exec.Arg{Kind: exec.ArgInt}, status.Argument, []string{"parameter 3 (n)", "filled in"}},
		{"twice", bound, 0, float(1), status.Argument, []string{"parameter 0 (a)", "bound already"}},
		{"a closed kernel", closed, 0, float(1), status.Handle, nil},
		{"a closed array", k, 1, handleArg(closed), status.Handle, []string{"closed already"}},
		{"no array", k, 1, handleArg(stream), status.Handle, []string{"parameter 1 (x)", "no array or tensor"}},
		{"an integer that is no f32", k, 0, exec.Arg{Kind: exec.ArgInt, Value: 1<<24 + 1}, status.Argument, []string{"parameter 0 (a)", "16777217", "f32"}},
		{"a number for a tensor", bound, 1, float(1), status.Argument, []string{"parameter 1 (x)", "a float given, f32[n] wanted"}},
		{"an array for a number", k, 0, handleArg(makeArray(t, e, 0, 4)), status.Argument, []string{"parameter 0 (a)", "a tensor given, f32 wanted"}},
		{"a host tensor for a number", k, 0, tensorArg(t, data, cpuDevice, []int64{4}, nil), status.Argument, []string{"a tensor given, f32 wanted"}},
		{"rank", k, 1, handleArg(makeArray(t, e, 0, 2, 2)), status.Tensor, []string{"parameter 1 (x)", "2 dimensions"}},
		{"a host tensor that is written", k, 2, tensorArg(t, data, cpuDevice, []int64{4}, nil), status.Argument, []string{"parameter 2 (y)", "copy that does not change"}},
		{"one that its mark says is written", k, 1, exec.Arg{Kind: exec.ArgTensor, Flags: exec.ArgOut, Value: tensorArg(t, data, cpuDevice, []int64{4}, nil).Value},
			status.Argument, []string{"copy that does not change"}},
		{"a read-only tensor that is written", k, 2, readOnly(t, tensorArg(t, data, cudaDevice, []int64{4}, nil)), status.Tensor, []string{"read-only"}},
		{"a host tensor that does not fit", k, 1, tensorArg(t, data, cpuDevice, []int64{2, 2}, nil), status.Tensor, []string{"2 dimensions"}},
		{"no multiple", getKernel(t, e, "saxpy(a: f32, x: ptr, y: ptr, n: i32 @multiple(4))"), 3, exec.Arg{Kind: exec.ArgInt, Value: 6}, status.Argument, []string{"parameter 3 (n): 6 is no multiple of 4"}},
		{"a NULL", k, 1, exec.Arg{Kind: exec.ArgTensor}, status.Argument, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, err := e.BindKernel(c.k, c.index, &c.arg)
			se := refused(t, err, c.code, c.parts...)
			require.Zero(t, h)
			if len(c.parts) > 0 && c.code != status.NotFound {
				require.Contains(t, []int32{int32(c.index), -1}, se.Argument)
			}
		})
	}
	require.Equal(t, alive+2, f.alive(), "the two arrays of the list, and no copy")
}

// What is bound lives as long as what it is bound to, and then until its launches are
// done; in whatever order all is closed.
func TestBoundArraysOutliveTheirHandles(t *testing.T) {
	const fenced, idle = true, false
	for _, c := range []struct {
		name   string
		stream []uint64
		waits  bool
		by     bool
	}{
		{"never launched", nil, false, fenced},
		{"launched on the default stream", []uint64{0}, true, fenced},
		{"on a foreign one", []uint64{0x7000}, true, idle},
		{"on two", []uint64{0, 0x7000}, true, idle},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			k := getKernel(t, e, saxpyPrototype)
			x := makeArray(t, e, 0, 4)
			y, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA}, 0x1000, 4), 77)
			require.NoError(t, err)
			first := bind(t, e, k, 1, handleArg(x))
			second := bind(t, e, first, 2, handleArg(y))
			third := bind(t, e, second, 0, float(1))
			closeAll(t, e, x, k, first, second, y)
			require.Equal(t, 1, f.alive())
			require.Empty(t, f.gone)
			for _, stream := range c.stream {
				cfg := config()
				cfg.Stream = stream
				require.NoError(t, run(e, third, cfg))
			}
			f.events = driver.ResultNotReady
			closeAll(t, e, third)
			require.Equal(t, c.waits, f.alive() == 1 && len(f.gone) == 0)
			f.events = driver.ResultSuccess
			require.NoError(t, e.SynchronizeStream(0))
			require.Equal(t, c.waits && c.by == idle, f.alive() == 1 && len(f.gone) == 0)
			require.NoError(t, e.Synchronize(0))
			require.Zero(t, f.alive())
			require.Equal(t, []uint64{77}, f.gone)
			require.Empty(t, liveKernelsAndArrays(t, e))
		})
	}
}

func liveKernelsAndArrays(t *testing.T, e *launch.Engine) map[string]int {
	live := liveHandles(t, e)
	delete(live, "library") // getKernel's
	return live
}

func TestHostTensorsAreFrozen(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n] @strided, y: f32[n], n: i32 = stride(x,0))")
	x, y := []float32{1, 2, 3, 4, 5, 6}, makeArray(t, e, 1, 3)
	onOne := bind(t, e, k, 2, handleArg(y))
	bound := bind(t, e, onOne, 1, tensorArg(t, x[4:], cpuDevice, []int64{3}, []int64{-2}))
	require.Equal(t, 2, f.alive())
	clear(x)
	require.NoError(t, run(e, bound, config(), float(1)))
	p := exectest.Params()
	require.EqualValues(t, -2, int32(binary.LittleEndian.Uint32(p[24:])))
	first := binary.LittleEndian.Uint64(p[8:])
	frozen := func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(bytesAt(first-8*uint64(i), 4)))
	}
	require.Equal(t, []float32{5, 3, 1}, []float32{frozen(0), frozen(1), frozen(2)})
	require.Equal(t, map[string]int{"kernel": 3, "array": 1}, liveKernelsAndArrays(t, e), "the copy has no handle")

	f.elsewhere = true // another thread's capture goes on
	other := bind(t, e, onOne, 1, tensorArg(t, y4(), cpuDevice, []int64{3}, nil))
	require.False(t, f.lost)
	f.elsewhere = false
	closeAll(t, e, bound, other, onOne, k, y)
	require.NoError(t, e.Synchronize(1))
	require.Zero(t, f.alive())

	none := bind(t, e, getKernel(t, e, saxpyPrototype), 1, tensorArg(t, nil, cpuDevice, []int64{0}, nil))
	closeAll(t, e, none)
	require.Zero(t, f.alive())
}

func y4() []float32 { return []float32{1, 2, 3, 4} }

// An imported host tensor is copied, and let go at once.
func TestImportedHostTensorsAreFrozenAndLetGo(t *testing.T) {
	e, f := newEngine(t)
	x := y4()
	h, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CPU}, addressOf(x), 4), 5)
	require.NoError(t, err)
	k := bind(t, e, getKernel(t, e, saxpyPrototype), 1, handleArg(h))
	closeAll(t, e, h)
	require.Equal(t, []uint64{5}, f.gone)
	closeAll(t, e, k)
	require.Zero(t, f.alive())
}

// A library closed before everything goes with the last kernel that was bound from its own.
func TestABoundKernelKeepsTheLibrary(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	k, err := e.GetKernel(lib, saxpyPrototype)
	require.NoError(t, err)
	bound := bind(t, e, k, 0, float(1))
	again := bind(t, e, bound, 1, handleArg(makeArray(t, e, 0, 4)))
	closeAll(t, e, lib, k)
	require.NoError(t, e.Retire(bound))
	require.Empty(t, f.unloaded)
	require.NoError(t, run(e, again, config(), handleArg(makeArray(t, e, 0, 4))))
	require.NoError(t, e.Retire(again))
	require.Empty(t, f.unloaded, "a finalizer unloads nothing")
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Contains(t, e.Report(), `"pending":0`)
}
