package launch

import (
	"fmt"
	"slices"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// binding is an argument that is about to be bound, and what it needs.
type binding struct {
	arg    exec.Arg
	entry  *handles.Entry // whose memory must live; nil for numbers and others' memory
	frozen *exec.Tensor   // stands for a host tensor until it is packed
}

func (b *binding) drop() {
	if b.frozen != nil {
		b.frozen.Free()
	}
	if b.entry != nil {
		b.entry.Drop()
	}
}

// BindKernel makes a kernel in which parameter index is fixed.
func (e *Engine) BindKernel(h handles.Handle, index int, arg *exec.Arg) (handles.Handle, error) {
	entry, err := e.table.Acquire(h, handles.Kernel)
	if err != nil {
		return 0, err
	}
	defer entry.Drop()
	k := entry.Value.(*kernel)
	step, err := k.argumentOf(index)
	if err != nil {
		return 0, err
	}
	c := &call{engine: e, entry: entry, kernel: k, args: make([]exec.Arg, len(k.arguments))}
	defer c.dropHeld()
	c.args[step] = *arg
	what, program, refused := c.bind(step, index, fmt.Sprintf("kernel %q, parameter %d%s", k.name, index, c.argumentName(step)))
	if refused != nil {
		return 0, refused.At(index)
	}
	defer what.drop()
	bound := k.without(step, program)
	bound.holds = slices.Clone(k.holds)
	if what.entry != nil {
		bound.holds = append(bound.holds, what.entry)
	}
	return e.openKernel(bound)
}

// bind packs argument step for good, and gives what must live as long as that. subject
// begins what is said of it.
func (c *call) bind(step, parameter int, subject string) (*binding, *exec.Program, *status.Error) {
	what, err := c.beginBinding(step)
	if err == nil {
		program, fault := c.kernel.shared.Bind(&c.kernel.program, step, parameter, &what.arg)
		if fault.Reason == exec.OK {
			return what, program, nil
		}
		what.drop()
		err = c.explainBinding(fault)
	}
	se, ok := err.(*status.Error)
	if !ok {
		return nil, nil, status.Errorf(status.Internal, "%s: %v", subject, err)
	}
	se.Message = subject + ": " + se.Message
	return nil, nil, se
}

func (c *call) explainBinding(f exec.Fault) error {
	switch f.Reason {
	case exec.StaleArgument:
		f.Argument = -1
		return c.explainStale(f)
	case exec.DerivedOverflow:
		return c.explainList(f)
	}
	code, text := c.explainArgument(f)
	return status.Errorf(code, "%s", text)
}

// argumentOf finds a parameter among what is passed to the kernel.
func (k *kernel) argumentOf(index int) (int, error) {
	if index >= len(k.parameters) {
		return 0, status.Errorf(status.NotFound, "kernel %q has %d parameters; there is none with index %d", k.name, len(k.parameters), index)
	}
	if step := slices.Index(k.arguments, index); step >= 0 {
		return step, nil
	}
	p := &k.parameters[index]
	why := "is filled in by the prototype"
	if p.Mode&exec.ParameterBound != 0 {
		why = "is bound already"
	}
	return 0, status.Errorf(status.Argument, "kernel %q: parameter %d (%s) %s; one that launches pass is wanted", k.name, index, p.Name, why)
}

// without is the kernel whose argument step is packed in the program.
func (k *kernel) without(step int, program *exec.Program) *kernel {
	bound, c := *k, *k.compiled
	bound.compiled = &c
	c.program = *program
	c.parameters = slices.Clone(c.parameters)
	c.parameters[c.arguments[step]].Mode |= exec.ParameterBound
	c.arguments = slices.Delete(slices.Clone(c.arguments), step, step+1)
	return &bound
}

// releaseBound is the end of a bound kernel: what its launches use is known by what
// it held, from now on.
func (k *kernel) releaseBound() {
	use := k.shared.Use()
	for _, held := range k.holds {
		if memory := memoryOf(held); memory != nil {
			memory.AlsoUsed(use)
		}
	}
	k.shared.Free()
}

// memoryOf is the tensor of an array or imported tensor; nil of anything else.
func memoryOf(entry *handles.Entry) *exec.Tensor {
	switch v := entry.Value.(type) {
	case *array:
		return v.shared
	case *tensor:
		return v.shared
	}
	return nil
}

// beginBinding finds what argument step needs as long as it is bound, and freezes a host
// tensor.
func (c *call) beginBinding(step int) (*binding, error) {
	arg := c.args[step]
	what := &binding{arg: arg}
	if arg.Kind == exec.ArgHandle {
		var err error
		if what.entry, err = c.engine.table.Acquire(handles.Handle(arg.Value), handles.Any); err != nil {
			return nil, err
		}
	}
	s := &c.kernel.program.Steps[step]
	if s.Op != exec.OpTensor && s.Format != exec.FormatAddress {
		return what, nil // no tensor is wanted: the executor says so, if it is one
	}
	view, err := c.viewOf(&arg)
	if err == nil && view != nil && c.engine.isHost(view) {
		err = c.freeze(what, s, view)
	}
	if err != nil {
		what.drop()
		return nil, err
	}
	return what, nil
}

// isHost tells host memory; on the simulator that is all but its own.
func (e *Engine) isHost(view *dlpack.View) bool {
	return view.Device.Type == dlpack.CPU && view.Address-e.driver.MemoryBase >= e.driver.MemorySize
}
