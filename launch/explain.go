package launch

import (
	"errors"
	"fmt"
	"strings"

	"dlaunch/dlpack"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// blame says which of the caller's arguments an error is about.
func (c *call) blame(err error, index int) error {
	if se, ok := err.(*status.Error); ok {
		se.Message = fmt.Sprintf("kernel %q, argument %d%s: %s", c.kernel.name, index, c.argumentName(index), se.Message)
		return se.At(index)
	}
	return err
}

// argumentName gives " (y)" where a name is known.
func (c *call) argumentName(index int) string {
	if index < 0 || index >= len(c.kernel.arguments) {
		return ""
	}
	if name := c.parameter(index).Name; name != "" {
		return " (" + name + ")"
	}
	return ""
}

// tellHalfWritten adds to what copying back met what it did to the host's arrays.
func (c *call) tellHalfWritten(err error, begun []*hostTensor) error {
	var said *status.Error
	if !errors.As(err, &said) {
		return err
	}
	told := "the arrays are as they were"
	if len(begun) > 0 {
		var names []string
		for _, t := range begun {
			names = append(names, fmt.Sprintf("%d%s", t.index, c.argumentName(t.index)))
		}
		what := "argument "
		if len(names) > 1 {
			what = "arguments "
		}
		told = what + strings.Join(names, ", ") + " may be half written"
	}
	more := *said // which may be what the context is poisoned by
	more.Message += "; " + told
	return &more
}

// parameter gives what argument index is declared as.
func (c *call) parameter(index int) *Parameter {
	return &c.kernel.parameters[c.kernel.arguments[index]]
}

// explain words what the executor refused.
func (c *call) explain(f exec.Fault) error {
	switch f.Reason {
	case exec.StaleKernel, exec.StaleArgument, exec.StaleStream:
		return c.explainStale(f)
	case exec.BadConfig, exec.ConfigBits, exec.Grid, exec.Block, exec.Shared, exec.Cluster, exec.Attributes, exec.StreamDevice:
		return c.explainConfig(f)
	case exec.Count, exec.NoArguments, exec.DerivedRange, exec.DerivedOverflow, exec.DerivedMultiple, exec.Unbound:
		return c.explainList(f)
	}
	code, text := c.explainArgument(f)
	err := status.Errorf(code, "kernel %q, argument %d%s: %s", c.kernel.name, f.Argument, c.argumentName(int(f.Argument)), text)
	return err.At(int(f.Argument))
}

func (c *call) explainStale(f exec.Fault) error {
	kind := handleKinds[f.Reason]
	_, err := c.engine.table.Get(handleOf(f), kind)
	if err == nil { // of another kind than an argument may be
		err = status.Errorf(status.Handle, "handle %d is no array or tensor", f.Found)
	}
	se := err.(*status.Error)
	if f.Argument >= 0 {
		return c.blame(se, int(f.Argument))
	}
	se.Argument = f.Argument
	return se
}

var axisNames = [...]string{"x", "y", "z"}

// situation says how the kernel was launched, where the driver gave no reason.
func (c *call) situation(device int) string {
	g, b := c.config.Grid, c.config.Block
	return fmt.Sprintf("; grid (%d, %d, %d), block (%d, %d, %d), %d bytes of dynamic shared memory, %d attributes, device %d",
		g[0], g[1], g[2], b[0], b[1], b[2], c.config.SharedBytes, c.config.NumAttributes, device)
}

func (c *call) explainConfig(f exec.Fault) error {
	name := c.kernel.name
	say := func(format string, args ...any) error {
		return status.Errorf(status.Config, "kernel %q: %s", name, fmt.Sprintf(format, args...))
	}
	switch f.Reason {
	case exec.BadConfig:
		if f.Found < 0 {
			return status.Errorf(status.Argument, "config is NULL; begin with DLAUNCH_CONFIG_INIT, and set grid and block")
		}
		return status.Errorf(status.Argument, "config.struct_size is %d; sizeof(dlaunch_config), %d or more, is wanted", f.Found, f.Wanted)
	case exec.ConfigBits:
		return say("config.flags has unknown bits (%#x), or config.reserved is not 0; DLAUNCH_COOPERATIVE, DLAUNCH_ZERO_GRID_OK and DLAUNCH_CHECK_POINTERS are known", f.Found)
	case exec.Grid:
		if f.Found == 0 {
			return say("grid.x is 0; at least one block is wanted (or DLAUNCH_ZERO_GRID_OK, for a launch that does nothing)")
		}
		return say("grid.%s is %d; the device allows %d", axisNames[f.Axis], f.Found, f.Wanted)
	case exec.Block:
		if f.Found == 0 {
			return say("block.x is 0; at least one thread is wanted")
		}
		if f.Axis < 0 {
			return say("a block of %d threads; this kernel on this device allows %d", f.Found, f.Wanted)
		}
		return say("block.%s is %d; the device allows %d", axisNames[f.Axis], f.Found, f.Wanted)
	case exec.Cluster:
		if f.Wanted == 0 {
			return say("cluster.x is 0, but another of its extents is not; 0 in x means no cluster")
		}
		return say("grid.%s is %d, which is no multiple of the cluster's %d", axisNames[f.Axis], f.Found, f.Wanted)
	case exec.Attributes:
		if f.Wanted == 0 {
			return say("num_attributes is %d, but attributes is NULL", f.Found)
		}
		return say("%d launch attributes; at most %d are supported", f.Found, f.Wanted)
	case exec.StreamDevice:
		return status.Errorf(status.Tensor, "kernel %q: the stream is of device %d, the tensors are on device %d", name, f.Found, f.Wanted)
	}
	return say("%d bytes of dynamic shared memory; %d are allowed", f.Found, f.Wanted)
}

func (c *call) explainList(f exec.Fault) error {
	k := c.kernel
	switch f.Reason {
	case exec.Count:
		return status.Errorf(status.Argument, "kernel %q takes %d arguments, %d given: %s", k.name, f.Wanted, f.Found, c.listArguments())
	case exec.NoArguments:
		return status.Errorf(status.Argument, "kernel %q: args is NULL with num_args %d", k.name, f.Found)
	}
	p := k.proto.Params[k.derived[f.Axis]]
	text := ""
	switch f.Reason {
	case exec.DerivedRange:
		text = fmt.Sprintf("is %d, which %s cannot hold", f.Found, p.Type())
	case exec.DerivedOverflow:
		text = "needs more than 64 bits"
	case exec.DerivedMultiple:
		text = fmt.Sprintf("is %d, which is no multiple of %d (@multiple)", f.Found, f.Wanted)
	case exec.Unbound:
		text = fmt.Sprintf("needs the size %s, which no tensor of this launch gives: all that have it are null", k.sizes[f.Found])
	}
	return status.Errorf(status.Argument, "kernel %q: parameter %s = %s %s", k.name, p.Name, p.Fill, text)
}

func (c *call) listArguments() string {
	text := ""
	for i := range c.kernel.arguments {
		p := c.parameter(i)
		if i > 0 {
			text += ", "
		}
		if p.Name != "" {
			text += p.Name + ": "
		}
		text += modeWord(p)
		if p.Type == "" {
			text += fmt.Sprintf("%d bytes", p.Size)
		}
		text += p.Type
	}
	return "(" + text + ")"
}

// modeWord is what stands before the type of what a kernel writes.
func modeWord(p *Parameter) string {
	switch p.Mode {
	case exec.ArgOut:
		return "out "
	case exec.ArgIn | exec.ArgOut:
		return "inout "
	}
	return ""
}

// kindNames names what dlaunch_arg.kind says.
var kindNames = map[int64]string{
	exec.ArgNone: "a null", exec.ArgTensor: "a tensor", exec.ArgManaged: "a tensor", exec.ArgVersioned: "a tensor",
	exec.ArgInt: "an integer", exec.ArgUint: "an integer", exec.ArgFloat: "a float", exec.ArgBool: "a bool",
	exec.ArgBytes: "bytes", exec.ArgPointer: "a raw pointer", exec.ArgHandle: "a tensor",
}

// valueOf shows the number that was passed.
func valueOf(a *exec.Arg) string {
	switch a.Kind {
	case exec.ArgInt:
		return fmt.Sprint(int64(a.Value))
	case exec.ArgFloat:
		return fmt.Sprint(floatOf(a.Value))
	}
	return fmt.Sprint(a.Value)
}

func (c *call) explainArgument(f exec.Fault) (status.Code, string) {
	a := &c.args[f.Argument]
	wanted := c.wanted(int(f.Argument))
	switch f.Reason {
	case exec.ArgumentFlags:
		return status.Argument, fmt.Sprintf("flags has unknown bits (%#x); DLAUNCH_IN, DLAUNCH_OUT and DLAUNCH_WHOLE are known", f.Found)
	case exec.Kind:
		given, known := kindNames[int64(a.Kind)]
		if !known {
			return status.Argument, fmt.Sprintf("kind %d is unknown; DLAUNCH_ARG_NONE (0) to DLAUNCH_ARG_HANDLE (10) are wanted", a.Kind)
		}
		return status.Argument, fmt.Sprintf("%s given, %s wanted%s", given, wanted, c.hint(int(f.Argument), a))
	case exec.Null:
		if f.Axis == 0 {
			return status.Tensor, "its shape is NULL, but it has dimensions"
		}
		if a.Kind != exec.ArgNone {
			return status.Argument, "the pointer is NULL"
		}
		hint := ""
		if c.step(f).Op == exec.OpTensor {
			hint = "; declare it with ? to allow a null"
		}
		return status.Argument, fmt.Sprintf("a null given, %s wanted%s", wanted, hint)
	case exec.NotMultiple:
		return status.Argument, fmt.Sprintf("%d is no multiple of %d (@multiple)", f.Found, f.Wanted)
	case exec.OutOfRange:
		if a.Kind == exec.ArgBool {
			return status.Argument, fmt.Sprintf("a bool is 0 or 1; %d given", a.Value)
		}
		return status.Argument, fmt.Sprintf("%s is out of range for %s", valueOf(a), wanted)
	case exec.Precision:
		if a.Kind == exec.ArgFloat {
			return status.Argument, fmt.Sprintf("%s is finite, but as %s it would be infinite", valueOf(a), wanted)
		}
		return status.Argument, fmt.Sprintf("%s is not exactly representable as %s; pass a float to have it rounded", valueOf(a), wanted)
	case exec.Bytes:
		return status.Argument, fmt.Sprintf("%d bytes given, %d wanted", f.Found, f.Wanted)
	}
	return status.Tensor, explainTensor(f, wanted, c.step(f))
}

// step is how the executor saw the argument at fault.
func (c *call) step(f exec.Fault) *exec.Step { return &c.kernel.program.Steps[f.Argument] }

// wanted says what a parameter is declared as.
func (c *call) wanted(index int) string {
	p := c.parameter(index)
	if p.Type == "" {
		return fmt.Sprintf("%d bytes", p.Size)
	}
	return p.Type
}

func (c *call) hint(index int, a *exec.Arg) string {
	step := &c.kernel.program.Steps[index]
	switch {
	case a.Kind == exec.ArgFloat && step.Op == exec.OpUntyped:
		return "; nothing says that the parameter is a float: give the kernel a prototype"
	case a.Kind == exec.ArgFloat && (step.Format == exec.FormatSigned || step.Format == exec.FormatUnsigned):
		return "; convert it to an integer"
	case step.Op == exec.OpScalar && (a.Kind == exec.ArgHandle || a.Kind >= exec.ArgTensor && a.Kind <= exec.ArgVersioned):
		return "; pass the number itself (of an array of one element, its item)"
	case step.Op == exec.OpScalar && step.Format == exec.FormatOpaque || step.Op == exec.OpBytes:
		return fmt.Sprintf("; pass its %d bytes", step.Size)
	case step.Op == exec.OpTensor && a.Kind == exec.ArgPointer:
		return "; a raw address has nothing to check: declare the parameter ptr to pass one"
	}
	return ""
}

func explainTensor(f exec.Fault, wanted string, step *exec.Step) string {
	switch f.Reason {
	case exec.Version:
		return fmt.Sprintf("the tensor is of DLPack %d.x, %d.x wanted", f.Found, f.Wanted)
	case exec.DType:
		if err := dtypeOf(f.Found).Check(); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("a tensor of %v given, %s wanted; convert it, or declare it as %v", dtypeOf(f.Found), wanted, dtypeOf(f.Found))
	case exec.Rank:
		return fmt.Sprintf("a tensor of %d dimensions given, %s wanted (%d)", f.Found, wanted, f.Wanted)
	case exec.Extent:
		return fmt.Sprintf("axis %d has the extent %d, %d wanted: it is %s, and a size has one value in a launch", f.Axis, f.Found, f.Wanted, wanted)
	case exec.Negative:
		return fmt.Sprintf("axis %d has the extent %d; 0 or more wanted", f.Axis, f.Found)
	case exec.Overflow:
		return fmt.Sprintf("the shape has more than 2^63-1 elements (axis %d has the extent %d)", f.Axis, f.Found)
	case exec.Layout:
		order := "C order (the last axis fastest); make a contiguous copy"
		if step.Flags&exec.Fortran != 0 {
			order = "Fortran order (@fortran: the first axis fastest); make such a copy"
		}
		return fmt.Sprintf("axis %d has the stride %d, %d wanted: %s is in %s, or declare the parameter @strided", f.Axis, f.Found, f.Wanted, wanted, order)
	case exec.Overlap:
		return fmt.Sprintf("the kernel writes it, but axis %d (stride %d) makes elements share memory", f.Axis, f.Found)
	case exec.NullData:
		if f.Wanted != 0 {
			return fmt.Sprintf("its data is %#x, an offset from NULL, but it has %d elements: is its memory freed?", uint64(f.Wanted), f.Found)
		}
		return fmt.Sprintf("its data is NULL, but it has %d elements", f.Found)
	case exec.Crooked:
		return "the address of its shape or strides is no multiple of 8"
	case exec.Reach:
		return fmt.Sprintf("its shape and strides lead from %#x past the end of memory", uint64(f.Found))
	case exec.Alignment:
		return fmt.Sprintf("its address %#x is no multiple of %d", uint64(f.Found), f.Wanted)
	case exec.ReadOnly:
		return "the tensor is read-only, but the kernel writes it (" + wanted + "); pass a writable copy"
	case exec.DeviceType:
		return fmt.Sprintf("a tensor in %v memory given; this driver's kernels reach %v tensors", dlpack.DeviceType(f.Found), dlpack.DeviceType(f.Wanted))
	case exec.Device:
		if f.Wanted < 0 {
			return fmt.Sprintf("the tensor is on device %d; the driver shows %d devices, counted from 0", f.Found, -f.Wanted)
		}
		return fmt.Sprintf("the tensor is on device %d, an earlier one on device %d; all must be on one", f.Found, f.Wanted)
	case exec.PointerGone, exec.PointerMemory, exec.PointerDevice, exec.PointerRange, exec.PointerUnknown:
		return explainPointer(f)
	case exec.Host:
		return "a host tensor given; mark it in, out or inout (a prototype does), so that it is copied, or pass a device tensor"
	}
	return fmt.Sprintf("refused (reason %d: %d, %d)", f.Reason, f.Found, f.Wanted)
}
