package sim

import (
	"math/bits"

	"dlaunch/internal/driver"
)

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
