package sim

import (
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

// A stream that is captured runs nothing; what was captured runs each time that it
// is launched, with the parameters of then.
func TestGraphs(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	x, y := host[float32](t, "x", false, 1, 2, 3), host[float32](t, "y", true, 10, 20, 30)
	stream, _ := r.api.StreamCreate(0, 0)
	require.Zero(t, r.api.StreamBeginCapture(stream, 2))
	capturing, _ := r.api.StreamCapturing(stream)
	require.True(t, capturing)
	into, result := r.api.StreamCaptureGraph(stream)
	require.Zero(t, result)

	r.stream = stream
	require.Nil(t, r.launch("saxpy", x1(1), x1(4), 0, float32(2), x, y, 3))
	require.NotNil(t, r.launch("saxpy", x1(1), x1(2048), 0, float32(2), x, y, 3), "checked when it is captured")
	require.Equal(t, []float32{10, 20, 30}, y.data)

	memory, result := r.api.MemAllocAsync(64, stream)
	require.Zero(t, result)
	require.Zero(t, r.api.MemFreeAsync(memory, stream))
	ended := 0
	object, _ := r.api.UserObjectCreate(7, purego.NewCallback(func(data uintptr) uintptr { ended += int(data); return 0 }))
	require.Zero(t, r.api.GraphRetainUserObject(into, object))
	captured, result := r.api.StreamEndCapture(stream)
	require.Zero(t, result)
	require.Equal(t, into, captured)
	exec, result := r.api.GraphInstantiate(captured)
	require.Zero(t, result)
	require.Zero(t, r.api.GraphDestroy(captured))

	for range 2 {
		require.Zero(t, r.api.GraphLaunch(exec, 0))
	}
	require.Equal(t, []float32{14, 28, 42}, y.data)
	_, _, there := r.s.Allocation(uint64(memory))
	require.True(t, there)
	require.Zero(t, ended)
	require.Zero(t, r.api.GraphExecDestroy(exec))
	_, _, there = r.s.Allocation(uint64(memory))
	require.False(t, there)
	require.Equal(t, 7, ended)

	for name, wrong := range map[string]driver.Result{
		"destroyed twice": r.api.GraphExecDestroy(exec), "launched": r.api.GraphLaunch(exec, 0), "no capture": second(r.api.StreamEndCapture(stream)),
		"of nothing": second(r.api.GraphInstantiate(captured)), "legacy stream": r.api.StreamBeginCapture(1, 2), "mode": r.api.StreamBeginCapture(stream, 3),
		"object": r.api.UserObjectRelease(object), "retained": r.api.GraphRetainUserObject(captured, object),
	} {
		require.Equal(t, driver.ResultInvalidValue, wrong, name)
	}
	require.Equal(t, driver.ResultInvalidHandle, r.api.StreamBeginCapture(0x999, 2))
	object, _ = r.api.UserObjectCreate(1, purego.NewCallback(func(data uintptr) uintptr { ended += int(data); return 0 }))
	require.Zero(t, r.api.UserObjectRelease(object))
	require.Equal(t, 8, ended)
}

// A fault ends a graph's launch, and is told.
func TestGraphFaults(t *testing.T) {
	r := newRig(t, corpusFile(t, "saxpy"))
	x, y, z := host[float32](t, "x", false, 1, 2, 3), host[float32](t, "y", true, 10, 20, 30), host[float32](t, "z", true, 4, 5, 6)
	stream, _ := r.api.StreamCreate(0, 0)
	require.Zero(t, r.api.StreamBeginCapture(stream, 2))
	r.stream = stream
	require.Nil(t, r.launch("saxpy", x1(1), x1(4), 0, float32(2), x, y, 4), "past the end")
	require.Nil(t, r.launch("saxpy", x1(1), x1(4), 0, float32(2), x, z, 3))
	captured, _ := r.api.StreamEndCapture(stream)
	exec, _ := r.api.GraphInstantiate(captured)
	fault := r.s.LaunchGraph(exec, 0)
	require.NotNil(t, fault)
	require.Contains(t, fault.Message, "saxpy")
	require.Equal(t, fault.Result, r.api.GraphLaunch(exec, 0))
	require.Equal(t, []float32{4, 5, 6}, z.data, "what follows does not run")
}

func second[T any](_ T, r driver.Result) driver.Result { return r }
