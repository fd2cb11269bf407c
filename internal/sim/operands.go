package sim

import (
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// slotOf makes a constant's register, or finds it.
func (d *decoder) slotOf(value uint64) int32 {
	slot, known := d.constant[value]
	if !known {
		slot = d.program.slots
		d.program.slots++
		d.constant[value] = slot
		d.program.constants = append(d.program.constants, constant{slot, value})
	}
	return slot
}

// temporary makes a register of the decoder's own.
func (d *decoder) temporary() int32 {
	d.program.slots++
	return d.program.slots - 1
}

// register gives a register's slot: no predicate, no whole vector.
func (d *decoder) register(o ptx.Operand) (int32, error) {
	r := &d.function.Registers[o.Register]
	switch {
	case r.Type == ".pred":
		return 0, d.invalid("%s is a predicate; a register is wanted", r.Name)
	case o.Negated:
		return 0, d.invalid("!%s: only predicates are negated", r.Name)
	case r.Vector > 0 && o.Component < 0:
		return 0, d.invalid("%s is a vector; one component is wanted", r.Name)
	}
	return d.registers[o.Register] + int32(max(0, o.Component)), nil
}

// widthOfRegister gives the bits of the register that an operand names.
func (d *decoder) widthOfRegister(o ptx.Operand) int {
	if o.Kind != ptx.RegisterOperand {
		return 64
	}
	return widthOf(d.function.Registers[o.Register].Type[1:])
}

// destination gives the slot that an instruction writes.
func (d *decoder) destination(o ptx.Operand) (int32, error) {
	switch o.Kind {
	case ptx.RegisterOperand:
		return d.register(o)
	case ptx.SinkOperand:
		return sinkSlot, nil
	}
	return 0, d.invalid("the destination is no register")
}

// source gives the slot that holds an operand, as a value of a type.
func (d *decoder) source(o ptx.Operand, kind string) (int32, error) {
	switch o.Kind {
	case ptx.RegisterOperand:
		return d.register(o)
	case ptx.IntegerOperand, ptx.Float32Operand, ptx.Float64Operand:
		if widthOf(kind) == 0 {
			return 0, d.invalid("a constant cannot be .%s", kind)
		}
		return d.slotOf(ptx.ConstantBits(o, "."+kind)), nil
	case ptx.SpecialOperand:
		return d.specialSlot(o.Name)
	case ptx.SymbolOperand, ptx.VariableOperand, ptx.ParamOperand, ptx.FunctionOperand:
		return d.addressOf(o)
	}
	return 0, d.invalid("an operand is no value")
}

// place says where a name's memory is: in which space, at which address, and
// whether that is relative to the frame.
type place struct {
	space   space
	address uint64
	frame   bool
	dynamic bool
}

func (d *decoder) placeOf(o ptx.Operand) (place, error) {
	switch o.Kind {
	case ptx.SymbolOperand:
		if at, known := d.shared[o.Name]; known {
			return place{space: shared, address: at, dynamic: at == unplaced}, nil
		}
		if s, known := d.library.symbols[o.Name]; known {
			return place{space: global, address: s.low}, nil
		}
		return place{}, d.invalid("%s is declared extern, and defined nowhere", o.Name)
	case ptx.VariableOperand:
		v := &d.function.Variables[o.Index]
		if v.Space == ".shared" {
			return place{space: shared, address: d.variables[o.Index], dynamic: d.variables[o.Index] == unplaced}, nil
		}
		return place{space: local, address: d.variables[o.Index], frame: true}, nil
	case ptx.ParamOperand:
		switch {
		case d.function.Entry:
			return place{space: param, address: d.function.Params[o.Index].Offset}, nil
		case o.Return:
			return place{space: local, address: d.routine.returns[o.Index], frame: true}, nil
		}
		return place{space: local, address: d.routine.params[o.Index], frame: true}, nil
	}
	return place{}, d.invalid("an operand has no address")
}

// addressOf gives a register with a name's address in its own space.
func (d *decoder) addressOf(o ptx.Operand) (int32, error) {
	if o.Kind == ptx.FunctionOperand {
		address, known := d.library.functionAddress(o.Name)
		if !known {
			return 0, d.invalid("the function %s is declared, and defined nowhere", o.Name)
		}
		return d.slotOf(address), nil
	}
	p, err := d.placeOf(o)
	if err != nil {
		return 0, err
	}
	address := p.address + uint64(o.Offset)
	switch {
	case p.frame:
		slot := d.temporary()
		d.emit(instruction{op: opFrame, d: slot, offset: address})
		return slot, nil
	case p.dynamic:
		return d.dynamicSlot(uint64(o.Offset)), nil
	}
	return d.slotOf(address), nil
}

// dynamicSlot gives a constant that is moved when static shared memory is placed.
func (d *decoder) dynamicSlot(offset uint64) int32 {
	slot := d.program.slots
	d.program.slots++
	d.dynamic = append(d.dynamic, dynamicConstant{len(d.program.constants), offset})
	d.program.constants = append(d.program.constants, constant{slot, 0})
	return slot
}

// predicate gives the slot of a predicate, and whether it is negated.
func (d *decoder) predicate(o ptx.Operand) (int32, bool, error) {
	switch o.Kind {
	case ptx.RegisterOperand:
		r := &d.function.Registers[o.Register]
		if r.Type != ".pred" {
			return 0, false, d.invalid("%s is no predicate", r.Name)
		}
		return d.registers[o.Register], o.Negated, nil
	case ptx.SinkOperand:
		return sinkPredicate, false, nil
	case ptx.IntegerOperand:
		if o.Bits != 0 {
			return truePredicate, false, nil
		}
		return falsePredicate, false, nil
	case ptx.SpecialOperand: // %is_explicit_cluster
		return falsePredicate, false, nil
	}
	return 0, false, d.invalid("an operand is no predicate")
}

// isPredicate says whether an operand is a predicate register.
func (d *decoder) isPredicate(o ptx.Operand) bool {
	return o.Kind == ptx.RegisterOperand && d.function.Registers[o.Register].Type == ".pred"
}

// want checks how many operands there are.
func (d *decoder) want(least, most int) error {
	if n := len(d.at.Operands); n < least || n > most {
		if least == most {
			return d.invalid("%d operands; %d are wanted", n, least)
		}
		return d.invalid("%d operands; %d to %d are wanted", n, least, most)
	}
	return nil
}

func (d *decoder) has(modifier string) bool {
	for _, m := range d.at.Modifiers {
		if m == modifier {
			return true
		}
	}
	return false
}

// kind gives the last modifier: the type.
func (d *decoder) kind() string {
	if len(d.at.Modifiers) == 0 {
		return ""
	}
	return d.at.Modifiers[len(d.at.Modifiers)-1]
}

// specialSlot gives the register that holds %tid.x and its like.
func (d *decoder) specialSlot(name string) (int32, error) {
	if strings.HasPrefix(name, "%clock") || strings.HasPrefix(name, "%globaltimer") {
		slot := d.temporary()
		d.emit(instruction{op: opClock, d: slot, mask: clockMask(name), flags: clockFlags(name)})
		return slot, nil
	}
	if value, known := fixedSpecials[name]; known {
		return d.slotOf(value), nil
	}
	if !isSpecial(name) {
		return 0, d.fail(driver.ResultNotSupported, "the simulator lacks %s", name)
	}
	slot, known := d.special[name]
	if !known {
		slot = d.temporary()
		d.special[name] = slot
		d.program.specials = append(d.program.specials, special{slot, name})
	}
	return slot, nil
}
