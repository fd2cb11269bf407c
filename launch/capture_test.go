package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/launch"
)

// What dlaunch does by itself ends no capture, of this or another thread.
func TestCapturesElsewhereGoOn(t *testing.T) {
	e, f := newEngine(t)
	f32 := dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}
	k, host := getKernel(t, e, saxpyPrototype), make([]float32, 4)
	untyped := getKernel(t, e, "saxpy")
	launchOn := func(a handles.Handle) error {
		return run(e, untyped, config(), float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt})
	}
	closed, err := e.CreateArray(0, f32, []int64{4})
	require.NoError(t, err)
	require.NoError(t, launchOn(closed))
	f.events = driver.ResultNotReady
	require.NoError(t, e.Close(closed, handles.Array))
	f.events = driver.ResultSuccess

	f.elsewhere = true
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"an array, while a closed one waits", func() error {
			a, err := e.CreateArray(0, f32, []int64{4})
			if err == nil {
				err = e.Copy(a, uintptr(addressOf(host)), 16, 0, true)
			}
			if err == nil {
				err = launchOn(a)
			}
			if err == nil {
				err = e.Close(a, handles.Array)
			}
			return err
		}},
		{"host tensors", func() error {
			return run(e, k, config(), float(2), tensorArg(t, host, cpuDevice, []int64{4}, nil), tensorArg(t, host, cpuDevice, []int64{4}, nil))
		}},
		{"a library", func() error { return e.Close(load(t, e), handles.Library) }},
		{"an image that does not load", func() error {
			f.loads = driver.ResultInvalidPTX
			_, err := e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
			require.Error(t, err)
			f.loads = driver.ResultSuccess
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.lost = false
			require.NoError(t, c.do())
			require.False(t, f.lost)
		})
	}
	require.Zero(t, f.alive())
}
