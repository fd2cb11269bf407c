package sim

import (
	"encoding/binary"
	"math/bits"

	"dlaunch/internal/driver"
)

// call begins a function for a group's active lanes.
func (w *warp) call(at int, in *instruction, active uint32) bool {
	w.part(at, active)
	c := in.more.call
	if c.builtin != "" {
		w.builtin(at, c)
		w.groups[at].pc++
		return len(w.groups) == 1 && w.block.fault == nil
	}
	n := c.routine
	if n < 0 {
		var ok bool
		if n, ok = w.pointed(at, in, c); !ok {
			return false
		}
	}
	g := &w.groups[at]
	r := &w.block.run.program.routines[n]
	f := &frame{caller: g.frame, call: c, routine: r, returnTo: g.pc + 1, base: g.frame.base + g.frame.routine.frame, depth: g.frame.depth + 1}
	if !w.reserve(g, f) {
		return false
	}
	if r.recursive {
		f.saved = append([]lanes{}, w.registers[r.registers[0]:r.registers[1]]...)
		f.preds = append([]uint32{}, w.predicates[r.preds[0]:r.preds[1]]...)
	}
	w.pass(c.args, r.params, r.sizes, g.frame.base, f.base, g.mask, true)
	g.frame, g.pc = f, r.start
	return len(w.groups) == 1
}

// pointed finds the function that a pointer means; lanes that mean another one
// wait their turn.
func (w *warp) pointed(at int, in *instruction, c *call) (int32, bool) {
	g := &w.groups[at]
	pointers := &w.registers[c.pointer]
	first := bits.TrailingZeros32(g.mask)
	target := pointers[first]
	same := uint32(0)
	for m := g.mask; m != 0; m &= m - 1 {
		if lane := bits.TrailingZeros32(m); pointers[lane] == target {
			same |= 1 << lane
		}
	}
	n, known := w.block.run.program.byAddress[target]
	routines := w.block.run.program.routines
	if !known || len(routines[n].params) != len(c.args) || len(routines[n].returns) != len(c.returns) {
		w.fail(g.pc, first, driver.ResultInvalidPC, "calls 0x%x, which is no function of that shape", target)
		return 0, false
	}
	if rest := g.mask &^ same; rest != 0 {
		g.mask = same
		w.groups = append(w.groups, group{pc: g.pc, mask: rest, frame: g.frame})
	}
	return n, true
}

// reserve makes room for a frame in each lane's local memory.
func (w *warp) reserve(g *group, f *frame) bool {
	need := f.base + f.routine.frame
	if need > mostLocal {
		w.fail(g.pc, bits.TrailingZeros32(g.mask), driver.ResultLaunchFailed, "the stack overflows: calls take %d bytes of local memory, %d is the most", need, mostLocal)
		return false
	}
	for m := g.mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m)
		if uint64(len(w.local[lane])) < need {
			more := alignedBytes(min(mostLocal, max(need, 2*uint64(len(w.local[lane])))))
			copy(more, w.local[lane])
			w.local[lane] = more
		}
	}
	return true
}

// pass copies arguments into a frame, or results out of one.
func (w *warp) pass(list []passed, offsets, sizes []uint64, callerBase, calleeBase uint64, mask uint32, in bool) {
	for i, p := range list {
		for m := mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			callee := w.local[lane][calleeBase+offsets[i]:][:sizes[i]]
			var word [8]byte
			caller := word[:]
			if p.slot < 0 {
				caller = w.local[lane][callerBase+p.offset:][:p.size]
			}
			switch {
			case in:
				if p.slot >= 0 {
					binary.LittleEndian.PutUint64(word[:], w.registers[p.slot][lane])
				}
				copy(callee, caller)
			default:
				copy(caller, callee)
				if p.slot >= 0 {
					w.registers[p.slot][lane] = binary.LittleEndian.Uint64(word[:])
				}
			}
		}
	}
}

// returns ends a function for active lanes.
func (w *warp) returns(at int, active uint32) bool {
	w.part(at, active)
	g := &w.groups[at]
	f := g.frame
	if f.saved != nil {
		w.restore(f, g.mask)
	}
	w.pass(f.call.returns, f.routine.returns, f.routine.outs, f.caller.base, f.base, g.mask, false)
	g.frame, g.pc = f.caller, f.returnTo
	return len(w.groups) == 1
}

// restore gives the lanes the registers that they had before a recursive call.
func (w *warp) restore(f *frame, mask uint32) {
	for i := range f.saved {
		register := &w.registers[int(f.routine.registers[0])+i]
		for m := mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m) & 31
			register[lane] = f.saved[i][lane]
		}
	}
	for i, p := range f.preds {
		slot := int(f.routine.preds[0]) + i
		w.predicates[slot] = w.predicates[slot]&^mask | p&mask
	}
}
