package sim

import (
	"cmp"
	"fmt"
	"math"

	"dlaunch/internal/driver"
)

// Fault is what a kernel did wrong, or why it did not run.
type Fault struct {
	Result  driver.Result
	Message string
}

func (f *Fault) Error() string { return f.Message }

func refuse(result driver.Result, format string, args ...any) *Fault {
	return &Fault{result, fmt.Sprintf(format, args...)}
}

// fail notes what the warp's lane did wrong at the instruction. The first fault
// of a block counts.
func (w *warp) fail(pc int32, lane int, result driver.Result, format string, args ...any) {
	if w.block.fault != nil {
		return
	}
	b := w.block
	at := &b.run.program.where[pc]
	thread := b.threadOf(w.number*warpSize + lane)
	place := fmt.Sprintf("%s: block (%d,%d,%d) thread (%d,%d,%d): %s", b.run.program.name,
		b.index[0], b.index[1], b.index[2], thread[0], thread[1], thread[2], at)
	if at.source.Line != 0 {
		place += fmt.Sprintf(", %s line %d", cmp.Or(at.source.File, "source"), at.source.Line)
	}
	b.fault = &Fault{result, place + ": " + fmt.Sprintf(format, args...)}
}

// threadOf gives the coordinates of a thread of the block.
func (b *block) threadOf(n int) [3]uint32 {
	x, y := int(b.run.Block[0]), int(b.run.Block[1])
	return [3]uint32{uint32(n % x), uint32(n / x % y), uint32(n / x / y)}
}

func verb(write bool) string {
	if write {
		return "writes"
	}
	return "reads"
}

// Beyond this an address has nothing to do with an argument.
const farAway = 1 << 36

// describe words an access that the launch does not allow.
func (r *run) describe(address, bytes uint64, write bool) string {
	nearest, best := -1, uint64(math.MaxUint64)
	for i := range r.Arguments {
		a := &r.Arguments[i]
		distance := uint64(0)
		switch {
		case address < a.Low:
			distance = a.Low - address
		case address >= a.High:
			distance = address - a.High + 1
		}
		if distance < best {
			nearest, best = i, distance
		}
	}
	if nearest < 0 || best > farAway || address < lowest {
		return fmt.Sprintf("%s %d bytes at address 0x%x, which is no memory of this launch", verb(write), bytes, address)
	}
	a := &r.Arguments[nearest]
	item := max(1, a.ItemSize)
	index := floorDivide(int64(address-a.Data), int64(item))
	place := fmt.Sprintf("argument %d", a.Index)
	if a.Bound {
		place = fmt.Sprintf("bound parameter %d", a.Index)
	}
	element := fmt.Sprintf("%s[%d] (%s)", a.Name, index, place)
	if a.Name == "" {
		element = fmt.Sprintf("element %d of %s", index, place)
	}
	if best == 0 && address+bytes <= a.High {
		return fmt.Sprintf("%s %s, which is an input; declare it out or inout", verb(write), element)
	}
	first, end := floorDivide(int64(a.Low-a.Data), int64(item)), floorDivide(int64(a.High-a.Data), int64(item))
	if first == 0 {
		return fmt.Sprintf("%s %s, which has %d elements", verb(write), element, end)
	}
	return fmt.Sprintf("%s %s, which has elements %d to %d", verb(write), element, first, end-1)
}

// No memory lies below this: what is read there is a null pointer and an offset.
const lowest = 1 << 16

func floorDivide(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
