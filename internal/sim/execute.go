package sim

import (
	"math/bits"
	"time"
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
