package exec

/*
#include "tensor.h"
static void used_elsewhere(dl_tensor *t, bool more, bool peers, bool left) {
	uint32_t flags = (more ? DL_MORE_STREAMS : 0) | (peers ? DL_OTHER_DEVICES : 0) | (left ? DL_LEFT : 0);
	atomic_fetch_or(&t->owner->elsewhere, flags);
}
*/
import "C"

import (
	"math/bits"
	"slices"
	"unsafe"
)

// known gives what a program's sizes are before a launch.
func (p *Program) known() []int64 {
	if p.Bound != nil {
		return p.Bound.Sizes
	}
	return slices.Repeat([]int64{-1}, p.Sizes)
}

func (b *Bound) bytes() uintptr {
	if b == nil {
		return 0
	}
	return bytesOf(b.Ranges)
}

// setBound gives the kernel what is known of its arguments already.
func (k *Kernel) setBound(b *Bound, to *unsafe.Pointer) error {
	if b == nil {
		return nil
	}
	p := &k.c.program
	p.device = C.int32_t(b.Device)
	p.num_ranges = C.uint32_t(len(b.Ranges))
	p.ranges = (*C.dl_range)(place(to, b.Ranges))
	use, err := NewTensor(0, 0, 0, 0, nil, nil)
	if err != nil {
		return err
	}
	k.c.use = use.c
	return nil
}

// Bind gives the program in which an argument is packed for good: the one of step.
// The kernel is that of p; parameter is the number that reports know it by.
func (k *Kernel) Bind(p *Program, step, parameter int, arg *Arg) (*Program, Fault) {
	params, sizes := slices.Clone(p.Params), slices.Clone(p.known())
	var bound C.dl_bound
	var fault C.dl_fault
	C.dl_bind(k.c, C.uint32_t(step), C.uint32_t(parameter), (*C.dlaunch_arg)(unsafe.Pointer(arg)),
		(*C.uint8_t)(unsafe.SliceData(params)), (*C.int64_t)(unsafe.SliceData(sizes)), &bound, &fault)
	if fault.reason != C.DL_OK {
		return nil, *(*Fault)(unsafe.Pointer(&fault))
	}
	b := &Bound{Sizes: sizes, Device: int32(bound.device)}
	if p.Bound != nil {
		b.Ranges = slices.Clone(p.Bound.Ranges)
	}
	if bound.num_ranges > 0 {
		b.Ranges = append(b.Ranges, *(*Range)(unsafe.Pointer(&bound._range)))
	}
	made := &Program{Params: params, Dims: p.Dims, Sizes: p.Sizes, Bound: b}
	made.Steps = slices.Delete(slices.Clone(p.Steps), step, step+1)
	return made, made.deriveFrom(p, step, (*[MaxRank]int64)(unsafe.Pointer(&bound.strides)))
}

// deriveFrom takes over what p fills in: strides of the bound tensor are numbers
// from now on, and the steps behind it have moved.
func (p *Program) deriveFrom(from *Program, step int, strides *[MaxRank]int64) Fault {
	p.Derived = slices.Clone(from.Derived)
	for which := range p.Derived {
		d := &p.Derived[which]
		terms := from.Terms[d.Terms:][:d.NumTerms]
		d.Terms = uint32(len(p.Terms))
		for _, term := range terms {
			switch {
			case term.Kind != TermStride || int(term.Index) < step:
			case int(term.Index) > step:
				term.Index--
			default:
				product, fits := multiply(d.Factor, strides[term.Width])
				if !fits {
					return Fault{Reason: DerivedOverflow, Argument: -1, Axis: int32(which)}
				}
				d.Factor = product
				continue
			}
			p.Terms = append(p.Terms, term)
		}
		d.NumTerms = uint32(len(p.Terms)) - d.Terms
	}
	return Fault{}
}

func multiply(a, b int64) (product int64, fits bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	product = a * b
	return product, high == 0 && (low < 1<<63 || low == 1<<63 && product < 0)
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// Use says where a kernel with bound arguments was launched.
func (k *Kernel) Use() Use { return (&Tensor{k.c.use}).Use() }

// AlsoUsed says that what a tensor is bound to was launched.
func (t *Tensor) AlsoUsed(use Use) {
	for _, stream := range use.Streams {
		C.dl_remember_stream(t.c, C.uint64_t(stream))
	}
	C.used_elsewhere(t.c, C.bool(use.More), C.bool(use.Peers), C.bool(use.Left))
}
