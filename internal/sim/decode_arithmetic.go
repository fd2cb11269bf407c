package sim

import "slices"

// arithmetic decodes what computes each lane from up to three operands.
func (d *decoder) arithmetic() error {
	name, kind := d.at.Name, d.kind()
	if d.has("cc") {
		return d.carry(false)
	}
	switch kind {
	case "f32x2":
		return d.lacks()
	case "f32", "f64":
		return d.floating(kind)
	case "f16", "bf16", "f16x2", "bf16x2":
		return d.half(kind)
	}
	switch name {
	case "shf":
		return d.lanesOf(funnel(d.has("l"), d.has("wrap")), opLanes, "b32", "b32", "u32")
	case "dp4a", "dp2a":
		types := d.at.Modifiers
		if len(types) < 2 {
			return d.lacks()
		}
		return d.lanesOf(dotProduct(isSigned(types[len(types)-2]), isSigned(kind), name, d.has("hi")), opLanes, "b32", "b32", "b32")
	}
	width := widthOf(kind)
	if width == 0 {
		return d.lacks()
	}
	wide := kind
	switch name {
	case "mul", "mad":
		switch {
		case d.has("hi"):
			return d.lanesOf(multiplyHigh(kind, name == "mad"), opLanes, slices.Repeat([]string{kind}, operandsOf(name))...)
		case d.has("wide"):
			wide = kind[:1] + itoa(2*width)
			op := opLanes
			switch {
			case kind == "s32" && name == "mul":
				op = opMulWideS32
			case kind == "s32":
				op = opMadWideS32
			case kind == "u32" && name == "mul":
				op = opMulWideU32
			}
			return d.lanesOf(multiplyWide(kind, name == "mad"), op, []string{kind, kind, wide}[:operandsOf(name)]...)
		case d.has("lo"):
			name += ".lo"
		default:
			return d.invalid("one of .lo, .hi and .wide is wanted")
		}
	case "mul24", "mad24":
		return d.lanesOf(multiply24(kind, d.has("hi"), name == "mad24"), opLanes, slices.Repeat([]string{kind}, operandsOf(name))...)
	case "add", "sub":
		if d.has("sat") {
			return d.lanesOf(saturate32(name == "sub"), opLanes, kind, kind)
		}
		if kind == "u16x2" || kind == "s16x2" {
			return d.lanesOf(pairLane(integerLane(name, kind[:3])), opLanes, "b32", "b32")
		}
	case "min", "max":
		if kind == "u16x2" || kind == "s16x2" {
			return d.lanesOf(pairLane(integerLane(name, kind[:3])), opLanes, "b32", "b32")
		}
	case "shl", "shr":
		return d.lanesOf(integerLane(name, kind), hotInteger(name, kind), kind, "u32")
	case "clz", "brev", "popc":
		return d.lanesOf(bitLane(name, width), opLanes, kind)
	case "bfind":
		return d.lanesOf(findLeading(kind, d.has("shiftamt")), opLanes, kind)
	case "bfe":
		return d.lanesOf(bitFieldExtract(kind), opLanes, kind, "u32", "u32")
	case "fns":
		return d.lanesOf(findNth, opLanes, "b32", "b32", "s32")
	case "bmsk":
		clamp := d.has("clamp")
		return d.lanesOf(func(a, b, _ uint64) uint64 {
			if !clamp {
				a, b = a&31, b&31
			}
			a, b = min(a, 32), min(b, 32)
			return maskOf(int(b)) << a & maskOf(32)
		}, opLanes, "b32", "b32")
	case "szext":
		clamp := d.has("clamp")
		return d.lanesOf(func(a, b, _ uint64) uint64 {
			if !clamp {
				b &= 31
			}
			if b == 0 {
				return 0
			}
			return extend(extend(a, int(min(b, 32)), isSigned(kind)), 32, false)
		}, opLanes, kind, "u32")
	}
	return d.lanesOf(integerLane(name, kind), hotInteger(name, kind), slices.Repeat([]string{kind}, operandsOf(name))...)
}

