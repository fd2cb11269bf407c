package sim

import (
	"math"
	"math/bits"
	"time"

	"dlaunch/internal/driver"
)

// runGroup runs a group until its lanes part, wait, end, or reach a place where
// others may be met.
func (w *warp) runGroup(at int) {
	code := w.block.run.program.code
	g := &w.groups[at]
	pc, mask := g.pc, g.mask
	if code[pc].op == opLabel {
		w.budget--
		pc++
	}
	for {
		in := &code[pc]
		active := mask
		if in.guard != 0 {
			if in.guard > 0 {
				active &= w.predicates[in.guard-1]
			} else {
				active &^= w.predicates[-in.guard-1]
			}
			if active == 0 {
				if in.op >= opBranch && len(w.groups) > 1 {
					g.pc = pc + 1
					return
				}
				pc++
				continue
			}
		}
		switch {
		case in.op == opLabel:
			if w.budget--; len(w.groups) > 1 || w.budget <= 0 {
				g.pc = pc
				return
			}
		case in.op >= opBranch:
			g.pc = pc
			if !w.control(at, in, active) {
				return
			}
			at, g = 0, &w.groups[0] // groups may have moved
			pc, mask = g.pc, g.mask
			continue
		case in.op >= opPredicate:
			w.special(pc, in, active, g)
			if w.block.fault != nil {
				return
			}
		case active == allLanes && in.op > opLanes:
			w.full(in)
		default:
			w.masked(in, active)
		}
		pc++
	}
}

// masked runs whatever computes lane by lane, for some lanes.
func (w *warp) masked(in *instruction, active uint32) {
	r := w.registers
	switch {
	case in.test != nil:
		w.compare(in, active)
	case in.op == opSelect:
		d, a, b, p := &r[in.d], &r[in.a], &r[in.b], w.predicates[in.c]
		for m := active; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			if p>>lane&1 != 0 {
				d[lane] = a[lane]
			} else {
				d[lane] = b[lane]
			}
		}
	default:
		d, a, b, c, fn := &r[in.d], &r[in.a], &r[in.b], &r[in.c], in.fn
		if active == allLanes {
			for i := range d {
				d[i] = fn(a[i], b[i], c[i])
			}
			return
		}
		for m := active; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			d[lane] = fn(a[lane], b[lane], c[lane])
		}
	}
}

func (w *warp) compare(in *instruction, active uint32) {
	a, b := &w.registers[in.a], &w.registers[in.b]
	result := uint32(0)
	for m := active; m != 0; m &= m - 1 {
		if lane := bits.TrailingZeros32(m) & 31; in.test(a[lane], b[lane]) {
			result |= 1 << lane
		}
	}
	if in.op != opSetPlus && in.op != opSetLanes {
		w.predicates[in.d] = w.predicates[in.d]&^active | result
		return
	}
	other := w.predicate(in.more.predicate, in.more.negated)
	combined, inverse := uint32(0), uint32(0)
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		bit := uint32(1) << lane
		if in.more.combine(result&bit != 0, other&bit != 0) {
			combined |= bit
		}
		if in.more.combine(result&bit == 0, other&bit != 0) {
			inverse |= bit
		}
	}
	if in.op == opSetLanes {
		w.write(in.d, combined, in.mask)
		w.write(in.d, active&^combined, 0)
		return
	}
	w.predicates[in.d] = w.predicates[in.d]&^active | combined
	if in.c != sinkPredicate {
		w.predicates[in.c] = w.predicates[in.c]&^active | inverse
	}
}

// special runs what is neither lane by lane nor a change of direction.
func (w *warp) special(pc int32, in *instruction, active uint32, g *group) {
	switch in.op {
	case opPredicate:
		w.logic(in, active)
	case opFrame:
		w.write(in.d, active, g.frame.base+in.offset)
	case opCarry:
		w.carry(in, active)
	case opClock:
		w.clock(in, active)
	case opLoadParam:
		w.loadParam(in, active)
	case opLoad, opStore:
		w.access(pc, in, active, g.frame.base)
	case opAtomic:
		w.atomic(pc, in, active)
	case opCopyAsync:
		w.copyAsync(pc, in, active)
	case opFence:
		w.block.run.next.Load() // a full barrier for this thread
	case opActiveMask:
		w.write(in.d, active, uint64(active))
	}
}

func (w *warp) logic(in *instruction, active uint32) {
	a, b := w.predicate(in.a, in.more.negated), w.predicate(in.b, in.flags&flagNegated != 0)
	switch in.more.mode {
	case logicAnd:
		a &= b
	case logicOr:
		a |= b
	case logicXor:
		a ^= b
	case logicNot:
		a = ^a
	}
	w.predicates[in.d] = w.predicates[in.d]&^active | a&active
}

