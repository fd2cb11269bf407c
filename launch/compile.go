package launch

import (
	"dlaunch/dlpack"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// compiled is a kernel's parameters, for the executor and for messages.
type compiled struct {
	program    exec.Program
	parameters []Parameter          // the full list
	arguments  []int                // the parameter of each argument of the caller
	derived    []int                // the parameter of each exec.Derived ...
	scratch    []scratch            // ... and what memory it asks for
	sizes      []string             // names of the size variables
	proto      *prototype.Prototype // nil without one
}

// scratch is memory that a launch gives its kernel: bytes for each block.
type scratch struct{ bytes, align uint64 }

const (
	maskExact = 0xffffffff
	maskWidth = 0xffffff00 // every code of the same bits and lanes
	maskAny   = 0
)

// paramsSize is the end of the last parameter; the driver refuses a buffer that
// counts the padding after it.
func paramsSize(slots []slot) (uint64, error) {
	size := uint64(0)
	for _, s := range slots {
		size = max(size, s.offset+s.size)
	}
	if size > exec.MaxParams {
		return 0, status.Errorf(status.Unsupported, "the parameters take %d bytes; a launch passes at most %d", size, exec.MaxParams)
	}
	return size, nil
}

// compile makes the program of a kernel; proto may be nil.
func compile(kernel string, proto *prototype.Prototype, slots []slot) (*compiled, error) {
	size, err := paramsSize(slots)
	if err != nil {
		return nil, err
	}
	c := &compiled{proto: proto, program: exec.Program{Params: make([]byte, size)}}
	if proto == nil {
		c.untyped(slots)
		return c, nil
	}
	if slots, err = agree(kernel, proto, slots); err != nil {
		return nil, err
	}
	if len(proto.Sizes) > exec.MaxSizes {
		return nil, status.Errorf(status.Prototype, "prototype of %q names %d sizes; %d are supported", kernel, len(proto.Sizes), exec.MaxSizes)
	}
	c.sizes, c.program.Sizes = proto.Sizes, len(proto.Sizes)
	steps := make([]int, len(proto.Params)) // the step of each parameter that has one
	for i := range proto.Params {
		p := &proto.Params[i]
		c.parameters = append(c.parameters, Parameter{p.Name, p.Type(), slots[i].offset, slots[i].size, modeFlags(p.Mode)})
		if p.Fill == nil {
			steps[i] = len(c.program.Steps)
			c.arguments = append(c.arguments, i)
			c.program.Steps = append(c.program.Steps, c.step(p, slots[i]))
		}
	}
	for i := range proto.Params {
		if proto.Params[i].Fill != nil {
			if err := c.fill(kernel, i, slots, steps); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

func modeFlags(m prototype.Mode) uint32 {
	switch m {
	case prototype.Out:
		return exec.ArgOut
	case prototype.InOut:
		return exec.ArgIn | exec.ArgOut
	}
	return exec.ArgIn
}

// formatOf says how a scalar type lies in the buffer.
func formatOf(s prototype.Scalar) uint8 {
	if s.Wildcard == prototype.Width {
		return exec.FormatBits
	}
	switch s.Type.Code {
	case dlpack.Bool:
		return exec.FormatBool
	case dlpack.Int:
		return exec.FormatSigned
	case dlpack.UInt:
		return exec.FormatUnsigned
	case dlpack.Float:
		return exec.FormatFloat
	case dlpack.Bfloat:
		return exec.FormatBFloat
	case dlpack.Float8E3M4, dlpack.Float8E4M3, dlpack.Float8E4M3B11, dlpack.Float8E4M3FN, dlpack.Float8E4M3FNUZ,
		dlpack.Float8E5M2, dlpack.Float8E5M2FNUZ:
		return exec.FormatFloat8 + s.Type.Code - dlpack.Float8E3M4
	}
	return exec.FormatOpaque
}

func (c *compiled) step(p *prototype.Param, s slot) exec.Step {
	step := exec.Step{Offset: uint32(s.offset), Size: uint32(s.size), Align: p.Attrs.Align}
	switch {
	case p.Tensor:
		step.Op, step.Format, step.Form = exec.OpTensor, exec.FormatOpaque, form(p)
		step.Flags = exec.Marked | tensorFlags(p)
		step.Rank, step.Dims = uint8(len(p.Dims)), uint32(len(c.program.Dims))
		step.DType, step.DTypeMask = p.Scalar.Type.Packed(), maskExact
		switch p.Scalar.Wildcard {
		case prototype.Width:
			step.DTypeMask = maskWidth
		case prototype.Anything:
			step.DTypeMask = maskAny
		}
		if isPlainTensor(&step) {
			step.Flags |= exec.Plain
			step.Align = max(step.Align, naturalAlign(p.Scalar.Type))
		}
		for _, d := range p.Dims {
			c.program.Dims = append(c.program.Dims, dim(d))
		}
	case p.Pointer:
		step.Op, step.Format, step.Flags = exec.OpPointer, exec.FormatAddress, exec.Nullable
	case p.Bytes.Size > 0:
		step.Op, step.Format = exec.OpBytes, exec.FormatOpaque
	default:
		step.Op, step.Format = exec.OpScalar, formatOf(p.Scalar)
		if p.Attrs.Multiple != 0 {
			step.Flags, step.Dims = exec.Multiple, uint32(len(c.program.Dims))
			c.program.Dims = append(c.program.Dims, exec.Dim{Size: exec.FixedExtent, Value: p.Attrs.Multiple})
		} else if isPlainNumber(&step) {
			step.Flags = exec.Plain
		}
	}
	return step
}

// isPlainNumber says whether the executor's short way will do.
func isPlainNumber(s *exec.Step) bool {
	return (s.Size == 4 || s.Size == 8) && (s.Format == exec.FormatSigned || s.Format == exec.FormatUnsigned || s.Format == exec.FormatFloat)
}

// isPlainTensor says the same of a tensor.
func isPlainTensor(s *exec.Step) bool {
	return s.DTypeMask == maskExact && s.Form == exec.FormPointer && s.Flags&(exec.Fortran|exec.Strided|exec.OpenRank|exec.Peer) == 0
}

// naturalAlign is the item's size, where that is a power of two up to 16 bytes.
func naturalAlign(t dlpack.DataType) uint32 {
	item := uint32(t.ItemBits()+7) / 8
	if item > 16 || item&(item-1) != 0 {
		return 1
	}
	return item
}

func form(p *prototype.Param) uint8 {
	switch {
	case p.Attrs.View:
		return exec.FormView
	case p.Attrs.Numba:
		return exec.FormNumba
	}
	return exec.FormPointer
}

func tensorFlags(p *prototype.Param) uint16 {
	var flags uint16
	for _, f := range []struct {
		set bool
		bit uint16
	}{
		{p.Nullable, exec.Nullable},
		{p.Mode != prototype.In, exec.Written},
		{p.Mode != prototype.Out, exec.Read},
		{p.Attrs.Fortran, exec.Fortran},
		{p.Attrs.Strided || p.Attrs.View && !p.Attrs.Fortran, exec.Strided}, // a view has its strides with it
		{p.Attrs.Peer, exec.Peer},
		{p.OpenRank, exec.OpenRank},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	return flags
}

func dim(d prototype.Dim) exec.Dim {
	switch d.Kind {
	case prototype.Named:
		return exec.Dim{Size: int32(d.Size)}
	case prototype.Fixed:
		return exec.Dim{Size: exec.FixedExtent, Value: d.Extent}
	}
	return exec.Dim{Size: exec.AnyExtent}
}

// fill compiles `= expr` of parameter i: into the buffer's beginning if it is
// constant, else into a derived parameter.
func (c *compiled) fill(kernel string, i int, slots []slot, steps []int) error {
	p, s := &c.proto.Params[i], slots[i]
	format := formatOf(p.Scalar)
	if p.Pointer {
		format = exec.FormatAddress
	}
	if f := p.Fill.Factors[0]; f.Kind == prototype.Scratch {
		c.derived = append(c.derived, i)
		c.scratch = append(c.scratch, scratch{uint64(f.Value), uint64(f.Align)})
		c.program.Derived = append(c.program.Derived, exec.Derived{IsScratch: true, Offset: uint32(s.offset), Size: uint32(s.size)})
		return nil
	}
	factor, constant := p.Fill.Constant()
	if constant {
		packed, ok := exec.PackInteger(format, int(s.size), factor)
		if !ok {
			return status.Errorf(status.Prototype, "prototype of %q, column %d: %d does not fit %s", kernel, p.Fill.Column, factor, p.Type())
		}
		copy(c.program.Params[s.offset:], packed)
		return nil
	}
	d := exec.Derived{Format: format, Offset: uint32(s.offset), Size: uint32(s.size), Factor: factor, Terms: uint32(len(c.program.Terms))}
	for _, f := range p.Fill.Factors {
		switch f.Kind {
		case prototype.Size:
			c.program.Terms = append(c.program.Terms, exec.Term{Kind: exec.TermSize, Index: uint16(f.Index)})
		case prototype.Parameter:
			of := &c.proto.Params[f.Index]
			c.program.Terms = append(c.program.Terms, exec.Term{Kind: exec.TermParameter, Format: formatOf(of.Scalar),
				Index: uint16(steps[f.Index]), Offset: uint32(slots[f.Index].offset), Width: uint32(slots[f.Index].size)})
		case prototype.Stride:
			c.program.Terms = append(c.program.Terms, exec.Term{Kind: exec.TermStride, Index: uint16(steps[f.Index]), Width: uint32(f.Axis)})
		}
	}
	d.NumTerms, d.Multiple = uint32(len(c.program.Terms))-d.Terms, p.Attrs.Multiple
	c.derived = append(c.derived, i)
	c.scratch = append(c.scratch, scratch{})
	c.program.Derived = append(c.program.Derived, d)
	return nil
}

// untyped makes the program of a kernel without a prototype: sizes and counts
// are checked, and types as far as PTX tells them.
func (c *compiled) untyped(slots []slot) {
	for i, s := range slots {
		step := exec.Step{Op: exec.OpUntyped, Format: exec.FormatOpaque, Flags: exec.OpenRank | exec.Strided,
			Offset: uint32(s.offset), Size: uint32(s.size)}
		switch {
		case s.isFloat():
			step.Format = exec.FormatFloat
		case !s.isScalar(): // a struct
		case s.size == addressBytes:
			step.Format = exec.FormatAddress
		case s.size == 1 || s.size == 2 || s.size == 4:
			step.Format = exec.FormatBits
		}
		c.program.Steps = append(c.program.Steps, step)
		c.arguments = append(c.arguments, i)
		c.parameters = append(c.parameters, Parameter{Name: s.name, Type: s.ptxType, Offset: s.offset, Size: s.size})
	}
}
