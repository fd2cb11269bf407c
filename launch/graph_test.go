package launch_test

import (
	"sync"
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

// twice are two launches with an array and an imported tensor, and what closes all.
func twice(t *testing.T, e *launch.Engine) (calls []launch.Call, closeAll func()) {
	t.Helper()
	lib := load(t, e)
	k, err := e.GetKernel(lib, saxpyPrototype)
	require.NoError(t, err)
	x, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	y, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA}, 0x1000, 8), 77)
	require.NoError(t, err)
	call := launch.Call{Kernel: k, Config: config(), Args: []exec.Arg{float(2), handleArg(x), handleArg(y)}}
	return []launch.Call{call, call}, func() {
		require.NoError(t, e.Close(x, handles.Array))
		require.NoError(t, e.Close(y, handles.Tensor))
		require.NoError(t, e.Close(k, handles.Kernel))
		require.NoError(t, e.Close(lib, handles.Library))
	}
}

func TestGraphsAreLaunchedAndClosed(t *testing.T) {
	e, f := newEngine(t)
	calls, closeAll := twice(t, e)
	f.elsewhere = true // what is not relaxed ends another thread's capture
	before := exectest.Launches()
	g, err := e.CreateGraph(calls)
	require.NoError(t, err)
	require.Equal(t, before+2, exectest.Launches())
	require.Equal(t, []driver.Function{0x2001, 0x2001}, f.loaded, "before the capture")
	require.Equal(t, 1, f.graph.owners, "what was captured is gone, what was made of it stays")
	require.Contains(t, e.Report(), `"label":"2 launches on device 0","open":true`)
	closeAll()
	require.NoError(t, e.Drain())
	require.Empty(t, f.unloaded)
	require.Empty(t, f.gone)

	stream, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	for _, s := range []uint64{0, 2, 0x6000, uint64(stream)} {
		require.NoError(t, e.LaunchGraph(g, s))
	}
	native, err := e.NativeStream(stream)
	require.NoError(t, err)
	require.Equal(t, []driver.Stream{0, 2, 0x6000, driver.Stream(native)}, f.graph.replayed)
	require.False(t, f.lost)
	require.Zero(t, f.context.Load())

	require.NoError(t, e.Close(g, handles.Graph))
	require.Zero(t, f.graph.owners)
	refused(t, e.LaunchGraph(g, 0), status.Handle, "graph handle", "closed already")
	f.elsewhere = false
	require.NoError(t, e.Close(stream, handles.Stream))
	refused(t, e.LaunchGraph(g, 0), status.Handle, "closed already")
	require.NoError(t, e.Drain())
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Equal(t, []uint64{77}, f.gone)
	require.Zero(t, f.alive())
	require.Contains(t, e.Report(), `"handles":[]`)
}

// Whatever fails, nothing of it is left.
func TestGraphsThatCannotBeMade(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(f *fake, calls []launch.Call)
		code    status.Code
		says    []string
	}{
		{"no capture", func(f *fake, _ []launch.Call) { f.graph.begins = driver.ResultNotSupported }, status.Unsupported, []string{"driver (13.0)", "cuStreamBeginCapture", "dlaunch_launch_many"}},
		{"the capture does not begin", func(f *fake, _ []launch.Call) { f.graph.begins = driver.ResultOutOfMemory }, status.Memory, []string{"cuStreamBeginCapture"}},
		{"the capture fails", func(f *fake, _ []launch.Call) { f.graph.finishes = driver.ResultStreamCaptureInvalidated }, status.Driver, []string{"cuStreamEndCapture", "901"}},
		{"no graph is made", func(f *fake, _ []launch.Call) { f.graph.instantiates = driver.ResultOutOfMemory }, status.Memory, []string{"cuGraphInstantiateWithFlags"}},
		{"nothing holds", func(f *fake, _ []launch.Call) { f.graph.creates = driver.ResultNotSupported }, status.Unsupported, []string{"call 0: kernel \"saxpy\"", "cuUserObjectCreate (11.3)"}},
		{"the second launch", func(_ *fake, calls []launch.Call) { calls[1].Args = calls[1].Args[:2] }, status.Argument, []string{"call 1: kernel \"saxpy\" takes 3 arguments, 2 given"}},
		{"no launch", func(_ *fake, calls []launch.Call) { calls[0].Kernel = 5 }, status.Handle, []string{"call 0: handle 5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			calls, closeAll := twice(t, e)
			c.prepare(f, calls)
			g, err := e.CreateGraph(calls)
			refused(t, err, c.code, c.says...)
			require.Zero(t, g)
			require.Zero(t, f.graph.owners)
			require.Zero(t, f.graph.stream, "no stream is captured")
			closeAll()
			require.NoError(t, e.Drain())
			require.NoError(t, e.Drain())
			require.Zero(t, f.graph.retained())
			require.Contains(t, e.Report(), `"handles":[]`)
		})
	}
}

