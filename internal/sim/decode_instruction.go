package sim

// decodeInstruction emits what one instruction does.
func (d *decoder) decodeInstruction() error {
	switch d.at.Name {
	case "mov":
		return d.move()
	case "add", "sub", "mul", "mad", "mul24", "mad24", "fma", "div", "rem", "abs", "neg", "min", "max", "sad", "popc", "clz", "brev", "bfind",
		"cnot", "shl", "shr", "sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh", "copysign", "bfe", "fns", "dp4a", "dp2a", "shf", "bmsk", "szext":
		return d.arithmetic()
	case "and", "or", "xor", "not":
		if d.kind() == "pred" {
			return d.predicateLogic()
		}
		return d.arithmetic()
	case "addc", "subc", "madc":
		return d.carry(true)
	case "lop3":
		return d.lop3()
	case "prmt":
		return d.prmt()
	case "bfi":
		return d.bfi()
	case "setp":
		return d.setp()
	case "set":
		return d.set()
	case "selp":
		return d.selp()
	case "slct":
		return d.slct()
	case "testp":
		return d.testp()
	case "cvt":
		return d.convert()
	case "cvta":
		return d.cvta()
	case "isspacep":
		return d.isSpace()
	case "mapa":
		return d.mapa()
	case "ld", "ldu", "st":
		return d.loadStore()
	case "atom", "red":
		return d.atomic()
	case "cp":
		return d.copyAsync()
	case "bra", "brx", "call", "ret", "exit", "trap", "brkpt":
		return d.control()
	case "bar", "barrier":
		return d.barrier()
	case "shfl", "vote", "match", "redux", "activemask", "elect":
		return d.warpWide()
	case "membar", "fence":
		d.emit(instruction{op: opFence})
		return nil
	case "nanosleep", "prefetch", "prefetchu", "applypriority", "discard", "griddepcontrol", "pmevent", "setmaxnreg":
		return nil
	case "createpolicy":
		return d.createPolicy()
	}
	return d.lacks()
}

// lanesOf emits a lane function with its operands: the first is written, each
// other is read as a type.
func (d *decoder) lanesOf(fn laneFunc, op opcode, kinds ...string) error {
	if fn == nil {
		return d.lacks()
	}
	if err := d.want(len(kinds)+1, len(kinds)+1); err != nil {
		return err
	}
	to, err := d.destination(d.at.Operands[0])
	if err != nil {
		return err
	}
	slots := [3]int32{sinkSlot, sinkSlot, sinkSlot}
	for i, kind := range kinds {
		if slots[i], err = d.source(d.at.Operands[i+1], kind); err != nil {
			return err
		}
	}
	d.emit(instruction{op: op, d: to, a: slots[0], b: slots[1], c: slots[2], fn: fn})
	return nil
}

// mov: registers, constants, addresses, vectors and predicates.
func (d *decoder) move() error {
	if err := d.want(2, 2); err != nil {
		return err
	}
	kind := d.kind()
	to, from := d.at.Operands[0], d.at.Operands[1]
	switch {
	case kind == "pred":
		return d.predicateLogic()
	case d.vectorLength() > 1:
		return d.lacks()
	case len(to.Elements) > 0 || len(from.Elements) > 0:
		return d.movePacked(kind)
	}
	width := widthOf(kind)
	if width == 0 {
		return d.lacks()
	}
	slot, err := d.source(from, kind)
	if err != nil {
		return err
	}
	target, err := d.destination(to)
	if err != nil {
		return err
	}
	op := opMove
	if from.Kind == 0 && d.widthOfRegister(from) > width {
		op = opLanes
	}
	d.emit(instruction{op: op, d: target, a: slot, fn: func(a, _, _ uint64) uint64 { return a & maskOf(width) }})
	return nil
}

// movePacked is mov.b64 {%r1, %r2}, %rd1 and the other way round.
func (d *decoder) movePacked(kind string) error {
	width := widthOf(kind)
	to, from := d.at.Operands[0], d.at.Operands[1]
	if width == 0 {
		return d.lacks()
	}
	if len(to.Elements) > 0 && len(from.Elements) > 0 {
		return d.invalid("a vector is moved to a vector")
	}
	if parts := len(to.Elements); parts > 0 {
		slot, err := d.source(from, kind)
		if err != nil {
			return err
		}
		held := d.temporary() // one of the parts may be the source itself
		d.emit(instruction{op: opMove, d: held, a: slot, fn: func(a, _, _ uint64) uint64 { return a }})
		part := width / parts
		for i, element := range to.Elements {
			target, err := d.destination(element)
			if err != nil {
				return err
			}
			at := i * part
			d.emit(instruction{op: opLanes, d: target, a: held, fn: func(a, _, _ uint64) uint64 { return a >> at & maskOf(part) }})
		}
		return nil
	}
	parts := len(from.Elements)
	part := width / parts
	target, err := d.destination(to)
	if err != nil {
		return err
	}
	packed := d.slotOf(0)
	for i, element := range from.Elements {
		slot, err := d.source(element, "b"+itoa(part))
		if err != nil {
			return err
		}
		next, at := d.temporary(), i*part
		d.emit(instruction{op: opLanes, d: next, a: packed, b: slot, fn: func(a, b, _ uint64) uint64 { return a | b&maskOf(part)<<at }})
		packed = next
	}
	d.emit(instruction{op: opMove, d: target, a: packed, fn: func(a, _, _ uint64) uint64 { return a }})
	return nil
}

func itoa(n int) string {
	switch n {
	case 8:
		return "8"
	case 16:
		return "16"
	case 32:
		return "32"
	}
	return "64"
}

func (d *decoder) lop3() error {
	if d.has("or") || d.has("and") {
		return d.lacks()
	}
	if err := d.want(5, 5); err != nil {
		return err
	}
	table := d.at.Operands[4].Bits
	d.at.Operands = d.at.Operands[:4]
	return d.lanesOf(lookup3(table), opLanes, "b32", "b32", "b32")
}

func (d *decoder) prmt() error {
	mode := ""
	if last := d.kind(); last != "b32" {
		mode = last
	}
	return d.lanesOf(permute(mode), opLanes, "b32", "b32", "b32")
}

// bfi has four operands: two of them are packed into one first.
func (d *decoder) bfi() error {
	if err := d.want(5, 5); err != nil {
		return err
	}
	kind := d.kind()
	width := widthOf(kind)
	to, err := d.destination(d.at.Operands[0])
	if err != nil {
		return err
	}
	var slots [4]int32
	for i, k := range []string{kind, kind, "u32", "u32"} {
		if slots[i], err = d.source(d.at.Operands[i+1], k); err != nil {
			return err
		}
	}
	field := d.temporary()
	d.emit(instruction{op: opLanes, d: field, a: slots[2], b: slots[3], fn: func(at, length, _ uint64) uint64 { return at&0xff | length&0xff<<8 }})
	d.emit(instruction{op: opLanes, d: to, a: slots[0], b: slots[1], c: field, fn: func(f, into, field uint64) uint64 {
		return bitFieldInsert(width, f, into, field&0xff, field>>8)
	}})
	return nil
}

func (d *decoder) createPolicy() error {
	if err := d.want(2, 4); err != nil {
		return err
	}
	to, err := d.destination(d.at.Operands[0])
	if err != nil {
		return err
	}
	d.emit(instruction{op: opMove, d: to, a: d.slotOf(0), fn: func(a, _, _ uint64) uint64 { return a }})
	return nil
}
