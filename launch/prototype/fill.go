package prototype

import (
	"math"
	"math/bits"

	"dlaunch/dlpack"
	"dlaunch/internal/spelling"
)

// maxFactors is far beyond any use, and keeps the work for a text in bounds.
const maxFactors = 64

// fill reads `= expr`. Names are looked up when all parameters are known.
func (p *parser) fill(param *Param) error {
	equals := p.take()
	switch {
	case param.Tensor:
		return p.fail(equals, `"=" fills in scalars and ptr; %q is a tensor, which the caller passes`, param.Name)
	case param.Bytes.Size > 0:
		return p.fail(equals, `"=" fills in scalars and ptr; %q is a struct, which the caller passes`, param.Name)
	case param.isScalar() && !fillable(param.Scalar):
		return p.fail(equals, `"=" fills in integers, floats, bool and ptr; %q is %s`, param.Name, param.Type())
	}
	e := &Expr{Column: p.token.at + 1}
	minus := p.token
	e.Negative = p.accept("-")
	for {
		if len(e.Factors) == maxFactors {
			return p.fail(p.token, "more than %d factors", maxFactors)
		}
		if err := p.factor(e); err != nil {
			return err
		}
		if !p.accept("*") {
			break
		}
	}
	param.Fill = e
	if e.Negative && param.Pointer {
		return p.fail(minus, "an address is not negative; a number or scratch(bytes, align) is wanted")
	}
	return nil
}

func fillable(s Scalar) bool {
	if s.Wildcard == Width {
		return true
	}
	switch s.Type.Code {
	case dlpack.Int, dlpack.UInt, dlpack.Float, dlpack.Bfloat, dlpack.Bool:
		return true
	}
	return false
}

func (p *parser) factor(e *Expr) error {
	t := p.token
	f := Factor{Column: t.at + 1}
	switch t.kind {
	case tokenNumber:
		n, _, err := p.number("a number")
		if err != nil {
			return err
		}
		f.Kind, f.Value = Number, n
		if product, _ := e.Constant(); product != 0 {
			high, low := bits.Mul64(uint64(max(product, -product)), uint64(n))
			if high != 0 || low > math.MaxInt64 {
				return p.fail(t, "the numbers of the product are more than 2^63-1")
			}
		}
	case tokenIdent:
		p.take()
		f.Name = t.text
		// Without a bracket these two are names like any other.
		if p.next("(") {
			var err error
			switch t.text {
			case "stride":
				err = p.stride(&f)
			case "scratch":
				err = p.scratch(&f)
			default:
				return p.fail(t, "%s is no function%s", t.quote(), orElse(spelling.DidYouMean(t.text, []string{"stride", "scratch"}),
					"; stride(tensor, axis) and scratch(bytes, align) are"))
			}
			if err != nil {
				return err
			}
		} else {
			f.Kind = Size // or Parameter: resolve tells
		}
	default:
		return p.wanted("a number, a name, stride(tensor, axis) or scratch(bytes, align)")
	}
	e.Factors = append(e.Factors, f)
	return nil
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func (p *parser) stride(f *Factor) error {
	p.take()
	f.Kind = Stride
	if p.token.kind != tokenIdent {
		return p.wanted(`a tensor's name after "stride("`)
	}
	tensor := p.take()
	f.Name, f.Column = tensor.text, tensor.at+1
	if err := p.expect(",", "and an axis after the tensor"); err != nil {
		return err
	}
	axis, t, err := p.number("an axis, counted from 0,")
	if err != nil {
		return err
	}
	if axis >= dlpack.MaxRank {
		return p.fail(t, "there is no axis %d; a tensor has %d at most", axis, dlpack.MaxRank)
	}
	f.Axis = int(axis)
	return p.expect(")", "after the axis")
}

func (p *parser) scratch(f *Factor) error {
	p.take()
	f.Kind, f.Name = Scratch, ""
	bytes, t, err := p.number("a number of bytes")
	if err != nil {
		return err
	}
	if bytes == 0 {
		return p.fail(t, "scratch of no bytes; for a kernel that needs none write = 0")
	}
	f.Value = bytes
	if err := p.expect(",", "and an alignment after the bytes"); err != nil {
		return err
	}
	if f.Align, _, err = p.power("an alignment in bytes"); err != nil {
		return err
	}
	return p.expect(")", "after the alignment")
}
