package launch

import (
	"math"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/launch/prototype"
)

// How the executor's numbers are read.

// What both sides of a limit must agree on; an index out of range does not compile.
var (
	_ = [1]struct{}{}[dlpack.MaxRank-exec.MaxRank]
	_ = [1]struct{}{}[prototype.MaxParamBytes-exec.MaxParams]
)

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

func dtypeOf(packed int64) dlpack.DataType { return dlpack.Unpack(uint32(packed)) }

func handleOf(f exec.Fault) handles.Handle { return handles.Handle(f.Found) }

// handleKinds is what a stale handle was to be; an argument may be of two kinds.
var handleKinds = map[exec.Reason]handles.Kind{
	exec.StaleKernel: handles.Kernel, exec.StaleStream: handles.Stream, exec.StaleArgument: handles.Any,
}
