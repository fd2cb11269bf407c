package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
)

// What CheckPointers finds of one tensor f32[count]; memory is what the driver knows.
func TestCheckPointers(t *testing.T) {
	const start, size = 0x10000, 400
	const pinned, managed = 3, 13 // kDLCUDAHost, kDLCUDAManaged
	one := exectest.Memory{Start: start, Size: size, Type: 2}
	others := exectest.Memory{Start: start, Size: size, Type: 2, Device: 1}
	othersManaged := exectest.Memory{Start: start, Size: size, Type: 2, Device: 1, Managed: true}
	locked := exectest.Memory{Start: start, Size: size, Type: 1}
	mapped := exectest.Memory{Start: start, Size: size, Type: 2, Mapped: true, Hole: start + 200} // of which the second half is not
	type memories = []exectest.Memory
	past := func(bytes int64) exec.Fault {
		return exec.Fault{Reason: exec.PointerRange, Axis: 1, Found: bytes, Wanted: size}
	}
	for name, c := range map[string]struct {
		address    uint64
		count      int64
		stride     int64
		deviceType int32
		peer       bool
		memory     memories
		fault      exec.Fault
	}{
		"all of it":              {address: start, count: 100, memory: memories{one}},
		"its end":                {address: start + 396, count: 1, memory: memories{one}},
		"one more":               {address: start + 4, count: 100, memory: memories{one}, fault: past(4)},
		"two steps at a time":    {address: start, count: 100, stride: 2, memory: memories{one}, fault: past(396)},
		"backwards":              {address: start + 396, count: 100, stride: -1, memory: memories{one}},
		"backwards, one more":    {address: start + 392, count: 100, stride: -1, memory: memories{one}, fault: exec.Fault{Reason: exec.PointerRange, Found: 4, Wanted: size}},
		"no elements":            {address: 0x8, memory: memories{one}},
		"no elements, no memory": {},
		"a neighbour":            {address: start, count: 101, memory: memories{one, {Start: start + size, Size: size, Type: 2}}, fault: past(4)},
		"mapped":                 {address: start, count: 50, memory: memories{mapped}},
		"mapped, one more":       {address: start, count: 51, memory: memories{mapped}, fault: exec.Fault{Reason: exec.PointerGone, Found: start + 203}},
		"mapped, backwards":      {address: start, count: 2, stride: -1, memory: memories{mapped}, fault: exec.Fault{Reason: exec.PointerRange, Found: 4, Wanted: size}},
		"mapped, past the range": {address: start + 196, count: 52, memory: memories{mapped}, fault: past(4)},
		"freed":                  {address: start, count: 1, fault: exec.Fault{Reason: exec.PointerGone, Found: start}},
		"the host's":             {address: start, count: 1, memory: memories{locked}, fault: exec.Fault{Reason: exec.PointerMemory, Found: 1, Wanted: 2}},
		"page-locked":            {address: start, count: 1, deviceType: pinned, memory: memories{locked}},
		"page-locked, not":       {address: start, count: 1, deviceType: pinned, memory: memories{one}, fault: exec.Fault{Reason: exec.PointerMemory, Found: 2, Wanted: 1}},
		"another device's":       {address: start, count: 1, memory: memories{others}, fault: exec.Fault{Reason: exec.PointerDevice, Found: 1}},
		"another's, as a peer":   {address: start, count: 1, peer: true, memory: memories{others}},
		"managed, of any":        {address: start, count: 1, memory: memories{othersManaged}},
		"managed, and says so":   {address: start, count: 1, deviceType: managed, memory: memories{othersManaged}},
	} {
		t.Run(name, func(t *testing.T) {
			step := exec.Step{Op: exec.OpTensor, Rank: 1, Flags: exec.Strided, Size: 8, DType: f32, DTypeMask: 1<<32 - 1}
			if c.peer {
				step.Flags |= exec.Peer
			}
			h := publish(t, exec.Program{Params: make([]byte, 8), Steps: []exec.Step{step}, Dims: []exec.Dim{{Size: exec.AnyExtent}}})
			stride := c.stride
			if stride == 0 {
				stride = 1
			}
			x, arg := newTensor(t, c.address, f32, []int64{c.count}, []int64{stride})
			if c.deviceType != 0 {
				x.deviceType = c.deviceType
			}
			exectest.Know(c.memory...)
			checked := config()
			checked.Flags = exec.CheckPointers
			got := exec.LaunchAgain(h, checked, []exec.Arg{arg}, nil, false)
			require.Equal(t, c.fault.Reason, got.Reason)
			require.Equal(t, exec.OK, launch(h, arg).Reason, "unasked, the driver is not asked")
			if c.fault.Reason != exec.OK {
				require.Equal(t, []int64{int64(c.fault.Axis), c.fault.Found, c.fault.Wanted}, []int64{int64(max(got.Axis, 0)), got.Found, got.Wanted})
				require.Zero(t, got.Argument)
			}
		})
	}
}

// The short way does not pass by the check, and a driver that gives no answer is named.
func TestCheckPointersOfPlainTensors(t *testing.T) {
	step := exec.Step{Op: exec.OpTensor, Rank: 1, Flags: exec.Plain, Size: 8, DType: f32, DTypeMask: 1<<32 - 1, Align: 4}
	h := publish(t, exec.Program{Params: make([]byte, 8), Steps: []exec.Step{step}, Dims: []exec.Dim{{Size: exec.AnyExtent}}})
	_, arg := newTensor(t, 0x10000, f32, []int64{4}, nil)
	exectest.Know()
	checked := config()
	checked.Flags = exec.CheckPointers
	require.Equal(t, exec.PointerGone, exec.LaunchAgain(h, checked, []exec.Arg{arg}, nil, false).Reason)
	exectest.AnswerLookUps(201)
	defer exectest.AnswerLookUps(0)
	fault := exec.LaunchAgain(h, checked, []exec.Arg{arg}, nil, false)
	require.Equal(t, exec.PointerUnknown, fault.Reason)
	require.EqualValues(t, 201, fault.DriverCode)
}

func TestUnknownArgumentFlags(t *testing.T) {
	step := exec.Step{Op: exec.OpScalar, Format: exec.FormatSigned, Size: 4}
	h := publish(t, exec.Program{Params: make([]byte, 4), Steps: []exec.Step{step}})
	fault := launch(h, exec.Arg{Kind: exec.ArgInt, Flags: 8 | exec.ArgIn, Value: 1})
	require.Equal(t, exec.ArgumentFlags, fault.Reason)
	require.EqualValues(t, 8, fault.Found)
}
