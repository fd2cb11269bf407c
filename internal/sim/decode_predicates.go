package sim

import "slices"

var comparisons = []string{"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}

// test reads a comparison's modifiers: its name, and how it is combined.
func (d *decoder) test() (name string, combine func(a, b bool) bool, err error) {
	if len(d.at.Modifiers) == 0 || !slices.Contains(comparisons, d.at.Modifiers[0]) {
		return "", nil, d.invalid("a comparison is wanted")
	}
	for _, m := range d.at.Modifiers[1:] {
		switch m {
		case "and":
			combine = func(a, b bool) bool { return a && b }
		case "or":
			combine = func(a, b bool) bool { return a || b }
		case "xor":
			combine = func(a, b bool) bool { return a != b }
		}
	}
	return d.at.Modifiers[0], combine, nil
}

func (d *decoder) setp() error {
	name, combine, err := d.test()
	if err != nil {
		return err
	}
	if err := d.want(3, 4); err != nil {
		return err
	}
	kind := d.kind()
	if kind == "f16x2" || kind == "bf16x2" {
		return d.lacks()
	}
	test := comparison(name, kind, d.has("ftz"))
	if test == nil {
		return d.invalid("there is no comparison .%s of .%s", name, kind)
	}
	in := instruction{op: opSet, test: test}
	if in.a, err = d.source(d.at.Operands[1], sourceKind(kind)); err != nil {
		return err
	}
	if in.b, err = d.source(d.at.Operands[2], sourceKind(kind)); err != nil {
		return err
	}
	to := d.at.Operands[0]
	if len(d.at.Operands) == 3 && len(to.Elements) == 0 {
		if in.d, _, err = d.predicate(to); err != nil {
			return err
		}
		op, swapped := hotComparison(name, kind, d.has("ftz"))
		if in.op = op; swapped {
			in.a, in.b = in.b, in.a
			in.test = func(a, b uint64) bool { return test(b, a) }
		}
		d.emit(in)
		return nil
	}
	in.op = opSetPlus
	in.more = &details{predicate: sinkPredicate, combine: combine}
	second := sinkPredicate
	if len(to.Elements) == 2 {
		q, _, err := d.predicate(to.Elements[1])
		if err != nil {
			return err
		}
		second, to = int(q), to.Elements[0]
	}
	if in.d, _, err = d.predicate(to); err != nil {
		return err
	}
	in.c = int32(second)
	if len(d.at.Operands) == 4 {
		if combine == nil {
			return d.invalid("a fourth operand needs .and, .or or .xor")
		}
		if in.more.predicate, in.more.negated, err = d.predicate(d.at.Operands[3]); err != nil {
			return err
		}
	} else {
		in.more.combine = func(a, _ bool) bool { return a }
	}
	d.emit(in)
	return nil
}

// sourceKind is how constants of a type are read: halves have no literals.
func sourceKind(kind string) string {
	if kind == "f16" || kind == "bf16" || kind == "f16x2" || kind == "bf16x2" {
		return bitsKind(kind)
	}
	return kind
}

// hotComparison gives an opcode, and whether it has the operands swapped.
func hotComparison(name, kind string, ftz bool) (opcode, bool) {
	integer := kind[0] == 's' || kind[0] == 'u' || kind[0] == 'b'
	if name == "eq" && integer {
		return opSetEqual, false
	}
	if name == "ne" && integer {
		return opSetNotEqual, false
	}
	less := map[string][2]opcode{"s32": {opSetLessS32, opSetLessEqualS32}, "u32": {opSetLessU32, opSetLessEqualU32},
		"s64": {opSetLessS64, opSetLessEqualS64}, "f32": {opSetLessF32, opSetLessEqualF32}}
	ops, hot := less[kind]
	if !hot || ftz {
		return opSet, false
	}
	switch name {
	case "lt", "lo":
		return ops[0], false
	case "le", "ls":
		return ops[1], false
	case "gt", "hi":
		return ops[0], true
	case "ge", "hs":
		return ops[1], true
	}
	return opSet, false
}

// set writes a comparison's result into a register: all bits, or 1.0.
func (d *decoder) set() error {
	name, combine, err := d.test()
	if err != nil {
		return err
	}
	if err := d.want(3, 4); err != nil {
		return err
	}
	kind := d.kind()
	to := d.at.Modifiers[max(0, len(d.at.Modifiers)-2)]
	test := comparison(name, kind, d.has("ftz"))
	truth := map[string]uint64{"u32": maskOf(32), "s32": maskOf(32), "f32": 0x3f800000}[to]
	if test == nil || truth == 0 {
		return d.lacks()
	}
	in := instruction{op: opSetLanes, test: test, mask: truth, more: &details{predicate: truePredicate, combine: combine}}
	if in.d, err = d.destination(d.at.Operands[0]); err != nil {
		return err
	}
	if in.a, err = d.source(d.at.Operands[1], sourceKind(kind)); err != nil {
		return err
	}
	if in.b, err = d.source(d.at.Operands[2], sourceKind(kind)); err != nil {
		return err
	}
	if len(d.at.Operands) == 4 {
		if in.more.predicate, in.more.negated, err = d.predicate(d.at.Operands[3]); err != nil {
			return err
		}
	}
	if combine == nil {
		in.more.combine = func(a, _ bool) bool { return a }
	}
	d.emit(in)
	return nil
}

func (d *decoder) selp() error {
	if err := d.want(4, 4); err != nil {
		return err
	}
	in := instruction{op: opSelect}
	var err error
	if in.d, err = d.destination(d.at.Operands[0]); err != nil {
		return err
	}
	if in.a, err = d.source(d.at.Operands[1], d.kind()); err != nil {
		return err
	}
	if in.b, err = d.source(d.at.Operands[2], d.kind()); err != nil {
		return err
	}
	negated := false
	if in.c, negated, err = d.predicate(d.at.Operands[3]); err != nil {
		return err
	}
	if negated {
		in.a, in.b = in.b, in.a
	}
	d.emit(in)
	return nil
}

// slct chooses by the sign of its third operand.
func (d *decoder) slct() error {
	kind := d.kind()
	if len(d.at.Modifiers) < 2 {
		return d.lacks()
	}
	of := d.at.Modifiers[len(d.at.Modifiers)-2]
	notNegative := func(c uint64) bool { return int32(c) >= 0 }
	if kind == "f32" {
		notNegative = func(c uint64) bool { return f32(c) >= 0 }
	}
	return d.lanesOf(func(a, b, c uint64) uint64 {
		if notNegative(c) {
			return a
		}
		return b
	}, opLanes, of, of, kind)
}

var classes = []string{"finite", "infinite", "number", "notanumber", "normal", "subnormal"}

func (d *decoder) testp() error {
	if err := d.want(2, 2); err != nil {
		return err
	}
	if len(d.at.Modifiers) != 2 || !slices.Contains(classes, d.at.Modifiers[0]) {
		return d.lacks()
	}
	to, _, err := d.predicate(d.at.Operands[0])
	if err != nil {
		return err
	}
	from, err := d.source(d.at.Operands[1], d.kind())
	if err != nil {
		return err
	}
	d.emit(instruction{op: opSet, d: to, a: from, b: from, test: classOf(d.at.Modifiers[0], d.kind())})
	return nil
}

// Logic of predicates: two tables of one bit.
const (
	logicAnd mode = iota
	logicOr
	logicXor
	logicNot
	logicMove
)

// predicateLogic is and, or, xor, not and mov on predicates.
func (d *decoder) predicateLogic() error {
	modes := map[string]mode{"and": logicAnd, "or": logicOr, "xor": logicXor, "not": logicNot, "mov": logicMove}
	in := instruction{op: opPredicate, more: &details{mode: modes[d.at.Name], predicate: falsePredicate}}
	operands := 3
	if in.more.mode >= logicNot {
		operands = 2
	}
	if err := d.want(operands, operands); err != nil {
		return err
	}
	var err error
	if in.d, _, err = d.predicate(d.at.Operands[0]); err != nil {
		return err
	}
	var negated [2]bool
	slots := [2]int32{falsePredicate, falsePredicate}
	for i := range operands - 1 {
		if slots[i], negated[i], err = d.predicate(d.at.Operands[i+1]); err != nil {
			return err
		}
	}
	in.a, in.b = slots[0], slots[1]
	in.more.negated = negated[0]
	if negated[1] {
		in.flags |= flagNegated
	}
	d.emit(in)
	return nil
}
