package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

func view(device dlpack.Device, address uint64, extents ...int64) *dlpack.View {
	strides, size := make([]int64, len(extents)), int64(1)
	for i := len(extents) - 1; i >= 0; i-- {
		strides[i] = size
		size *= extents[i]
	}
	return &dlpack.View{Address: address, Type: dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}, Device: device,
		Shape: extents, Strides: strides, Size: size, C: true, Low: address, High: address + 4*uint64(size)}
}

func handleArg(h handles.Handle) exec.Arg { return exec.Arg{Kind: exec.ArgHandle, Value: uint64(h)} }

// A tensor is let go once, when the last launch with it is done and not before.
func TestTensorsAreLetGoAfterTheirLaunches(t *testing.T) {
	cuda0, pinned := dlpack.Device{Type: dlpack.CUDA}, dlpack.Device{Type: dlpack.CUDAHost}
	for _, c := range []struct {
		name    string
		device  dlpack.Device
		streams []uint64
		waits   bool // for a later call
		fenced  bool // which need not be one that synchronizes the device
	}{
		{"never launched", cuda0, nil, false, false},
		{"legacy stream", cuda0, []uint64{0}, true, true},
		{"foreign stream", cuda0, []uint64{0x7000}, true, false},
		{"two streams", cuda0, []uint64{0, 1}, true, false},
		{"pinned memory, whose device nobody knows", pinned, []uint64{0}, true, false},
	} {
		for _, retired := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				e, f := newEngine(t)
				k := getKernel(t, e, "saxpy")
				h, err := e.ImportTensor(view(c.device, 0x1000, 8), 77)
				require.NoError(t, err)
				for _, stream := range c.streams {
					cfg := config()
					cfg.Stream = stream
					require.NoError(t, run(e, k, cfg, float(1), handleArg(h), exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
				}
				f.events = driver.ResultNotReady
				if retired {
					require.NoError(t, e.Retire(h))
				} else {
					require.NoError(t, e.Close(h, handles.Tensor))
				}
				refused(t, e.Close(h, handles.Tensor), status.Handle, "closed already")
				require.Equal(t, !c.waits, len(f.gone) == 1)
				require.NoError(t, e.SynchronizeStream(0))
				require.Equal(t, !c.waits, len(f.gone) == 1)
				f.events = driver.ResultSuccess
				require.NoError(t, e.SynchronizeStream(0))
				require.Equal(t, !c.waits || c.fenced, len(f.gone) == 1)
				require.NoError(t, e.Drain())
				require.NoError(t, e.Drain())
				require.Equal(t, []uint64{77}, f.gone)
				require.Contains(t, e.Report(), `"pending":0`)
			})
		}
	}
}

