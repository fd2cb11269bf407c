package prototype

import (
	"strconv"

	"dlaunch/dlpack"
	"dlaunch/internal/spelling"
)

// elsewhere is what other languages call our types.
var elsewhere = map[string]string{
	"float": "f32", "double": "f64", "half": "f16", "bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
	"char": "i8", "short": "i16", "int": "i32", "long": "i64", "unsigned": "u32", "size_t": "u64", "usize": "u64", "isize": "i64",
	"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
	"int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64",
	"uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
	"complex64": "c64", "complex128": "c128", "void": "ptr", "pointer": "ptr", "struct": "bytes", "i1": "bool",
}

// parseScalar reads a scalar type's name: those of dlpack, b8 to b64, and any.
func parseScalar(name string) (Scalar, bool) {
	if name == "any" {
		return Scalar{Wildcard: Anything}, true
	}
	for _, width := range []uint8{8, 16, 32, 64} {
		if name == "b"+strconv.Itoa(int(width)) {
			return Scalar{Wildcard: Width, Type: dlpack.DataType{Bits: width, Lanes: 1}}, true
		}
	}
	dtype, err := dlpack.ParseType(name)
	// The name of a vector type, f32x4, describes a tensor; no kernel parameter
	// is declared with one.
	if err != nil || dtype.Lanes != 1 {
		return Scalar{}, false
	}
	return Scalar{Type: dtype}, true
}

func (p *parser) typeOf(param *Param) error {
	t := p.token
	if t.kind != tokenIdent {
		return p.wanted("the type of " + quote(param.Name))
	}
	p.take()
	switch t.text {
	case "ptr":
		param.Pointer = true
		return p.bare(t, "a null is a ptr too")
	case "bytes":
		if err := p.bytes(param); err != nil {
			return err
		}
		return p.bare(t, "a struct is passed by value")
	}
	scalar, ok := parseScalar(t.text)
	if !ok {
		return p.noType(t)
	}
	param.Scalar = scalar
	if p.next("[") {
		param.Tensor = true
		if err := p.dims(param); err != nil {
			return err
		}
		param.Nullable = p.accept("?")
		for _, dim := range param.Dims {
			if dim.Kind == Named && !param.Nullable {
				p.certain[dim.Size] = true
			}
		}
		return nil
	}
	if p.next("?") {
		return p.fail(p.token, `"?" is for tensors; %s is a scalar`, quote(t.text))
	}
	if scalar.Wildcard == Anything {
		return p.fail(t, `"any" is for tensors, as any[...]; a scalar has a width: b8, b16, b32 or b64`)
	}
	if scalar.Type.Bits < 8 {
		return p.fail(t, "%s has less than 8 bits, which no parameter has; bytes(1) passes one", quote(t.text))
	}
	return nil
}

// bare refuses what only a scalar type can be followed by.
func (p *parser) bare(t token, why string) error {
	switch {
	case p.next("["):
		return p.fail(p.token, "%s has no elements; a tensor is written f32[n], or any[...]", quote(t.text))
	case p.next("?"):
		return p.fail(p.token, `"?" is for tensors; %s`, why)
	}
	return nil
}

func (p *parser) noType(t token) error {
	if known, ok := elsewhere[t.text]; ok {
		return p.fail(t, "%s is no type here; it is called %s", quote(t.text), known)
	}
	known := append(dlpack.TypeNames(), "b8", "b16", "b32", "b64", "any", "ptr", "bytes")
	hint := spelling.DidYouMean(t.text, known)
	if hint == "" {
		hint = "; a type is wanted: f32, i64, bool ..., b32, any, ptr or bytes(size, align)"
	}
	return p.fail(t, "%s is no type%s", quote(t.text), hint)
}

func (p *parser) bytes(param *Param) error {
	if err := p.expect("(", `and a size after "bytes"`); err != nil {
		return err
	}
	size, t, err := p.number("a size in bytes")
	if err != nil {
		return err
	}
	if size < 1 || size > MaxParamBytes {
		return p.fail(t, "a struct of %d bytes; 1 to %d are wanted", size, MaxParamBytes)
	}
	align := uint32(min(8, size&-size))
	if p.accept(",") {
		if align, t, err = p.power("an alignment in bytes"); err != nil {
			return err
		}
		// As in C, where the elements of an array of structs must be aligned.
		if size%int64(align) != 0 {
			return p.fail(t, "a struct of %d bytes cannot be aligned to %d; a divisor is wanted", size, align)
		}
	}
	param.Bytes = Bytes{Size: uint32(size), Align: align}
	return p.expect(")", `after "bytes("`)
}
