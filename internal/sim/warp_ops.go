package sim

import "math/bits"

// together runs what lanes of a warp do with one another, once all that must be
// there have come.
func (w *warp) together(at int, in *instruction) bool {
	slot := in.target
	if in.op == opWarpBarrier {
		slot = in.a
	}
	if slot >= 0 {
		need := uint32(0)
		for m := w.groups[at].mask; m != 0; m &= m - 1 {
			need |= uint32(w.registers[slot][bits.TrailingZeros32(m)])
		}
		complete := false
		if in.op == opWarpBarrier {
			complete = w.meet(at, need)
		} else {
			at, complete = w.gather(at, need)
		}
		if !complete {
			return false
		}
	}
	mask := w.groups[at].mask
	switch in.op {
	case opShuffle:
		w.shuffle(in, mask)
	case opVote:
		w.vote(in, mask)
	case opMatch:
		w.match(in, mask)
	case opReduce:
		w.reduce(in, mask)
	case opElect:
		for m := mask; m != 0; m &= m - 1 {
			lane := bits.TrailingZeros32(m)
			leader := bits.TrailingZeros32(w.members(in, lane) & mask)
			w.registers[in.d][lane] = uint64(leader)
			w.setPredicate(in.more.predicate, 1<<lane, lane == leader)
		}
	}
	w.groups[at].pc++
	return len(w.groups) == 1
}

// meet is bar.warp.sync, whose lanes may wait at different ones.
func (w *warp) meet(at int, need uint32) bool {
	if need&w.alive&^w.groups[at].mask == 0 {
		return true
	}
	w.groups[at].state, w.groups[at].need = forLanes, need
	return false
}

// members gives the lanes that one lane named.
func (w *warp) members(in *instruction, lane int) uint32 {
	if in.target < 0 {
		return allLanes
	}
	return uint32(w.registers[in.target][lane])
}

// shuffle is shfl: PTX ISA, "shfl.sync", in its own words' order.
func (w *warp) shuffle(in *instruction, mask uint32) {
	a, b, c := w.registers[in.a], &w.registers[in.b], &w.registers[in.c] // a copy: d may be a
	d := &w.registers[in.d]
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		by, clamp, segment := int(b[lane]&31), int(c[lane]&31), int(c[lane]>>8&31)
		most := lane&segment | clamp&^segment
		from, inside := 0, false
		switch in.more.mode {
		case shuffleUp:
			from = lane - by
			inside = from >= most
		case shuffleDown:
			from = lane + by
			inside = from <= most
		case shuffleButterfly:
			from = lane ^ by
			inside = from <= most
		default:
			from = lane&segment | by&^segment
			inside = from <= most
		}
		if !inside {
			from = lane
		}
		d[lane] = a[from&31]
		if in.more.predicate != sinkPredicate {
			w.setPredicate(in.more.predicate, 1<<lane, inside)
		}
	}
}

func (w *warp) vote(in *instruction, mask uint32) {
	p := w.predicate(in.a, in.more.negated) & mask
	results := uint32(0)
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		there := w.members(in, lane) & mask
		yes := p & there
		switch in.more.mode {
		case voteBallot:
			w.registers[in.d][lane] = uint64(yes)
		case voteAll:
			results |= bit(yes == there) << lane
		case voteAny:
			results |= bit(yes != 0) << lane
		default:
			results |= bit(yes == 0 || yes == there) << lane
		}
	}
	if in.more.mode != voteBallot {
		w.predicates[in.d] = w.predicates[in.d]&^mask | results
	}
}

func (w *warp) match(in *instruction, mask uint32) {
	a := w.registers[in.a]
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		there := w.members(in, lane) & mask
		same := uint32(0)
		for o := there; o != 0; o &= o - 1 {
			if other := bits.TrailingZeros32(o) & 31; a[other] == a[lane] {
				same |= 1 << other
			}
		}
		if in.more.mode == matchAll {
			w.setPredicate(in.more.predicate, 1<<lane, same == there)
			if same != there {
				same = 0
			}
		}
		w.registers[in.d][lane] = uint64(same)
	}
}

func (w *warp) reduce(in *instruction, mask uint32) {
	a := w.registers[in.a]
	for m := mask; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		result, first := uint64(0), true
		for o := w.members(in, lane) & mask; o != 0; o &= o - 1 {
			v := a[bits.TrailingZeros32(o)&31]
			if first {
				result, first = v, false
			} else {
				result = in.fn(result, v, 0)
			}
		}
		w.registers[in.d][lane] = result
	}
}