func (w *warp) carry(in *instruction, active uint32) {
	d, a, b, c, flags := &w.registers[in.d], &w.registers[in.a], &w.registers[in.b], &w.registers[in.c], &w.registers[w.block.run.program.carry]
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		result, out := in.more.carry(a[lane], b[lane], c[lane], flags[lane]&1)
		d[lane] = result
		if in.flags&flagKeep != 0 {
			flags[lane] = out
		}
	}
}

func (w *warp) clock(in *instruction, active uint32) {
	now := uint64(time.Now().UnixNano())
	if in.flags&flagSince != 0 {
		now = uint64(time.Since(w.block.run.started))
	}
	if in.flags&flagUpper != 0 {
		now >>= 32
	}
	w.write(in.d, active, now&in.mask)
}

// full has a loop for each hot instruction, when all lanes run.
func (w *warp) full(in *instruction) {
	r := w.registers
	switch in.op {
	case opMove:
		r[in.d] = r[in.a]
	case opAdd32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) + uint32(b[i]))
		}
	case opAdd64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] + b[i]
		}
	case opSub32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) - uint32(b[i]))
		}
	case opMul32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) * uint32(b[i]))
		}
	case opMad32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = uint64(uint32(a[i])*uint32(b[i]) + uint32(c[i]))
		}
	case opMulWideS32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
		}
	case opMadWideS32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = uint64(int64(int32(a[i]))*int64(int32(b[i]))) + c[i]
		}
	case opMulWideU32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i])) * uint64(uint32(b[i]))
		}
	case opAnd:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] & b[i]
		}
	case opOr:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] | b[i]
		}
	case opXor:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] ^ b[i]
		}
	case opShl32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = uint64(uint32(a[i]) << uint32(b[i]))
		}
	case opShl64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = a[i] << uint32(b[i])
		}
	case opCvtS64S32:
		d, a := &r[in.d], &r[in.a]
		for i := range d {
			d[i] = uint64(int64(int32(a[i])))
		}
	case opLow32:
		d, a := &r[in.d], &r[in.a]
		for i := range d {
			d[i] = uint64(uint32(a[i]))
		}
	default:
		w.fullFloat(in)
	}
}

func (w *warp) fullFloat(in *instruction) {
	r := w.registers
	switch in.op {
	case opAddF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) + f32(b[i]))
		}
	case opSubF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) - f32(b[i]))
		}
	case opMulF32:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits32(f32(a[i]) * f32(b[i]))
		}
	case opFmaF32:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			sum := float64(f32(a[i]))*float64(f32(b[i])) + float64(f32(c[i]))
			v := math.Float64bits(sum)
			// fma32, but for what rounds twice or may be tiny or no number.
			if exponent := v >> 52 & 0x7ff; v&(1<<29-1) != 1<<28 && exponent-903 < 1024 || sum == 0 {
				d[i] = uint64(math.Float32bits(float32(sum)))
			} else {
				d[i] = bits32(fma32(f32(a[i]), f32(b[i]), f32(c[i])))
			}
		}
	case opMaxF32:
		d, a, b, fn := &r[in.d], &r[in.a], &r[in.b], in.fn
		for i := range d {
			switch x, y := f32(a[i]), f32(b[i]); {
			case x > y:
				d[i] = a[i]
			case x < y:
				d[i] = b[i]
			default:
				d[i] = fn(a[i], b[i], 0)
			}
		}
	case opAddF64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits64(f64(a[i]) + f64(b[i]))
		}
	case opMulF64:
		d, a, b := &r[in.d], &r[in.a], &r[in.b]
		for i := range d {
			d[i] = bits64(f64(a[i]) * f64(b[i]))
		}
	case opFmaF64:
		d, a, b, c := &r[in.d], &r[in.a], &r[in.b], &r[in.c]
		for i := range d {
			d[i] = bits64(math.FMA(f64(a[i]), f64(b[i]), f64(c[i])))
		}
	case opSelect:
		d, a, b, p := &r[in.d], &r[in.a], &r[in.b], w.predicates[in.c]
		for i := range d {
			v := b[i]
			if p>>i&1 != 0 {
				v = a[i]
			}
			d[i] = v
		}
	default:
		w.fullCompare(in)
	}
}

