package launch

import (
	"math"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// How the executor's numbers are read.

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

func dtypeOf(packed int64) dlpack.DataType {
	return dlpack.DataType{Code: uint8(packed), Bits: uint8(packed >> 8), Lanes: uint16(packed >> 16)}
}

func handleOf(f exec.Fault) handles.Handle { return handles.Handle(f.Found) }

// handleKinds is what a stale handle was to be; an argument may be of two kinds.
var handleKinds = map[exec.Reason]handles.Kind{
	exec.StaleKernel: handles.Kernel, exec.StaleStream: handles.Stream, exec.StaleArgument: handles.Any,
}
