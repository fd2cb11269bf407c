package prototype

import (
	"fmt"
	"strconv"
	"strings"
)

// String gives the one spelling of a prototype, which Parse reads as the same.
func (p *Prototype) String() string {
	params := make([]string, len(p.Params))
	for i := range p.Params {
		params[i] = p.Params[i].String()
	}
	return p.Name + "(" + strings.Join(params, ", ") + ")"
}

// String gives the parameter as the prototype has it.
func (p *Param) String() string {
	text := p.Name + ": "
	if p.Mode != In {
		text += p.Mode.String() + " "
	}
	text += p.Type() + p.Attrs.String()
	if p.Fill != nil {
		text += " = " + p.Fill.String()
	}
	return text
}

// Type gives the parameter's type alone: "f32[n,3]?", "bytes(24,8)".
func (p *Param) Type() string {
	switch {
	case p.Pointer:
		return "ptr"
	case p.Bytes.Size > 0:
		return fmt.Sprintf("bytes(%d,%d)", p.Bytes.Size, p.Bytes.Align)
	case !p.Tensor:
		return p.Scalar.String()
	}
	var dims []string
	if p.OpenRank {
		dims = append(dims, "...")
	}
	for _, d := range p.Dims {
		dims = append(dims, d.String())
	}
	text := p.Scalar.String() + "[" + strings.Join(dims, ",") + "]"
	if p.Nullable {
		text += "?"
	}
	return text
}

// String gives the type's name.
func (s Scalar) String() string {
	switch s.Wildcard {
	case Width:
		return fmt.Sprintf("b%d", s.Type.Bits)
	case Anything:
		return "any"
	}
	return s.Type.String()
}

// String gives the extent: "3", "n" or "_".
func (d Dim) String() string {
	switch d.Kind {
	case Named:
		return d.Name
	case Free:
		return "_"
	}
	return strconv.FormatInt(d.Extent, 10)
}

// String gives the attributes, each after a blank.
func (a Attrs) String() string {
	var text strings.Builder
	for _, flag := range []struct {
		set  bool
		name string
	}{{a.Strided, "strided"}, {a.Fortran, "fortran"}, {a.View, "view"}, {a.Numba, "numba"}, {a.Peer, "peer"}} {
		if flag.set {
			text.WriteString(" @" + flag.name)
		}
	}
	if a.Align > 0 {
		fmt.Fprintf(&text, " @align(%d)", a.Align)
	}
	if a.Multiple > 0 {
		fmt.Fprintf(&text, " @multiple(%d)", a.Multiple)
	}
	return text.String()
}

// String gives the product.
func (e *Expr) String() string {
	factors := make([]string, len(e.Factors))
	for i, f := range e.Factors {
		factors[i] = f.String()
	}
	sign := ""
	if e.Negative {
		sign = "-"
	}
	return sign + strings.Join(factors, "*")
}

// String gives the factor.
func (f Factor) String() string {
	switch f.Kind {
	case Number:
		return strconv.FormatInt(f.Value, 10)
	case Stride:
		return fmt.Sprintf("stride(%s,%d)", f.Name, f.Axis)
	case Scratch:
		return fmt.Sprintf("scratch(%d,%d)", f.Value, f.Align)
	}
	return f.Name
}
