package prototype

import (
	"math/bits"

	"dlaunch/dlpack"
	"dlaunch/internal/spelling"
)

// resolve looks up the names of every `=`, and checks what that decides.
func (p *parser) resolve() error {
	params := map[string]int{}
	for i := range p.result.Params {
		params[p.result.Params[i].Name] = i
	}
	for i := range p.result.Params {
		param := &p.result.Params[i]
		if param.Fill == nil {
			continue
		}
		for j := range param.Fill.Factors {
			if err := p.resolveFactor(params, &param.Fill.Factors[j]); err != nil {
				return err
			}
		}
		if err := p.checkFill(param); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) failColumn(column int, format string, args ...any) error {
	return errorAt(p.text, column-1, format, args...)
}

func (p *parser) resolveFactor(params map[string]int, f *Factor) error {
	switch f.Kind {
	case Stride:
		return p.resolveStride(params, f)
	case Size:
		if index, ok := p.sizes[f.Name]; ok {
			// Nothing would give it a value in a launch that passes null.
			if !p.certain[index] {
				return p.failColumn(f.Column, "the size %q is unknown when null is passed; a tensor without \"?\" must have it too", f.Name)
			}
			f.Index = index
			return nil
		}
		return p.resolveParam(params, f)
	}
	return nil
}

func (p *parser) resolveParam(params map[string]int, f *Factor) error {
	index, ok := params[f.Name]
	if !ok {
		return p.failColumn(f.Column, "there is no size or parameter %s%s", quote(f.Name), spelling.DidYouMean(f.Name, p.names(func(*Param) bool { return true })))
	}
	param := &p.result.Params[index]
	switch {
	case param.Fill != nil:
		return p.failColumn(f.Column, "%q is filled in itself, and there is no size of that name; a size or a parameter that the caller passes is wanted", f.Name)
	case param.Tensor:
		return p.failColumn(f.Column, "%q is a tensor; one of its sizes, or stride(%s, axis), is wanted", f.Name, f.Name)
	case !param.isScalar() || !param.Scalar.integer():
		return p.failColumn(f.Column, "%q is %s; an integer is wanted", f.Name, param.Type())
	}
	f.Kind, f.Index = Parameter, index
	return nil
}

func (p *parser) resolveStride(params map[string]int, f *Factor) error {
	index, ok := params[f.Name]
	if !ok {
		return p.failColumn(f.Column, "there is no tensor %s%s", quote(f.Name), spelling.DidYouMean(f.Name, p.names(func(q *Param) bool { return q.Tensor })))
	}
	param := &p.result.Params[index]
	switch {
	case !param.Tensor:
		return p.failColumn(f.Column, "%q is %s, which has no strides; a tensor is wanted", f.Name, param.Type())
	case param.Nullable:
		return p.failColumn(f.Column, "%q may be null, which has no strides", f.Name)
	case f.Axis >= len(param.Dims) && param.OpenRank:
		return p.failColumn(f.Column, "%q may be of rank %d only; axis %d is not sure to be there", f.Name, len(param.Dims), f.Axis)
	case f.Axis >= len(param.Dims):
		return p.failColumn(f.Column, "%q is of rank %d; there is no axis %d, counted from 0", f.Name, len(param.Dims), f.Axis)
	}
	f.Index = index
	return nil
}

// names lists sizes and those parameters that are wanted, for near misses.
func (p *parser) names(wanted func(*Param) bool) []string {
	var list []string
	for i := range p.result.Params {
		if wanted(&p.result.Params[i]) {
			list = append(list, p.result.Params[i].Name)
		}
	}
	return append(list, p.result.Sizes...)
}

// checkFill judges the expression as a whole for its parameter.
func (p *parser) checkFill(param *Param) error {
	e := param.Fill
	for _, f := range e.Factors {
		if f.Kind == Scratch && !param.Pointer {
			return p.failColumn(f.Column, "scratch is an address; %q is %s, ptr is wanted", param.Name, param.Type())
		}
		if f.Kind == Scratch && len(e.Factors) > 1 {
			return p.failColumn(f.Column, "scratch is an address; nothing can be multiplied with it")
		}
	}
	if param.Pointer {
		for _, f := range e.Factors {
			if f.Kind != Number && f.Kind != Scratch {
				return p.failColumn(f.Column, "a ptr is filled in with a number or scratch(bytes, align); %q is neither", f.Name)
			}
		}
		return nil
	}
	value, only := e.Constant()
	if !only {
		return nil
	}
	if !holds(param.Scalar, value) {
		return p.failColumn(e.Column, "%d does not fit %v exactly", value, param.Scalar)
	}
	if m := param.Attrs.Multiple; m > 0 && value%m != 0 {
		return p.failColumn(e.Column, "%d is no multiple of %d", value, m)
	}
	return nil
}

// holds says whether a scalar type can be exactly this whole number.
func holds(s Scalar, n int64) bool {
	width := s.Type.Bits
	if s.Wildcard == Width { // with a sign or without
		return fits(dlpack.DataType{Code: dlpack.Int, Bits: width}, n) || fits(dlpack.DataType{Code: dlpack.UInt, Bits: width}, n)
	}
	magnitude := uint64(max(n, -n)) // never -2^63: a number of the text has 63 bits
	switch s.Type.Code {
	case dlpack.Bool:
		return n == 0 || n == 1
	case dlpack.Bfloat:
		return significant(magnitude) <= 8
	case dlpack.Float:
		switch width {
		case 16:
			return significant(magnitude) <= 11 && magnitude <= 65504
		case 32:
			return significant(magnitude) <= 24
		}
		return significant(magnitude) <= 53
	}
	return fits(s.Type, n)
}

// significant counts the bits from the first to the last that is set.
func significant(magnitude uint64) int {
	if magnitude == 0 {
		return 0
	}
	return bits.Len64(magnitude) - bits.TrailingZeros64(magnitude)
}
