package launch_test

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

var float32s = dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}

func captured() *exec.Config {
	cfg := config()
	cfg.Stream = capturedStream
	return cfg
}

// captureLaunch captures a launch with an array and an imported tensor, and closes
// all that it has.
func captureLaunch(t *testing.T, e *launch.Engine, f *fake) {
	t.Helper()
	lib := load(t, e)
	k, err := e.GetKernel(lib, saxpyPrototype)
	require.NoError(t, err)
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	y, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA}, 0x1000, 8), 77)
	require.NoError(t, err)
	f.graph.capture(t)
	f.elsewhere = true // the capture is global: what is not relaxed ends it
	before := exectest.Launches()
	require.NoError(t, run(e, k, captured(), float(2), handleArg(x), handleArg(y)))
	require.Equal(t, before+1, exectest.Launches())
	require.NoError(t, e.Close(x, handles.Array))
	require.NoError(t, e.Close(y, handles.Tensor))
	require.NoError(t, e.Close(k, handles.Kernel))
	require.NoError(t, e.Close(lib, handles.Library))
	require.False(t, f.lost)
	f.graph.endCapture()
	f.elsewhere = false
}

// What was captured lives as long as its graph, though all of it is closed; and
// goes, once, in a call that comes after the graph's end.
func TestAGraphHoldsWhatItCaptured(t *testing.T) {
	e, f := newEngine(t)
	captureLaunch(t, e, f)
	require.Empty(t, liveHandles(t, e))
	for range 2 {
		require.NoError(t, e.Synchronize(0))
		require.NoError(t, e.Drain())
		require.Empty(t, f.unloaded)
		require.Equal(t, 1, f.alive())
		require.Empty(t, f.gone)
		require.Contains(t, e.Report(), `"pending":1`)
		require.Contains(t, e.Report(), `"label":"launch of saxpy","open":false`)
	}
	f.graph.destroy(t)
	require.Equal(t, 1, f.alive(), "the driver's thread frees nothing")
	require.NoError(t, e.Drain())
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Zero(t, f.alive())
	require.Equal(t, []uint64{77}, f.gone)
	require.Contains(t, e.Report(), `"handles":[]`)
	require.Contains(t, e.Report(), `"pending":0`)
}

// Replays used the memory on streams that nobody knows: only an idle device ends it.
func TestWhatGraphsHeldGoesInLaterCalls(t *testing.T) {
	closes := func(kind handles.Kind, open func(e *launch.Engine) handles.Handle) func(*testing.T, *launch.Engine) error {
		return func(_ *testing.T, e *launch.Engine) error { return e.Close(open(e), kind) }
	}
	array := func(e *launch.Engine) handles.Handle { h, _ := e.CreateArray(0, float32s, []int64{1}); return h }
	for _, c := range []struct {
		name             string
		call             func(t *testing.T, e *launch.Engine) error
		unloads, isFreed bool
	}{
		{"synchronize", func(_ *testing.T, e *launch.Engine) error { return e.Synchronize(0) }, false, true},
		{"drain", func(_ *testing.T, e *launch.Engine) error { return e.Drain() }, true, true},
		{"load", func(t *testing.T, e *launch.Engine) error { load(t, e); return nil }, true, false},
		{"create", func(_ *testing.T, e *launch.Engine) error { array(e); return nil }, false, false},
		{"close", closes(handles.Array, array), false, false},
		{"synchronize a stream", func(_ *testing.T, e *launch.Engine) error { return e.SynchronizeStream(0) }, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			captureLaunch(t, e, f)
			f.graph.destroy(t)
			require.Contains(t, e.Report(), `"kind":"captured launch"`)
			require.NoError(t, c.call(t, e))
			require.NotContains(t, e.Report(), `"kind":"captured launch"`)
			require.Equal(t, c.unloads, len(f.unloaded) == 1)
			require.Equal(t, c.isFreed, len(f.gone) == 1)
			require.NoError(t, e.Drain())
			require.Equal(t, []uint64{77}, f.gone)
			require.Contains(t, f.unloaded, driver.Library(7))
		})
	}
}

// What is open when the graph goes stays open.
func TestGraphsEndNothingThatIsOpen(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	f.graph.capture(t)
	for range 3 {
		require.NoError(t, run(e, k, captured(), float(1), handleArg(x), handleArg(x), exec.Arg{Kind: exec.ArgInt}))
	}
	require.Equal(t, 3, f.graph.retained())
	require.Contains(t, e.Report(), `"reasons":{"first on a device":1,"graph capture":2}`)
	f.graph.endCapture()
	f.graph.destroy(t)
	require.NoError(t, e.Drain())
	require.Empty(t, f.unloaded)
	require.NoError(t, run(e, k, config(), float(1), handleArg(x), exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
	require.NoError(t, e.Close(x, handles.Array))
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())
}

// A slice or an exported tensor has no handle of dlaunch's, but its memory.
func TestAGraphHoldsTheArraysThatTensorsLieIn(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	other, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	var data []float32
	require.NoError(t, e.ArrayTensor(x, func(tensor uint64) error {
		at := (*rawTensor)(unsafe.Pointer(unsafe.SliceData(bytesAt(tensor, uint64(unsafe.Sizeof(rawTensor{}))))))
		data = unsafe.Slice((*float32)(at.data), 8)
		return nil
	}))
	f.graph.capture(t)
	slice := tensorArg(t, data[4:], 2, []int64{4}, nil)
	require.NoError(t, run(e, k, captured(), float(1), slice, slice))
	require.NoError(t, e.Close(x, handles.Array))
	require.NoError(t, e.Close(other, handles.Array))
	require.NoError(t, e.Drain())
	require.Equal(t, 1, f.alive())
	f.graph.destroy(t)
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())
}

