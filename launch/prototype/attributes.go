package prototype

import (
	"dlaunch/dlpack"
	"dlaunch/internal/spelling"
)

var attributeNames = []string{"strided", "fortran", "view", "numba", "align", "multiple", "peer"}

// attributes reads them, and refuses those that are not for this type, come
// twice, or contradict each other.
func (p *parser) attributes(param *Param) error {
	seen := map[string]bool{}
	for p.next("@") {
		at := p.take()
		name := p.token
		if name.kind != tokenIdent || name.at != at.at+1 {
			return p.wanted(`an attribute's name right after "@"`)
		}
		p.take()
		if seen[name.text] {
			return p.fail(at, "a second @%s", name.text)
		}
		seen[name.text] = true
		if err := p.attribute(param, at, name); err != nil {
			return err
		}
		if err := p.compatible(param, at, name); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) attribute(param *Param, at, name token) error {
	a := &param.Attrs
	switch name.text {
	case "strided":
		a.Strided = true
	case "fortran":
		a.Fortran = true
	case "view":
		a.View = true
	case "numba":
		a.Numba = true
	case "peer":
		a.Peer = true
	case "align":
		return p.inBrackets(name, func() (err error) {
			a.Align, _, err = p.power("an alignment in bytes")
			return err
		})
	case "multiple":
		return p.inBrackets(name, func() error { return p.multiple(param) })
	default:
		hint := spelling.DidYouMean(name.text, attributeNames)
		if hint == "" {
			hint = "; @strided, @fortran, @view, @numba, @align(n), @multiple(n) and @peer are"
		}
		return p.fail(at, "%s is no attribute%s", quote("@"+name.text), hint)
	}
	if p.next("(") {
		return p.fail(p.token, "@%s has no number", name.text)
	}
	return nil
}

func (p *parser) inBrackets(name token, read func() error) error {
	if err := p.expect("(", "and a number after @"+name.text); err != nil {
		return err
	}
	if err := read(); err != nil {
		return err
	}
	return p.expect(")", "after the number of @"+name.text)
}

func (p *parser) multiple(param *Param) error {
	n, t, err := p.number("a divisor")
	if err != nil {
		return err
	}
	if n == 0 {
		return p.fail(t, "every number is refused by @multiple(0); 1 or more is wanted")
	}
	param.Attrs.Multiple = n
	if param.isScalar() && param.Scalar.integer() && !fits(param.Scalar.Type, n) {
		return p.fail(t, "%d does not fit %v", n, param.Scalar)
	}
	return nil
}

// compatible judges an attribute beside the type and the attributes before it.
func (p *parser) compatible(param *Param, at, name token) error {
	a := param.Attrs
	if name.text == "multiple" {
		if !param.isScalar() || !param.Scalar.integer() {
			return p.fail(at, "@multiple is for integers; %q is %s", param.Name, param.Type())
		}
		return nil
	}
	switch {
	case !param.Tensor:
		return p.fail(at, "@%s is for tensors; %q is %s", name.text, param.Name, param.Type())
	case a.Strided && a.Fortran:
		return p.fail(at, "@strided takes any layout, @fortran one: write one of them")
	case a.View && a.Numba:
		return p.fail(at, "@view and @numba are different structs: write one of them")
	case (a.View || a.Numba) && param.OpenRank:
		return p.fail(at, `@%s passes every extent, so the rank must be known; %q has "..."`, name.text, param.Name)
	}
	return nil
}

// fits says whether a whole number is one of an integer type.
func fits(t dlpack.DataType, n int64) bool {
	if t.Code == dlpack.UInt {
		return n >= 0 && (t.Bits >= 63 || n < 1<<t.Bits)
	}
	return t.Bits >= 64 || n >= -1<<(t.Bits-1) && n < 1<<(t.Bits-1)
}