// Pinned memory may be in use by every device that was launched on.
func TestPinnedTensorsWaitForEveryDevice(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	other, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA, ID: 1}, 0x2000, 8), 1)
	require.NoError(t, err)
	h, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDAManaged}, 0x1000, 8), 2)
	require.NoError(t, err)
	require.NoError(t, run(e, k, config(), float(1), handleArg(h), exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
	require.NoError(t, run(e, k, config(), float(1), handleArg(h), handleArg(other), exec.Arg{Kind: exec.ArgInt}))
	require.NoError(t, e.Close(h, handles.Tensor))
	require.NoError(t, e.Synchronize(0))
	require.Empty(t, f.gone)
	require.NoError(t, e.Synchronize(1))
	require.Equal(t, []uint64{2}, f.gone)
}

// In a poisoned context nothing runs any more, so nothing is waited for.
func TestTensorsOfAPoisonedContext(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	var held []handles.Handle
	for taken := range uint64(2) {
		h, err := e.ImportTensor(view(dlpack.Device{Type: dlpack.CUDA}, 0x1000, 8), 1+taken)
		require.NoError(t, err)
		cfg := config()
		cfg.Stream = 0x7000
		require.NoError(t, run(e, k, cfg, float(1), handleArg(h), exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
		held = append(held, h)
	}
	require.NoError(t, e.Close(held[0], handles.Tensor))
	require.Empty(t, f.gone)
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	f.syncs = driver.ResultIllegalAddress
	refused(t, e.Synchronize(0), status.Fault)
	require.Equal(t, []uint64{1}, f.gone)
	require.NoError(t, e.Close(held[1], handles.Tensor))
	require.ElementsMatch(t, []uint64{1, 2}, f.gone)
}

func TestImportedHostTensorsAreStaged(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	data := make([]float32, 8)
	cpu := dlpack.Device{Type: dlpack.CPU}
	x, err := e.ImportTensor(view(cpu, addressOf(data), 8), 1)
	require.NoError(t, err)
	empty, err := e.ImportTensor(view(cpu, 0, 0), 2)
	require.NoError(t, err)
	require.NoError(t, run(e, k, config(), float(1), handleArg(x), handleArg(x)))
	require.NoError(t, run(e, k, config(), float(1), handleArg(empty), handleArg(empty)))
	require.Zero(t, f.alive(), "no copy is left")
	readOnly := view(cpu, addressOf(data), 8)
	readOnly.Flags = dlpack.ReadOnly
	r, err := e.ImportTensor(readOnly, 3)
	require.NoError(t, err)
	require.NoError(t, run(e, k, config(), float(1), handleArg(r), handleArg(x)))
	refused(t, run(e, k, config(), float(1), handleArg(x), handleArg(r)), status.Tensor, "argument 2 (y)", "read-only")
	for _, h := range []handles.Handle{x, empty, r} {
		require.NoError(t, e.Close(h, handles.Tensor))
	}
	require.Equal(t, []uint64{1, 2, 3}, f.gone)
	refused(t, run(e, k, config(), float(1), handleArg(x), handleArg(x)), status.Handle, "argument", "closed already")
}

func TestEvents(t *testing.T) {
	e, f := newEngine(t)
	_, err := e.CreateEvent(0, 4)
	refused(t, err, status.Argument, "flags 0x4")
	_, err = e.CreateEvent(2, 0)
	refused(t, err, status.Argument, "device 2 does not exist")
	start, err := e.CreateEvent(0, launch.EventBlocking)
	require.NoError(t, err)
	end, err := e.CreateEvent(1, 0)
	require.NoError(t, err)
	timeless, err := e.CreateEvent(0, launch.EventNoTiming)
	require.NoError(t, err)
	s, err := e.CreateStream(1, 0)
	require.NoError(t, err)

	_, err = e.Elapsed(start, end)
	refused(t, err, status.Argument, "start was never recorded")
	refused(t, e.RecordEvent(start, uint64(s)), status.Argument, "the stream is of device 1, the event of device 0")
	require.NoError(t, e.WaitEvent(start, uint64(s)))
	require.NoError(t, e.RecordEvent(start, 0))
	require.NoError(t, e.RecordEvent(end, uint64(s)))
	require.NoError(t, e.RecordEvent(timeless, 0))
	_, err = e.Elapsed(start, end)
	refused(t, err, status.Argument, "start is of device 0, end of device 1")
	_, err = e.Elapsed(start, timeless)
	refused(t, err, status.Argument, "end was created with DLAUNCH_EVENT_NO_TIMING")
	ms, err := e.Elapsed(start, start)
	require.NoError(t, err)
	require.EqualValues(t, 1.5, ms)

	require.NoError(t, e.SynchronizeEvent(start))
	done, err := e.QueryEvent(start)
	require.NoError(t, err)
	require.True(t, done)
	f.events = driver.ResultNotReady
	done, err = e.QueryEvent(start)
	require.NoError(t, err)
	require.False(t, done)
	_, err = e.Elapsed(start, start)
	require.EqualValues(t, 600, refused(t, err, status.Driver, "synchronize with both events").Driver)

	require.NoError(t, e.Close(s, handles.Stream))
	refused(t, e.RecordEvent(end, uint64(s)), status.Handle, "closed already")
	for _, h := range []handles.Handle{start, end, timeless} {
		require.NoError(t, e.Close(h, handles.Event))
		refused(t, e.WaitEvent(h, 0), status.Handle, "closed already")
	}
	require.Empty(t, liveHandles(t, e))
}