// operandsOf says how many operands an instruction reads.
func operandsOf(name string) int {
	switch name {
	case "mad", "mad.lo", "mad24", "fma", "sad":
		return 3
	case "abs", "neg", "not", "cnot", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh":
		return 1
	}
	return 2
}

// hotInteger gives the opcode with a loop of its own, if there is one.
func hotInteger(name, kind string) opcode {
	width := widthOf(kind)
	switch {
	case width == 32:
		switch name {
		case "add":
			return opAdd32
		case "sub":
			return opSub32
		case "mul.lo":
			return opMul32
		case "mad.lo":
			return opMad32
		case "shl":
			return opShl32
		}
	case width == 64:
		switch name {
		case "add":
			return opAdd64
		case "shl":
			return opShl64
		}
	}
	switch name {
	case "and":
		return opAnd
	case "or":
		return opOr
	case "xor":
		return opXor
	}
	return opLanes
}

// floating decodes f32 and f64.
func (d *decoder) floating(kind string) error {
	name := d.at.Name
	o := readFloatOptions(d.at.Modifiers)
	if name == "mad" {
		name = "fma"
	}
	if (name == "min" || name == "max") && len(d.at.Operands) == 4 { // of three
		return d.chained(kind, o)
	}
	op := opLanes
	if plain := o == (floatOptions{round: o.round}) && (o.round == "" || o.round == "rn"); plain {
		op = hotFloat(name, kind)
	}
	return d.lanesOf(floatLane(name, kind, o), op, slices.Repeat([]string{kind}, operandsOf(name))...)
}

func hotFloat(name, kind string) opcode {
	if kind == "f64" {
		switch name {
		case "add":
			return opAddF64
		case "mul":
			return opMulF64
		case "fma":
			return opFmaF64
		}
		return opLanes
	}
	switch name {
	case "add":
		return opAddF32
	case "sub":
		return opSubF32
	case "mul":
		return opMulF32
	case "fma":
		return opFmaF32
	case "max":
		return opMaxF32
	}
	return opLanes
}

// chained is min and max of three.
func (d *decoder) chained(kind string, o floatOptions) error {
	fn := floatLane(d.at.Name, kind, o)
	if fn == nil {
		return d.lacks()
	}
	return d.lanesOf(func(a, b, c uint64) uint64 { return fn(fn(a, b, 0), c, 0) }, opLanes, kind, kind, kind)
}

// half decodes f16, bf16 and pairs of them.
func (d *decoder) half(kind string) error {
	o := readFloatOptions(d.at.Modifiers)
	one, pair := kind, false
	if kind[len(kind)-2:] == "x2" {
		one, pair = kind[:len(kind)-2], true
	}
	fn := halfLane(d.at.Name, one, o)
	if fn != nil && pair {
		fn = pairLane(fn)
	}
	return d.lanesOf(fn, opLanes, slices.Repeat([]string{bitsKind(kind)}, operandsOf(d.at.Name))...)
}

// bitsKind gives the untyped name of a type's width.
func bitsKind(kind string) string { return "b" + itoa(widthOf(kind)) }

// carry decodes add.cc, addc, sub.cc, subc, mad.cc and madc.
func (d *decoder) carry(usesCarry bool) error {
	name, kind := d.at.Name, d.kind()
	if usesCarry {
		name = name[:len(name)-1]
	}
	if width := widthOf(kind); width != 32 && width != 64 || isSigned(kind) && d.has("hi") {
		return d.lacks()
	}
	if d.program.carry < 0 {
		d.program.carry = d.temporary()
	}
	if err := d.lanesOf(func(a, _, _ uint64) uint64 { return a }, opCarry, slices.Repeat([]string{kind}, operandsOf(name))...); err != nil {
		return err
	}
	in := &d.program.code[len(d.program.code)-1]
	in.more = &details{carry: carryLane(name, d.has("hi"), usesCarry, widthOf(kind))}
	if d.has("cc") {
		in.flags |= flagKeep
	}
	return nil
}
