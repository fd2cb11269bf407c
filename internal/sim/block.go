package sim

import (
	"math/bits"
	"runtime"

	"dlaunch/internal/driver"
)

// block runs one block after another; what it is made of is used again.
type block struct {
	run     *run
	linear  uint64
	index   [3]uint32
	warps   []*warp
	shared  []byte
	ranges  []cached // by instruction: the memory that was touched last
	arrived [barriers]uint32
	fault   *Fault
}

func (r *run) newBlock() *block {
	b := &block{run: r, ranges: make([]cached, len(r.program.code))}
	if bytes := r.program.dynamicBase + uint64(r.Shared); bytes > 0 {
		b.shared = alignedBytes(bytes)
	}
	threads := int(r.Block[0] * r.Block[1] * r.Block[2])
	for n := 0; n*warpSize < threads; n++ {
		b.warps = append(b.warps, newWarp(b, n, min(warpSize, threads-n*warpSize)))
	}
	return b
}

// begin prepares for a block: shared memory is zeroed, registers are not.
func (b *block) begin(linear uint64) {
	b.linear = linear
	x, y := uint64(b.run.Grid[0]), uint64(b.run.Grid[1])
	b.index = [3]uint32{uint32(linear % x), uint32(linear / x % y), uint32(linear / x / y)}
	clear(b.shared)
	clear(b.arrived[:])
	for _, w := range b.warps {
		w.begin()
	}
}

// execute runs the block's warps in turn until all are done, or one is at fault.
func (b *block) execute(yield bool) {
	for round := 0; ; round++ {
		done, progress := true, false
		for _, w := range b.warps {
			if w.alive == 0 {
				continue
			}
			done = false
			progress = w.step() || progress
			if b.fault != nil {
				return
			}
		}
		if done || b.run.stopped.Load() {
			return
		}
		progress = b.releaseBarriers() || progress
		if !progress {
			b.deadlock()
			return
		}
		if yield || round > 0 {
			runtime.Gosched()
		}
	}
}

// releaseBarriers lets go whoever waits at a barrier that all have reached.
func (b *block) releaseBarriers() bool {
	released := false
	for id := range uint32(barriers) {
		waiting, wanted, count := false, uint32(0), b.arrived[id]
		for _, w := range b.warps {
			at := w.waitingAt(id)
			if at != 0 {
				waiting = true
				wanted = max(wanted, w.barrierCount(id))
			}
			if at == w.alive { // all of it: the warp counts in full
				if at != 0 {
					count += warpSize
				}
			} else {
				count += uint32(bits.OnesCount32(at))
			}
		}
		if !waiting {
			continue
		}
		if wanted == 0 {
			wanted = b.live()
		}
		if count >= wanted {
			b.release(id)
			released = true
		}
	}
	return released
}

// live counts the threads that a barrier without a count waits for: whole warps,
// as arrivals are.
func (b *block) live() uint32 {
	n := uint32(0)
	for _, w := range b.warps {
		if w.alive != 0 {
			n += warpSize
		}
	}
	return n
}

// release writes the results of bar.red, and lets the lanes run.
func (b *block) release(id uint32) {
	b.arrived[id] = 0
	count, all := uint64(0), true
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.state == atBarrier && g.barrier == id {
				in := &b.run.program.code[g.pc]
				p := w.predicate(in.more.predicate, in.more.negated) & g.mask
				count += uint64(bits.OnesCount32(p))
				all = all && p == g.mask
			}
		}
	}
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			if g.state != atBarrier || g.barrier != id {
				continue
			}
			in := &b.run.program.code[g.pc]
			switch in.more.mode {
			case barrierPopc:
				w.write(in.d, g.mask, count)
			case barrierAnd:
				w.setPredicate(in.d, g.mask, all)
			case barrierOr:
				w.setPredicate(in.d, g.mask, count > 0)
			}
			g.state = ready
			g.pc++
		}
	}
}

// deadlock names an instruction where lanes wait for what cannot come.
func (b *block) deadlock() {
	for _, w := range b.warps {
		for i := range w.groups {
			g := &w.groups[i]
			if g.state == ready || g.mask == 0 {
				continue
			}
			lane := bits.TrailingZeros32(g.mask)
			if g.state == atBarrier {
				w.fail(g.pc, lane, driver.ResultLaunchFailed, "deadlock: %d threads of this warp wait at barrier %d, which the others of the block never reach",
					bits.OnesCount32(g.mask), g.barrier)
			} else {
				w.fail(g.pc, lane, driver.ResultLaunchFailed, "deadlock: lanes 0x%08x wait here for lanes 0x%08x of their warp, which never come", g.mask, g.need&w.alive&^g.mask)
			}
			return
		}
	}
}
