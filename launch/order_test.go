package launch_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// launchOn launches a kernel without a prototype with an array.
func launchOn(t *testing.T, e *launch.Engine, k, a handles.Handle, stream uint64) {
	t.Helper()
	cfg := config()
	cfg.Stream = stream
	require.NoError(t, run(e, k, cfg, float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
}

// A consumer's stream is ordered behind the launches: by events where their streams
// surely exist, by waiting for the device where nobody can tell.
func TestAStreamWaitsForAnArray(t *testing.T) {
	const foreign, open, second, closed = 0x7000, 1 << 50, 1 << 51, 1 << 52 // the last three: dlaunch_streams
	for _, c := range []struct {
		name     string
		launched []uint64
		consumer uint64
		does     []string
	}{
		{"never launched", nil, 0, nil},
		{"the same", []uint64{0, 0}, 0, nil},
		{"legacy by both numbers", []uint64{0, 1}, 1, nil},
		{"the same foreign one", []uint64{foreign}, foreign, nil},
		{"the same dlaunch_stream", []uint64{open}, open, nil},
		{"a dlaunch_stream by its native number", []uint64{open}, 0x5000, nil},
		{"a native number of a dlaunch_stream", []uint64{0x5000}, open, nil},
		{"legacy, for a foreign one", []uint64{0}, foreign, []string{"record on 0x0", "wait on 0x7000"}},
		{"legacy, for the per-thread one", []uint64{1}, 2, []string{"record on 0x1", "wait on 0x2"}},
		{"a dlaunch_stream, for legacy", []uint64{open}, 0, []string{"record on 0x5000", "wait on 0x0"}},
		{"two, for a third", []uint64{open, second}, 1, []string{"record on 0x5000", "wait on 0x1", "record on 0x5001", "wait on 0x1"}},
		{"two, for one of them", []uint64{open, second, open}, second, []string{"record on 0x5000", "wait on 0x5001"}},
		{"four", []uint64{0, 1, open, second}, foreign, []string{"record on 0x0", "wait on 0x7000", "record on 0x1", "wait on 0x7000",
			"record on 0x5000", "wait on 0x7000", "record on 0x5001", "wait on 0x7000"}},
		{"more than are remembered", []uint64{0, 1, open, second, foreign}, foreign, []string{"synchronize context 100"}},
		{"a foreign one", []uint64{foreign}, 0, []string{"synchronize context 100"}},
		{"a foreign one too", []uint64{0, foreign}, 1, []string{"synchronize context 100"}},
		{"the per-thread one", []uint64{2}, 2, []string{"synchronize context 100"}},
		{"a closed one", []uint64{closed}, 0, []string{"synchronize context 100"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			streams := map[uint64]uint64{}
			for _, s := range []uint64{open, second, closed} {
				h, err := e.CreateStream(0, 0)
				require.NoError(t, err)
				streams[s] = uint64(h)
			}
			actual := func(s uint64) uint64 {
				if h, ours := streams[s]; ours {
					return h
				}
				return s
			}
			k := getKernel(t, e, "saxpy")
			a, err := e.CreateArray(0, float32s, []int64{8})
			require.NoError(t, err)
			for _, s := range c.launched {
				launchOn(t, e, k, a, actual(s))
			}
			require.NoError(t, e.Close(handles.Handle(streams[closed]), handles.Stream))
			f.ordered = nil
			require.NoError(t, e.WaitForArray(a, actual(c.consumer)))
			require.Equal(t, c.does, f.ordered)

			f.captured = driver.Stream(actual(c.consumer)) // the same while the consumer is captured
			if f.captured >= 1<<48 {
				native, err := e.NativeStream(handles.Handle(f.captured))
				require.NoError(t, err)
				f.captured = driver.Stream(native)
			}
			f.capturing, f.ordered = f.captured == 0, nil
			err = e.WaitForArray(a, actual(c.consumer))
			if c.does == nil {
				require.NoError(t, err)
			} else {
				require.EqualValues(t, 900, refused(t, err, status.Driver, "before the capture begins").Driver)
			}
			require.Empty(t, f.ordered)
			require.False(t, f.lost)
		})
	}
}

// Launches that are part of a capture are waited for by nothing outside of it.
func TestALaunchInACaptureIsNotWaitedFor(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	s, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	a, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	launchOn(t, e, k, a, uint64(s))
	f.captured, f.ordered = 0x5000, nil
	refused(t, e.WaitForArray(a, 0), status.Driver, "captured")
	require.Empty(t, f.ordered)
}

func TestAViewIsItsArraysMemory(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	a, err := e.CreateArray(1, float32s, []int64{4, 4})
	require.NoError(t, err)
	row, err := e.ViewArray(a, float32s, []int64{4}, nil, 16)
	require.NoError(t, err)
	column, err := e.ViewArray(row, float32s, []int64{2}, []int64{-4}, 4) // upwards from the second row
	require.NoError(t, err)
	require.NoError(t, e.ArrayTensor(column, func(address uint64) error {
		v, err := dlpack.Read(uintptr(address))
		require.Equal(t, []int64{-4}, v.Strides)
		require.Equal(t, dlpack.Device{Type: dlpack.CUDA, ID: 1}, v.Device)
		return err
	}))
	host := make([]float32, 4)
	refused(t, e.Copy(column, uintptr(unsafe.Pointer(&host[0])), 8, 0, false), status.Argument, "not C-contiguous")
	require.NoError(t, e.Close(a, handles.Array))
	require.NoError(t, e.Copy(row, uintptr(unsafe.Pointer(&host[0])), 16, 0, true))
	launchOn(t, e, k, row, 0)
	f.ordered = nil
	require.NoError(t, e.WaitForArray(column, 0x7000), "the memory is in use, whatever view of it was launched")
	require.Equal(t, []string{"record on 0x0", "wait on 0x7000"}, f.ordered)
	f.events = driver.ResultNotReady
	require.NoError(t, e.Close(row, handles.Array))
	require.NoError(t, e.Close(column, handles.Array))
	require.Equal(t, 1, f.alive(), "the launch with the view is not done")
	f.events = driver.ResultSuccess
	require.NoError(t, e.Drain())
	require.Zero(t, f.alive())
}

// A view that was exported is in other hands, and so is the memory.
func TestAnExportedViewIsElsewhere(t *testing.T) {
	e, f := newEngine(t)
	a, err := e.CreateArray(0, float32s, []int64{4})
	require.NoError(t, err)
	v, err := e.ViewArray(a, float32s, []int64{2}, nil, 8)
	require.NoError(t, err)
	id, _, err := e.ExportArray(v)
	require.NoError(t, err)
	require.NoError(t, e.Close(v, handles.Array))
	require.NoError(t, e.Close(a, handles.Array))
	e.ReleaseExport(id)
	require.Equal(t, 1, f.alive())
	require.NoError(t, e.Synchronize(0))
	require.Zero(t, f.alive())
}

// A kernel of another device is waited for there too.
func TestAStreamWaitsForPeers(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n] @peer, y: ptr, n: i32 = n)")
	a, err := e.CreateArray(1, float32s, []int64{8})
	require.NoError(t, err)
	require.NoError(t, run(e, k, config(), float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}))
	f.ordered = nil
	require.NoError(t, e.WaitForArray(a, 0))
	require.Equal(t, []string{"synchronize context 100", "synchronize context 101"}, f.ordered)
}

func TestWaitingThatFails(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	a, err := e.CreateArray(0, float32s, []int64{8})
	require.NoError(t, err)
	refused(t, e.WaitForArray(a, 1<<50), status.Handle)
	launchOn(t, e, k, a, 0)
	f.waits = driver.ResultInvalidHandle
	refused(t, e.WaitForArray(a, 0x7000), status.Driver, "cuStreamWaitEvent")
	require.NoError(t, e.Close(a, handles.Array))
	refused(t, e.WaitForArray(a, 0), status.Handle, "closed already")
}
