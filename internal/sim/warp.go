package sim

import "math/bits"

type groupState uint8

const (
	ready groupState = iota
	atBarrier
	forLanes // of the warp, at an instruction that they run together
)

// group is lanes of a warp that are at the same place.
type group struct {
	pc      int32
	mask    uint32
	state   groupState
	barrier uint32 // its number
	count   uint32 // threads that it waits for; 0 for all
	need    uint32 // lanes that it waits for
	frame   *frame
}

// frame is one active call of a group.
type frame struct {
	caller   *frame
	call     *call
	routine  *routine
	returnTo int32
	base     uint64 // of its bytes in local memory
	depth    int32
	saved    []lanes // registers of a recursive routine as the caller left them
	preds    []uint32
}

// warp is 32 threads or fewer.
type warp struct {
	block      *block
	number     int
	size       int
	registers  []lanes
	predicates []uint32
	alive      uint32
	groups     []group
	entry      frame
	local      [warpSize][]byte
	picks      int
	budget     int
}

func newWarp(b *block, number, size int) *warp {
	p := b.run.program
	w := &warp{block: b, number: number, size: size, registers: make([]lanes, p.slots), predicates: make([]uint32, p.predicates)}
	w.entry.routine = &p.routines[0]
	for _, c := range p.constants {
		for lane := range warpSize {
			w.registers[c.slot][lane] = c.value
		}
	}
	w.fillSpecials(true)
	if p.localBytes > 0 {
		bytes := (min(p.localBytes, mostLocal) + 15) &^ 15
		for lane := range size {
			w.local[lane] = alignedBytes(bytes)
		}
	}
	return w
}

func (w *warp) begin() {
	w.alive = uint32(uint64(1)<<w.size - 1)
	w.predicates[falsePredicate], w.predicates[truePredicate] = 0, allLanes
	w.groups = append(w.groups[:0], group{mask: w.alive, frame: &w.entry})
	w.fillSpecials(false)
}

// patience is how many labels a warp passes before the next one's turn.
const patience = 4096

// step runs the warp until it waits, ends, or has had its turn. It says whether
// anything ran.
func (w *warp) step() bool {
	w.budget = patience
	ran := false
	for w.alive != 0 && w.budget > 0 && w.block.fault == nil {
		g := w.pick()
		if g < 0 {
			return ran
		}
		ran = true
		w.runGroup(g)
	}
	return ran
}

// pick chooses the group to run: the deepest in calls, then the one that is
// furthest behind, so that lanes meet again; now and then another one, so that
// none waits for ever for what a later one holds.
func (w *warp) pick() int {
	if len(w.groups) == 1 && w.groups[0].state == ready {
		return 0
	}
	best := w.behind()
	if best < 0 {
		if !w.wake() {
			return -1
		}
		best = w.behind()
	}
	if w.picks++; w.picks%fairness < fairness/8 && w.picks > fairness {
		best = w.ahead(best)
	}
	return w.merge(best)
}

const fairness = 1024

func (w *warp) behind() int {
	best := -1
	for i := range w.groups {
		g := &w.groups[i]
		if g.state != ready {
			continue
		}
		if best < 0 || g.frame.depth > w.groups[best].frame.depth || g.frame.depth == w.groups[best].frame.depth && g.pc < w.groups[best].pc {
			best = i
		}
	}
	return best
}

func (w *warp) ahead(best int) int {
	for i := range w.groups {
		if g := &w.groups[i]; g.state == ready && (g.frame.depth < w.groups[best].frame.depth || g.pc > w.groups[best].pc) {
			best = i
		}
	}
	return best
}

// merge joins all that are at the same place with the group, and gives its index.
func (w *warp) merge(at int) int {
	for i := len(w.groups) - 1; i >= 0; i-- {
		if i == at || w.groups[i].state != ready || w.groups[i].pc != w.groups[at].pc || !sameFrames(w.groups[i].frame, w.groups[at].frame) {
			continue
		}
		w.groups[at].mask |= w.groups[i].mask
		at = w.remove(i, at)
	}
	return at
}

// sameFrames says whether two groups return to the same places. Frames that
// saved registers are one call's own.
func sameFrames(a, b *frame) bool {
	for a != b {
		if a == nil || b == nil || a.depth != b.depth || a.returnTo != b.returnTo || a.call != b.call || a.routine != b.routine || a.saved != nil || b.saved != nil {
			return false
		}
		a, b = a.caller, b.caller
	}
	return true
}

// remove drops a group, and gives the new index of another one.
func (w *warp) remove(i, other int) int {
	last := len(w.groups) - 1
	w.groups[i] = w.groups[last]
	w.groups = w.groups[:last]
	if other == last {
		return i
	}
	return other
}

// wake readies groups whose lanes have all come, or will not come any more.
func (w *warp) wake() bool {
	woken := false
	together := uint32(0)
	for i := range w.groups {
		if g := &w.groups[i]; g.state == forLanes && w.block.run.program.code[g.pc].op == opWarpBarrier {
			together |= g.mask
		}
	}
	for i := range w.groups {
		g := &w.groups[i]
		if g.state != forLanes {
			continue
		}
		there := g.mask
		barrier := w.block.run.program.code[g.pc].op == opWarpBarrier
		if barrier {
			there = together
		}
		if g.need&w.alive&^there == 0 {
			g.state = ready
			if barrier {
				g.pc++
			}
			woken = true
		}
	}
	return woken
}

// gather joins to a group those that wait at the same instruction, and says
// whether all lanes that it needs are there now; if not, it waits.
func (w *warp) gather(at int, need uint32) (int, bool) {
	for i := len(w.groups) - 1; i >= 0; i-- {
		if i == at || w.groups[i].state == atBarrier || w.groups[i].pc != w.groups[at].pc || !sameFrames(w.groups[i].frame, w.groups[at].frame) {
			continue
		}
		need |= w.groups[i].need
		w.groups[at].mask |= w.groups[i].mask
		at = w.remove(i, at)
	}
	if need&w.alive&^w.groups[at].mask == 0 {
		w.groups[at].state, w.groups[at].need = ready, 0
		return at, true
	}
	w.groups[at].state, w.groups[at].need = forLanes, need
	return at, false
}

// waitingAt gives the lanes that wait at a barrier.
func (w *warp) waitingAt(id uint32) uint32 {
	mask := uint32(0)
	for i := range w.groups {
		if g := &w.groups[i]; g.state == atBarrier && g.barrier == id {
			mask |= g.mask
		}
	}
	return mask
}

func (w *warp) barrierCount(id uint32) uint32 {
	count := uint32(0)
	for i := range w.groups {
		if g := &w.groups[i]; g.state == atBarrier && g.barrier == id {
			count = max(count, g.count)
		}
	}
	return count
}

func (w *warp) predicate(slot int32, negated bool) uint32 {
	if negated {
		return ^w.predicates[slot]
	}
	return w.predicates[slot]
}

func (w *warp) setPredicate(slot int32, mask uint32, value bool) {
	if value {
		w.predicates[slot] |= mask
	} else {
		w.predicates[slot] &^= mask
	}
}

// write gives lanes of a register one value.
func (w *warp) write(slot int32, mask uint32, value uint64) {
	d := &w.registers[slot]
	for m := mask; m != 0; m &= m - 1 {
		d[bits.TrailingZeros32(m)] = value
	}
}