// A launch that no graph would hold is refused, and leaves nothing.
func TestCapturesThatCannotHold(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(f *fake)
		code    status.Code
		says    []string
	}{
		{"no capture info", func(f *fake) { f.graph.asks = driver.ResultNotSupported }, status.Unsupported, []string{"cuStreamGetCaptureInfo (11.3)"}},
		{"no user objects", func(f *fake) { f.graph.creates = driver.ResultNotSupported }, status.Unsupported, []string{"saxpy", "graph", "driver (13.0)", "cuUserObjectCreate (11.3)"}},
		{"no memory", func(f *fake) { f.graph.creates = driver.ResultOutOfMemory }, status.Memory, []string{"cuUserObjectCreate"}},
		{"the graph refuses", func(f *fake) { f.graph.retains = driver.ResultInvalidValue }, status.Driver, []string{"cuGraphRetainUserObject"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			k := getKernel(t, e, saxpyPrototype)
			x, err := e.CreateArray(0, float32s, []int64{8})
			require.NoError(t, err)
			f.graph.capture(t)
			c.prepare(f)
			before := exectest.Launches()
			refused(t, run(e, k, captured(), float(1), handleArg(x), handleArg(x)), c.code, c.says...)
			require.Equal(t, before, exectest.Launches())
			require.NoError(t, e.Close(x, handles.Array))
			require.NoError(t, e.Drain())
			require.Zero(t, f.alive())
			require.Contains(t, e.Report(), `"pending":0`)
			require.Zero(t, f.graph.retained())
		})
	}
}

func TestCapturesThatDoNotWork(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	launch := func() error { return run(e, k, captured(), float(1), handleArg(x), handleArg(x)) }
	require.NoError(t, launch())

	f.graph.capture(t)
	exectest.Capture(capturedStream, 2)
	exectest.Answer(int32(driver.ResultStreamCaptureInvalidated))
	t.Cleanup(func() { exectest.Answer(0) })
	refused(t, launch(), status.Driver, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
	exectest.Answer(0)

	f.graph.capture(t)
	f.graph.ends = true // between the executor's question and ours
	require.NoError(t, launch())
	require.Zero(t, f.graph.retained())

	f.graph.capture(t)
	require.NoError(t, e.Close(x, handles.Array))
	refused(t, launch(), status.Handle, "argument 1 (x)", "closed already")
	require.Zero(t, f.graph.retained())
}

// scratch() memory becomes part of the graph, round the launch.
func TestCapturedScratch(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], scratch: ptr = scratch(64, 16), n: i32 = n)")
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	launch := func() error { return run(e, k, captured(), float(1), handleArg(x)) }
	require.NoError(t, launch(), "outside of a capture")
	f.graph.capture(t)
	f.elsewhere = true
	require.NoError(t, launch())
	require.Equal(t, []string{"alloc", "free after the launch"}, f.graph.nodes)
	require.False(t, f.lost)
	f.elsewhere = false
	f.graph.destroy(t)

	f.noPools = true
	before := exectest.Launches()
	refused(t, launch(), status.Unsupported, "scratch memory", "memory pools")
	require.Equal(t, before, exectest.Launches())
	require.Equal(t, 1, f.alive())
	require.Zero(t, f.graph.retained())
}

// Graphs end on the driver's threads while others capture, close and drain.
func TestGraphsHammer(t *testing.T) {
	const workers, rounds = 4, 300
	e, f := newEngine(t)
	lib := load(t, e)
	f.graph.capture(t)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for i := range rounds {
				k, err := e.GetKernel(lib, saxpyPrototype)
				x, failed := e.CreateArray(0, float32s, []int64{8})
				if err != nil || failed != nil {
					t.Error(err, failed)
					return
				}
				if err := run(e, k, captured(), float(1), handleArg(x), handleArg(x)); err != nil {
					t.Error(err)
				}
				_ = e.Retire(x)
				_ = e.Close(k, handles.Kernel)
				if i%10 == 0 {
					f.graph.destroy(t)
					_ = e.Drain()
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, e.Close(lib, handles.Library))
	f.graph.destroy(t)
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Contains(t, e.Report(), `"handles":[]`)
	require.Contains(t, e.Report(), `"pending":0`)
}
