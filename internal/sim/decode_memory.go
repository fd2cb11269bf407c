package sim

import (
	"slices"

	"dlaunch/internal/ptx"
)

// spaceOf reads a state space among the modifiers.
func (d *decoder) spaceOf() space {
	for _, m := range d.at.Modifiers {
		switch m {
		case "global", "const":
			return global
		case "shared", "shared::cta", "shared::cluster":
			return shared
		case "local":
			return local
		case "param", "param::entry", "param::func":
			return param
		}
	}
	return generic
}

// address decodes [base+offset] into the instruction's a, offset, space, flags.
func (d *decoder) address(in *instruction, o ptx.Operand, within space) error {
	in.space = within
	if o.Kind != ptx.AddressOperand { // atom takes [a] always, but old text writes names
		return d.invalid("an address in brackets is wanted")
	}
	in.offset = uint64(o.Offset)
	in.flags |= flagAbsolute
	in.a = d.slotOf(0)
	if len(o.Elements) == 0 {
		return nil
	}
	base := o.Elements[0]
	switch base.Kind {
	case ptx.RegisterOperand, ptx.SpecialOperand:
		in.flags &^= flagAbsolute
		if within == param && !d.function.Entry {
			in.space = local
		}
		slot, err := d.source(base, "u64")
		in.a = slot
		return err
	}
	p, err := d.placeOf(base)
	if err != nil {
		return err
	}
	if p.dynamic {
		in.a = d.dynamicSlot(0)
		in.flags &^= flagAbsolute
	} else {
		in.offset += p.address
	}
	in.space = p.space
	if p.frame {
		in.flags |= flagFrame
	}
	return nil
}

// loadStore decodes ld, ldu and st with all their hints.
func (d *decoder) loadStore() error {
	if err := d.want(2, 3); err != nil {
		return err
	}
	if d.has("async") || d.has("bulk") {
		return d.lacks()
	}
	kind := d.kind()
	width := widthOf(kind)
	if width == 0 {
		return d.lacks()
	}
	store := d.at.Name == "st"
	in := instruction{op: opLoad, size: uint8(width / 8), count: 1}
	value, at := d.at.Operands[0], d.at.Operands[1]
	if store {
		in.op, value, at = opStore, at, value
		in.flags |= flagStore
	}
	if err := d.address(&in, at, d.spaceOf()); err != nil {
		return err
	}
	if isSigned(kind) && !store {
		in.flags |= flagSigned
	}
	elements := []ptx.Operand{value}
	if value.Kind == ptx.VectorOperand {
		elements = value.Elements
	} else if value.Kind == ptx.RegisterOperand && d.function.Registers[value.Register].Vector > 0 && value.Component < 0 {
		elements = nil
		for i := range d.function.Registers[value.Register].Vector {
			element := value
			element.Component = int8(i)
			elements = append(elements, element)
		}
	}
	if n := len(elements); n != d.vectorLength() {
		return d.invalid("%d elements; %d are wanted", n, d.vectorLength())
	}
	in.count = uint8(len(elements))
	in.mask = maskOf(64)
	in.more = &details{}
	for _, element := range elements {
		slot, err := d.memoryValue(element, kind, store)
		if err != nil {
			return err
		}
		in.more.elements = append(in.more.elements, slot)
		if !store {
			in.mask = maskOf(d.widthOfRegister(element))
		}
	}
	in.d = in.more.elements[0]
	if in.space == param && in.flags&flagAbsolute != 0 && in.count == 1 && !store && d.function.Entry {
		in.op = opLoadParam
		if bytes := d.program.paramBytes; in.offset >= bytes || uint64(in.size) > bytes-in.offset {
			return d.invalid("it reads past the parameters")
		}
	}
	if in.space == param && store {
		return d.invalid("a kernel's parameters are read only")
	}
	d.emit(in)
	return nil
}

func (d *decoder) memoryValue(o ptx.Operand, kind string, store bool) (int32, error) {
	if store {
		return d.source(o, sourceKind(kind))
	}
	return d.destination(o)
}

func (d *decoder) vectorLength() int {
	switch {
	case d.has("v2"):
		return 2
	case d.has("v4"):
		return 4
	case d.has("v8"):
		return 8
	}
	return 1
}

// cvta decodes both directions.
func (d *decoder) cvta() error {
	if err := d.want(2, 2); err != nil {
		return err
	}
	window := windowOf(d.spaceOf())
	if d.has("to") {
		window = -window
	}
	op := opLanes
	if window == 0 {
		op = opMove
	}
	return d.lanesOf(func(a, _, _ uint64) uint64 {
		if a == 0 && window != 0 && int64(window) < 0 { // a null pointer stays one
			return 0
		}
		return a + window
	}, op, "u64")
}

func windowOf(s space) uint64 {
	switch s {
	case shared:
		return sharedWindow
	case local:
		return localWindow
	case param:
		return paramWindow
	}
	return 0
}

func (d *decoder) isSpace() error {
	if err := d.want(2, 2); err != nil {
		return err
	}
	to, _, err := d.predicate(d.at.Operands[0])
	if err != nil {
		return err
	}
	from, err := d.source(d.at.Operands[1], "u64")
	if err != nil {
		return err
	}
	asked := d.spaceOf()
	d.emit(instruction{op: opSet, d: to, a: from, b: from, test: func(a, _ uint64) bool { return spaceAt(a) == asked }})
	return nil
}

// spaceAt says which space a generic address lies in.
func spaceAt(address uint64) space {
	for _, s := range []space{shared, local, param} {
		if address-windowOf(s) < windowBytes {
			return s
		}
	}
	return global
}