func TestGraphsAreOfOneDevice(t *testing.T) {
	e, _ := newEngine(t)
	_, err := e.CreateGraph(nil)
	refused(t, err, status.Argument, "one launch or more")
	calls, closeAll := twice(t, e)
	other, err := e.CreateStream(1, 0)
	require.NoError(t, err)
	elsewhere := *config()
	elsewhere.Stream = uint64(other)
	calls[1].Config = &elsewhere
	_, err = e.CreateGraph(calls)
	refused(t, err, status.Tensor, "call 1: kernel \"saxpy\": the stream is of device 1, the tensors are on device 0")
	calls[1].Args = nil
	_, err = e.CreateGraph(calls)
	refused(t, err, status.Argument, "call 1: it is for device 1, call 0 for device 0; a graph is of one device")
	require.NoError(t, e.Close(other, handles.Stream))
	closeAll()
	require.NoError(t, e.Drain())
}

func TestGraphsThatCannotBeLaunched(t *testing.T) {
	e, f := newEngine(t)
	calls, _ := twice(t, e)
	g, err := e.CreateGraph(calls)
	require.NoError(t, err)
	other, err := e.CreateStream(1, 0)
	require.NoError(t, err)
	refused(t, e.LaunchGraph(g, uint64(other)), status.Argument, "the stream is of device 1, the graph of device 0")
	f.capturing = true
	refused(t, e.LaunchGraph(g, 0x6000), status.Unsupported, "captured")
	f.capturing = false
	require.Empty(t, f.graph.replayed)
	f.graph.launches = driver.ResultOutOfMemory
	refused(t, e.LaunchGraph(g, 0), status.Memory, "cuGraphLaunch")
	f.graph.launches = driver.ResultIllegalAddress
	refused(t, e.LaunchGraph(g, 0), status.Fault, "cuGraphLaunch", "restart the process")
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	refused(t, e.LaunchGraph(g, 0), status.Fault, "poisoned")
	for _, bad := range []*exec.Config{nil, {}} { // of which the executor says nothing then
		calls[0].Config = bad
		_, err = e.CreateGraph(calls)
		refused(t, err, status.Fault, "call 0", "poisoned")
	}
	require.NoError(t, e.Close(g, handles.Graph))
	require.Equal(t, 1, f.graph.owners, "nothing is done in a poisoned context")
}

// Threads launch one graph, of which the driver gets one launch at a time, while
// others are made and it is closed.
func TestGraphLaunchesExcludeEachOther(t *testing.T) {
	const threads, rounds = 4, 200
	e, f := newEngine(t)
	calls, closeAll := twice(t, e)
	g, err := e.CreateGraph(calls)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for range rounds {
				if err := e.LaunchGraph(g, 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, f.graph.replayed, threads*rounds)
	require.False(t, f.graph.overlaps)

	for range threads {
		all.Go(func() {
			for e.LaunchGraph(g, 0) == nil {
			}
		})
	}
	require.NoError(t, e.Close(g, handles.Graph))
	all.Wait()
	require.NoError(t, e.Drain())
	require.Zero(t, f.graph.owners)
	closeAll()
	require.NoError(t, e.Drain())
}
