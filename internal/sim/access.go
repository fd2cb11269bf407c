package sim

import (
	"encoding/binary"
	"math/bits"
	"sort"
	"unsafe"

	"dlaunch/internal/driver"
)

// cached is memory that an instruction touched last: [low, last] are the
// addresses that it may access without another look.
type cached struct{ low, last uint64 }

// alignedBytes gives memory whose address is a multiple of 16.
func alignedBytes(bytes uint64) []byte {
	words := make([]uint64, bytes/8+2)
	start := unsafe.Pointer(&words[0])
	return unsafe.Slice((*byte)(unsafe.Add(start, -uintptr(start)&15)), bytes)
}

// loadParam reads a parameter of the kernel.
func (w *warp) loadParam(in *instruction, active uint32) {
	bytes := w.block.run.Params[in.offset:]
	v := read(unsafe.Pointer(unsafe.SliceData(bytes)), in.size)
	if in.flags&flagSigned != 0 {
		v = extend(v, int(in.size)*8, true)
	}
	v &= in.mask
	if active == allLanes {
		d := &w.registers[in.d]
		for i := range d {
			d[i] = v
		}
		return
	}
	w.write(in.d, active, v)
}

func read(p unsafe.Pointer, size uint8) uint64 {
	switch size {
	case 1:
		return uint64(*(*uint8)(p))
	case 2:
		return uint64(binary.NativeEndian.Uint16((*[2]byte)(p)[:]))
	case 4:
		return uint64(binary.NativeEndian.Uint32((*[4]byte)(p)[:]))
	}
	return binary.NativeEndian.Uint64((*[8]byte)(p)[:])
}

func write(p unsafe.Pointer, size uint8, v uint64) {
	switch size {
	case 1:
		*(*uint8)(p) = uint8(v)
	case 2:
		*(*uint16)(p) = uint16(v)
	case 4:
		*(*uint32)(p) = uint32(v)
	default:
		*(*uint64)(p) = v
	}
}

// access runs ld and st.
func (w *warp) access(pc int32, in *instruction, active uint32, base uint64) {
	if in.count == 1 && (in.space == global || in.space == generic) {
		w.accessGlobal(pc, in, active)
		return
	}
	a := &w.registers[in.a]
	offset := in.offset
	if in.flags&flagFrame != 0 {
		offset += base
	}
	bytes := uint64(in.size) * uint64(in.count)
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		p := w.locate(pc, lane, in.space, a[lane]+offset, bytes, in.flags&flagStore != 0)
		if p == nil {
			return
		}
		for _, slot := range in.more.elements {
			w.transfer(in, p, slot, lane)
			p = unsafe.Add(p, in.size)
		}
	}
}

func (w *warp) transfer(in *instruction, p unsafe.Pointer, slot int32, lane int) {
	if in.flags&flagStore != 0 {
		write(p, in.size, w.registers[slot][lane])
		return
	}
	v := read(p, in.size)
	if in.flags&flagSigned != 0 {
		v = extend(v, int(in.size)*8, true)
	}
	w.registers[slot][lane] = v & in.mask
}

// accessGlobal is access for one element in global memory: a look at the range
// that was touched last comes first.
func (w *warp) accessGlobal(pc int32, in *instruction, active uint32) {
	a, d := &w.registers[in.a], &w.registers[in.d]
	known := w.block.ranges[pc]
	aligned := uint64(in.size) - 1
	plain := in.flags&(flagStore|flagSigned) == 0
	if active == allLanes && in.size == 4 && known.last != 0 && w.accessAll(in, known) {
		return
	}
	for m := active; m != 0; m &= m - 1 {
		lane := bits.TrailingZeros32(m) & 31
		address := a[lane] + in.offset
		if address-known.low >= known.last || address&aligned != 0 {
			p := w.locate(pc, lane, in.space, address, uint64(in.size), in.flags&flagStore != 0)
			if p == nil {
				return
			}
			known = w.block.ranges[pc]
			w.transfer(in, p, in.d, lane)
			continue
		}
		switch p := pointer(address); {
		case plain && in.size == 4:
			d[lane] = uint64(*(*uint32)(p))
		case plain && in.size == 8:
			d[lane] = *(*uint64)(p)
		case in.flags&flagStore != 0 && in.size == 4:
			*(*uint32)(p) = uint32(d[lane])
		default:
			w.transfer(in, p, in.d, lane)
		}
	}
}

