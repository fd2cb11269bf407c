package sim

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// atomic runs atom and red, lane after lane; blocks on other cores see each
// step whole.
func (w *warp) atomic(pc int32, in *instruction, active uint32) {
	a, b, c, d := &w.registers[in.a], &w.registers[in.b], &w.registers[in.c], &w.registers[in.d]
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		address := a[lane] + in.offset
		p := w.locateCached(pc, lane, in, address)
		if p == nil {
			return
		}
		var old uint64
		switch {
		case in.size == 2:
			old = atomicHalf(p, in.fn, b[lane], c[lane])
		case in.size == 4 && in.more.mode == atomicAdd:
			old = uint64(atomic.AddUint32((*uint32)(p), uint32(b[lane])) - uint32(b[lane]))
		case in.size == 4:
			old = atomic32((*uint32)(p), in.fn, b[lane], c[lane])
		case in.more.mode == atomicAdd:
			old = atomic.AddUint64((*uint64)(p), b[lane]) - b[lane]
		default:
			old = atomic64((*uint64)(p), in.fn, b[lane], c[lane])
		}
		if in.flags&flagReduce == 0 {
			d[lane] = old
		}
	}
}

func (w *warp) locateCached(pc int32, lane int, in *instruction, address uint64) unsafe.Pointer {
	if known := w.block.ranges[pc]; address-known.low < known.last && address%uint64(in.size) == 0 && in.space != shared {
		return pointer(address)
	}
	return w.locate(pc, lane, in.space, address, uint64(in.size), true)
}

func atomic32(p *uint32, fn laneFunc, b, c uint64) uint64 {
	for {
		old := atomic.LoadUint32(p)
		if atomic.CompareAndSwapUint32(p, old, uint32(fn(uint64(old), b, c))) {
			return uint64(old)
		}
	}
}

func atomic64(p *uint64, fn laneFunc, b, c uint64) uint64 {
	for {
		old := atomic.LoadUint64(p)
		if atomic.CompareAndSwapUint64(p, old, fn(old, b, c)) {
			return old
		}
	}
}

// atomicHalf changes 16 bits within their aligned word, which is in the same
// page whatever else is in it.
func atomicHalf(p unsafe.Pointer, fn laneFunc, b, c uint64) uint64 {
	shift := uint(uintptr(p)&2) * 8
	word := (*uint32)(unsafe.Add(p, -int(uintptr(p)&2)))
	for {
		old := atomic.LoadUint32(word)
		half := uint64(old >> shift & 0xffff)
		changed := old&^(0xffff<<shift) | uint32(fn(half, b, c)&0xffff)<<shift
		if atomic.CompareAndSwapUint32(word, old, changed) {
			return half
		}
	}
}

// copyAsync copies at once: what is waited for later is there already.
func (w *warp) copyAsync(pc int32, in *instruction, active uint32) {
	to, from, length := &w.registers[in.a], &w.registers[in.b], &w.registers[in.c]
	bytes := uint64(in.size)
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := w.locate(pc, lane, shared, to[lane]+in.offset, bytes, true)
		if p == nil {
			return
		}
		n := min(length[lane], bytes)
		if in.more.predicate >= 0 && w.predicate(in.more.predicate, in.more.negated)>>lane&1 != 0 {
			n = 0
		}
		target := unsafe.Slice((*byte)(p), bytes)
		clear(target[n:])
		if n == 0 {
			continue
		}
		address := from[lane] + in.mask
		source := w.locateBytes(pc, lane, address, n)
		if source == nil {
			return
		}
		copy(target, unsafe.Slice((*byte)(source), n))
	}
}

// locateBytes is locate for a length that is no power of two.
func (w *warp) locateBytes(pc int32, lane int, address, bytes uint64) unsafe.Pointer {
	if w.locate(pc, lane, global, address, 1, false) == nil || w.locate(pc, lane, global, address+bytes-1, 1, false) == nil {
		return nil
	}
	return pointer(address)
}
