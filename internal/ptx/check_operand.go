package ptx

import (
	"fmt"
	"strconv"
)

func (f *Function) checkOperands(i *Instruction, form *form, types [2]string) error {
	for n := range min(len(form.operands), len(i.Operands)) {
		if err := f.checkOperand(&i.Operands[n], form.operands[n], types); err != nil {
			return err
		}
	}
	return nil
}

// checkOperand says what is wrong with an operand where one is wanted that goes
// with the instruction's types.
func (f *Function) checkOperand(o *Operand, want wanted, types [2]string) error {
	switch want.what {
	case '*':
		return nil
	case '[':
		return f.checkAddress(o)
	case 'p':
		if want.beside && o.Kind == PairOperand {
			if err := f.checkValue(&o.Elements[0], "pred", want); err != nil {
				return err
			}
			o = &o.Elements[1]
		}
		return f.checkValue(o, "pred", want)
	}
	kind := types[0]
	switch want.what {
	case 'u':
		kind = types[1]
	case 'w':
		kind = doubled(kind)
	case 'n':
		kind = "u32"
	case 'l':
		kind = "b64"
	}
	if o.Kind == PairOperand && want.beside {
		if err := f.checkValue(&o.Elements[1], "pred", wanted{}); err != nil {
			return err
		}
		o = &o.Elements[0]
	}
	if o.Kind == VectorOperand {
		return f.checkElements(o, kind, want)
	}
	want.braces = false
	err := f.checkValue(o, kind, want)
	if err != nil && want.what == 'w' {
		err = fmt.Errorf("%w, twice as wide as .%s", err, types[0])
	}
	return err
}

// doubled gives the type of a .wide product.
func doubled(kind string) string {
	if kind[1:] == "16" {
		return kind[:1] + "32"
	}
	return kind[:1] + "64"
}

// checkElements looks at each register in braces.
func (f *Function) checkElements(o *Operand, kind string, want wanted) error {
	switch n := uint64(len(o.Elements)); {
	case want.parts && classOf(kind) != 'b':
		return fmt.Errorf("what stands in braces is moved as .b%d, not as .%s", SizeOf(kind)*8, kind)
	case want.parts && n > 0:
		kind = "b" + strconv.FormatUint(SizeOf(kind)*8/n, 10)
	case !want.braces:
		return nil // which is refused when it is run
	}
	for n := range o.Elements {
		if err := f.checkValue(&o.Elements[n], kind, want); err != nil {
			return err
		}
	}
	return nil
}

func (f *Function) checkAddress(o *Operand) error {
	if o.Kind != AddressOperand || len(o.Elements) == 0 || o.Elements[0].Kind != RegisterOperand {
		return nil
	}
	if r := &f.Registers[o.Elements[0].Register]; classOf(r.Type[1:]) == 'p' || classOf(r.Type[1:]) == 'f' {
		return fmt.Errorf("%s is %s, which holds no address; .u64 is wanted", r.Name, r.Type)
	}
	return nil
}

// checkValue looks at a register or a constant where a type is wanted.
func (f *Function) checkValue(o *Operand, kind string, want wanted) error {
	name, found := o.Name, ""
	switch o.Kind {
	case RegisterOperand:
		r := &f.Registers[o.Register]
		name, found = r.Name, r.Type[1:]
	case SpecialOperand:
		found, _ = specialType(name)
		if found == "" || SizeOf(kind) == 2 { // they once had 16 bits
			return nil
		}
	case Float32Operand, Float64Operand:
		if c := classOf(kind); c == 'u' || c == 's' {
			return fmt.Errorf("a floating-point number stands where .%s is wanted", kind)
		}
		return nil
	case IntegerOperand:
		if kind == "f32" || kind == "f64" {
			return fmt.Errorf("an integer stands where .%s is wanted: write %d.0", kind, int64(o.Bits))
		}
		return nil
	default:
		return nil
	}
	end := ""
	switch {
	case agrees(found, kind, want):
		return nil
	case kind == "pred":
		return fmt.Errorf("%s is no predicate", name)
	case found == "pred":
		return fmt.Errorf("%s is a predicate; a register is wanted", name)
	case want.wider && SizeOf(found) < SizeOf(kind):
		end = ", or wider"
	}
	return fmt.Errorf("%s is .%s; .%s is wanted%s", name, found, kind, end)
}

// agrees says whether a register of a type can be used as another (PTX ISA, type
// checking of operands): bits go with whatever is as wide, signs do not count,
// floats are no integers.
func agrees(register, kind string, want wanted) bool {
	if register == kind {
		return true
	}
	r, k, has, wants := classOf(register), classOf(kind), SizeOf(register), SizeOf(kind)
	switch {
	case wants == 0:
		return true
	case r == 'p' || k == 'p' || has < wants || has > wants && !want.wider:
		return false
	case r == 'b':
		return true
	case k == 'f':
		return want.braces && has == wants // seen: ptxas 13.0
	}
	return k == 'b' || r != 'f'
}

// classOf gives a letter for what a type holds: bits, integers of either sign, a
// float, a predicate.
func classOf(kind string) byte {
	switch kind {
	case "f16x2":
		return 'b'
	case "bf16", "bf16x2", "tf32":
		return 'f'
	}
	return kind[0]
}