// accessAll moves 32 words when all lie in the range that was touched last. It
// begins nothing that it cannot end.
func (w *warp) accessAll(in *instruction, known cached) bool {
	if in.flags&flagSigned != 0 {
		return false
	}
	a, d := &w.registers[in.a], &w.registers[in.d]
	wrong := uint64(0)
	for i := range a {
		address := a[i] + in.offset
		if address-known.low >= known.last {
			return false
		}
		wrong |= address
	}
	if wrong&3 != 0 {
		return false
	}
	if in.flags&flagStore != 0 {
		for i := range a {
			*(*uint32)(pointer(a[i] + in.offset)) = uint32(d[i])
		}
		return true
	}
	for i := range a {
		d[i] = uint64(*(*uint32)(pointer(a[i] + in.offset)))
	}
	return true
}

// locate finds the memory of one lane's access, or reports a fault and gives nil.
func (w *warp) locate(pc int32, lane int, within space, address, bytes uint64, store bool) unsafe.Pointer {
	if within == generic {
		if within = spaceAt(address); within != global {
			address -= windowOf(within)
		}
	}
	if address%bytes != 0 {
		w.fail(pc, lane, driver.ResultMisalignedAddress, "%s %d bytes at address 0x%x, which is no multiple of %d", verb(store), bytes, address, bytes)
		return nil
	}
	switch within {
	case shared:
		return w.locateIn(pc, lane, "shared", w.block.shared, address, bytes, store)
	case local:
		return w.locateIn(pc, lane, "local", w.local[lane], address, bytes, store)
	case param:
		if store {
			w.fail(pc, lane, driver.ResultIllegalAddress, "writes into the kernel's parameters")
			return nil
		}
		return w.locateIn(pc, lane, "parameter", w.block.run.Params, address, bytes, store)
	}
	low, last, ok := w.block.run.find(address, bytes, store)
	if !ok {
		w.fail(pc, lane, driver.ResultIllegalAddress, "%s", w.block.run.describe(address, bytes, store))
		return nil
	}
	w.block.ranges[pc] = cached{low, last - low + 1}
	return pointer(address)
}

func (w *warp) locateIn(pc int32, lane int, name string, memory []byte, address, bytes uint64, store bool) unsafe.Pointer {
	if address >= uint64(len(memory)) || bytes > uint64(len(memory))-address {
		w.fail(pc, lane, driver.ResultIllegalAddress, "%s %d bytes at %d of %s memory, which has %d bytes", verb(store), bytes, int64(address), name, len(memory))
		return nil
	}
	return unsafe.Pointer(&memory[address])
}

// find gives the range that an access may lie in: its first address, and the
// last one at which as many bytes may begin.
func (r *run) find(address, bytes uint64, store bool) (low, last uint64, ok bool) {
	for i := range r.Arguments {
		a := &r.Arguments[i]
		if a.Low <= address && address < a.High && bytes <= a.High-address && (!store || a.Written) {
			if !r.simulator.arena.within(a.Low) {
				return a.Low, a.High - bytes, true
			}
		}
	}
	at := sort.Search(len(r.memory), func(i int) bool { return r.memory[i].high > address })
	if at < len(r.memory) && r.memory[at].low <= address && bytes <= r.memory[at].high-address {
		return r.memory[at].low, r.memory[at].high - bytes, true
	}
	return 0, 0, false
}

func pointerTo(memory []byte, at uint64) unsafe.Pointer { return unsafe.Pointer(&memory[at]) }