// mapa of one's own block, the only one in its cluster.
func (d *decoder) mapa() error {
	if err := d.want(3, 3); err != nil {
		return err
	}
	d.at.Operands = d.at.Operands[:2]
	return d.lanesOf(func(a, _, _ uint64) uint64 { return a }, opLanes, "u64")
}

var atomicNames = []string{"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}

// atomic decodes atom and red.
func (d *decoder) atomic() error {
	kind := d.kind()
	at := slices.IndexFunc(d.at.Modifiers, func(m string) bool { return slices.Contains(atomicNames, m) })
	width := widthOf(kind)
	if at < 0 || width < 16 || d.vectorLength() > 1 || d.has("async") {
		return d.lacks()
	}
	name := d.at.Modifiers[at]
	in := instruction{op: opAtomic, size: uint8(width / 8), count: 1}
	operands := d.at.Operands
	if d.at.Name == "red" {
		in.flags |= flagReduce
		in.d = sinkSlot
	} else {
		if len(operands) < 3 {
			return d.want(3, 4)
		}
		to, err := d.destination(operands[0])
		if err != nil {
			return err
		}
		in.d, operands = to, operands[1:]
	}
	if len(operands) < 2 || name == "cas" && len(operands) < 3 {
		return d.invalid("operands are missing")
	}
	if err := d.address(&in, operands[0], d.spaceOf()); err != nil {
		return err
	}
	var err error
	if in.b, err = d.source(operands[1], sourceKind(kind)); err != nil {
		return err
	}
	in.c = in.b
	if name == "cas" {
		if in.c, err = d.source(operands[2], sourceKind(kind)); err != nil {
			return err
		}
	}
	switch kind {
	case "f32", "f64":
		in.fn = floatLane(name, kind, floatOptions{})
		if name == "exch" {
			in.fn = integerLane(name, bitsKind(kind))
		}
	case "f16", "bf16":
		in.fn = halfLane(name, kind, floatOptions{})
	case "f16x2", "bf16x2":
		in.fn = pairLane(halfLane(name, kind[:len(kind)-2], floatOptions{}))
	default:
		in.fn = integerLane(name, kind)
	}
	if in.fn == nil {
		return d.lacks()
	}
	in.more = &details{mode: atomicAny}
	if name == "add" && kind[0] != 'f' && width >= 32 && kind != "bf16x2" {
		in.more.mode = atomicAdd
	}
	d.emit(in)
	return nil
}

const (
	atomicAny mode = iota
	atomicAdd
)

// copyAsync decodes cp.async, which copies at once; waiting for it does nothing.
func (d *decoder) copyAsync() error {
	m := d.at.Modifiers
	if len(m) >= 2 && (m[1] == "commit_group" || m[1] == "wait_group" || m[1] == "wait_all") {
		return nil
	}
	if len(m) < 4 || m[0] != "async" || m[1] != "ca" && m[1] != "cg" {
		return d.lacks()
	}
	if err := d.want(3, 5); err != nil {
		return err
	}
	in := instruction{op: opCopyAsync, count: 1, more: &details{predicate: -1}}
	if err := d.address(&in, d.at.Operands[0], shared); err != nil {
		return err
	}
	from := instruction{}
	if err := d.address(&from, d.at.Operands[1], global); err != nil {
		return err
	}
	if in.flags&flagFrame != 0 || d.at.Operands[2].Kind != ptx.IntegerOperand {
		return d.lacks()
	}
	in.size = uint8(d.at.Operands[2].Bits)
	if in.size != 4 && in.size != 8 && in.size != 16 {
		return d.invalid("%d bytes; 4, 8 or 16 are wanted", d.at.Operands[2].Bits)
	}
	in.b, in.mask = from.a, from.offset
	in.c = d.slotOf(uint64(in.size))
	if len(d.at.Operands) > 3 {
		ignored := d.at.Operands[3]
		if d.isPredicate(ignored) {
			slot, negated, err := d.predicate(ignored)
			if err != nil {
				return err
			}
			in.more.predicate, in.more.negated = slot, negated
		} else if !d.has("L2::cache_hint") || len(d.at.Operands) == 5 {
			slot, err := d.source(ignored, "u32")
			if err != nil {
				return err
			}
			in.c = slot
		}
	}
	d.emit(in)
	return nil
}

// convert decodes cvt.
func (d *decoder) convert() error {
	m := d.at.Modifiers
	if len(m) < 2 || d.has("pack") {
		return d.lacks()
	}
	to, from := m[len(m)-2], m[len(m)-1]
	if to == "f16x2" || to == "bf16x2" {
		if from != "f32" || len(d.at.Operands) != 3 {
			return d.lacks()
		}
		return d.lanesOf(convertPair(conversion(to[:len(to)-2], "f32", m[:len(m)-2])), opLanes, "f32", "f32")
	}
	fn := conversion(to, from, m[:len(m)-2])
	if fn == nil {
		return d.lacks()
	}
	if err := d.want(2, 2); err != nil {
		return err
	}
	width := d.widthOfRegister(d.at.Operands[0])
	op := opLanes
	switch {
	case d.has("sat"):
	case to == "s64" && from == "s32" && width == 64:
		op = opCvtS64S32
	case (to == "u64" || to == "u32" || to == "s32") && (from == "u32" || from == "u64" && widthOf(to) == 32 || from == "s64" && widthOf(to) == 32 || from == "s32" && widthOf(to) == 32) && width >= 32 && (width == 32 || to[0] == 'u'):
		op = opLow32
	}
	masked := fn
	if width < 64 {
		masked = func(a, b, c uint64) uint64 { return fn(a, b, c) & maskOf(width) }
	}
	return d.lanesOf(masked, op, sourceKind(from))
}
