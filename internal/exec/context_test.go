package exec_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

// The default streams are the current context's, where that is of the device; else
// the device's primary one is current for the launch alone. What is launched in a
// context that is not a primary one has no stream that could be asked later.
func TestDefaultStreamsAreTheCurrentContexts(t *testing.T) {
	plain := exec.Driver{Launch: exectest.Record(), DeviceType: cuda, Devices: 2}
	with := plain
	with.CtxGetCurrent, with.CtxSetCurrent, with.CtxGetDevice = exectest.Contexts()
	exec.SetDriver(with)
	exec.SetContext(0, 100)
	exec.SetContext(1, 101)
	t.Cleanup(func() {
		exectest.Enter(0)
		exec.SetDriver(plain)
	})
	program := exec.Program{
		Params: make([]byte, 8),
		Steps:  []exec.Step{{Op: exec.OpUntyped, Format: exec.FormatAddress, Flags: exec.OpenRank | exec.Strided, Size: 8}},
	}
	for _, c := range []struct {
		name    string
		current uintptr
		stream  uint64
		in      uintptr
		asked   bool
	}{
		{name: "none", current: 0, in: 100, asked: true},
		{name: "the primary one", current: 100, stream: 1, in: 100, asked: true},
		{name: "another device's", current: 101, in: 100, asked: true},
		{name: "another of the device", current: 200, in: 200},
		{name: "another of the device, per thread", current: 200, stream: 2, in: 200},
		{name: "a stream of its own", current: 200, stream: 0x7000, in: 200, asked: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := publish(t, program)
			data := make([]float32, 4)
			array, err := exec.NewTensor(uint64(uintptr(unsafe.Pointer(&data[0]))), cuda, 0, f32, []int64{4}, nil)
			require.NoError(t, err)
			h := handle(arrayKind)
			require.NoError(t, array.Publish(h))
			t.Cleanup(func() { exec.Unpublish(h) })
			exectest.Enter(c.current)
			cfg := config()
			cfg.Stream = c.stream
			require.Equal(t, exec.OK, exec.LaunchAgain(k, cfg, []exec.Arg{{Kind: exec.ArgHandle, Value: h}}, nil, false).Reason)
			current, in := exectest.Entered()
			require.Equal(t, c.current, current)
			require.Equal(t, c.in, in)
			require.Equal(t, !c.asked, array.Use().More)
		})
	}
}

// Where launches are logged, the first attempt is Go's to make again.
func TestTracingLeavesTheFastPath(t *testing.T) {
	exec.SetAttention(exec.Tracing | exec.Unloading)
	t.Cleanup(func() { exec.ClearAttention(exec.Tracing | exec.Unloading) })
	k := publish(t, exec.Program{})
	fault := launch(k)
	require.Equal(t, exec.Attention, fault.Reason, "an unload still keeps it away")
	exec.ClearAttention(exec.Unloading)
	before := exectest.Launches()
	require.Equal(t, exec.OK, launch(k).Reason)
	require.Equal(t, before+1, exectest.Launches())
}