func (w *warp) fullCompare(in *instruction) {
	a, b := &w.registers[in.a], &w.registers[in.b]
	m := uint32(0)
	switch in.op {
	case opSetEqual:
		for i := range a {
			m |= bit(a[i] == b[i]) << i
		}
	case opSetNotEqual:
		for i := range a {
			m |= bit(a[i] != b[i]) << i
		}
	case opSetLessS32:
		for i := range a {
			m |= bit(int32(a[i]) < int32(b[i])) << i
		}
	case opSetLessEqualS32:
		for i := range a {
			m |= bit(int32(a[i]) <= int32(b[i])) << i
		}
	case opSetLessU32:
		for i := range a {
			m |= bit(uint32(a[i]) < uint32(b[i])) << i
		}
	case opSetLessEqualU32:
		for i := range a {
			m |= bit(uint32(a[i]) <= uint32(b[i])) << i
		}
	case opSetLessS64:
		for i := range a {
			m |= bit(int64(a[i]) < int64(b[i])) << i
		}
	case opSetLessEqualS64:
		for i := range a {
			m |= bit(int64(a[i]) <= int64(b[i])) << i
		}
	case opSetLessF32:
		for i := range a {
			m |= bit(f32(a[i]) < f32(b[i])) << i
		}
	case opSetLessEqualF32:
		for i := range a {
			m |= bit(f32(a[i]) <= f32(b[i])) << i
		}
	default:
		w.masked(in, allLanes)
		return
	}
	w.predicates[in.d] = m
}

func bit(b bool) uint32 {
	v := uint32(0)
	if b {
		v = 1
	}
	return v
}

// control runs what changes direction. It says whether the group goes on at its
// pc, alone in its warp.
func (w *warp) control(at int, in *instruction, active uint32) bool {
	g := &w.groups[at]
	switch in.op {
	case opBranch:
		if active == g.mask {
			g.pc = in.target
			return len(w.groups) == 1
		}
		w.part(at, active)
		w.groups[at].pc = in.target
		return false
	case opBranchTable:
		return w.branchTable(at, in, active)
	case opReturn:
		if g.frame.caller != nil {
			return w.returns(at, active)
		}
		w.exit(at, active)
	case opExit:
		w.exit(at, active)
	case opTrap:
		w.fail(g.pc, bits.TrailingZeros32(active), driver.ResultLaunchFailed, "the kernel trapped")
	case opCall:
		return w.call(at, in, active)
	case opBarrier:
		w.barrier(w.part(at, active), in)
	default:
		return w.together(w.part(at, active), in)
	}
	return false
}

// part leaves only active lanes in a group; the others go on behind the
// instruction.
func (w *warp) part(at int, active uint32) int {
	g := &w.groups[at]
	if rest := g.mask &^ active; rest != 0 {
		g.mask = active
		w.groups = append(w.groups, group{pc: g.pc + 1, mask: rest, frame: g.frame})
	}
	return at
}

func (w *warp) exit(at int, active uint32) {
	w.alive &^= active
	g := &w.groups[at]
	if g.mask &^= active; g.mask == 0 {
		w.remove(at, at)
		return
	}
	g.pc++
}

// branchTable sends each lane to its place.
func (w *warp) branchTable(at int, in *instruction, active uint32) bool {
	w.part(at, active)
	index := &w.registers[in.a]
	for rest := active; rest != 0; {
		lane := bits.TrailingZeros32(rest)
		n := index[lane]
		if n >= uint64(len(in.more.table)) {
			w.fail(w.groups[at].pc, lane, driver.ResultIllegalInstruction, "branch %d of a table of %d", n, len(in.more.table))
			return false
		}
		same := uint32(0)
		for m := rest; m != 0; m &= m - 1 {
			if other := bits.TrailingZeros32(m); index[other] == n {
				same |= 1 << other
			}
		}
		if rest &^= same; rest == 0 {
			w.groups[at].mask, w.groups[at].pc = same, in.more.table[n]
		} else {
			w.groups = append(w.groups, group{pc: in.more.table[n], mask: same, frame: w.groups[at].frame})
		}
	}
	return false
}

// barrier has a group wait, or only tells that it was there.
func (w *warp) barrier(at int, in *instruction) {
	g := &w.groups[at]
	lane := bits.TrailingZeros32(g.mask)
	id, count := w.registers[in.a][lane], uint32(w.registers[in.b][lane])
	if id >= barriers || count%warpSize != 0 {
		w.fail(g.pc, lane, driver.ResultIllegalInstruction, "barrier %d for %d threads; 0 to %d, and a multiple of %d, are wanted", id, count, barriers-1, warpSize)
		return
	}
	if in.more.mode == barrierArrive {
		if g.mask == w.alive {
			w.block.arrived[id] += warpSize
		} else {
			w.block.arrived[id] += uint32(bits.OnesCount32(g.mask))
		}
		g.pc++
		return
	}
	g.state, g.barrier, g.count = atBarrier, uint32(id), count
}
