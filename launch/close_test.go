package launch_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

// A kernel is retired and its library closed while it is being launched: drain
// unloads the library when that is over.
func TestDrainEndsWhatALaunchHeld(t *testing.T) {
	e, f := newEngine(t)
	lib := load(t, e)
	k, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	launch := func() error {
		return run(e, k, config(), float(1), exec.Arg{}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt})
	}
	require.NoError(t, launch())
	exectest.Hold(true)
	before, done := exectest.Launches(), make(chan error)
	go func() { done <- launch() }()
	for exectest.Launches() == before {
		runtime.Gosched()
	}
	require.NoError(t, e.Retire(k))
	require.NoError(t, e.Close(lib, handles.Library))
	require.Empty(t, f.unloaded)
	exectest.Hold(false)
	require.NoError(t, <-done)
	require.NoError(t, e.Drain())
	require.Equal(t, []driver.Library{7}, f.unloaded)
	require.Contains(t, e.Report(), `"pending":0`)
}

// Drain makes no context where nothing waits: one takes hundreds of megabytes.
func TestDrainWaitsForTheDevicesOfWhatWaits(t *testing.T) {
	e, f := newEngine(t)
	a, err := e.CreateArray(1, dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}, []int64{1})
	require.NoError(t, err)
	id, _, err := e.ExportArray(a)
	require.NoError(t, err)
	require.NoError(t, e.Close(a, handles.Array))
	e.ReleaseExport(id) // where it was used nobody knows
	require.Equal(t, 1, f.alive())
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())
	require.Equal(t, [2]bool{false, true}, f.retained)
}
