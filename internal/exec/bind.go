package exec

/*
#include "exec.h"
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

// setBound gives the kernel what is known of its arguments already.
func (k *Kernel) setBound(program *Program) error {
	p := &k.c.program
	p.sizes = (*C.int64_t)(toC(program.known()))
	if program.Sizes > 0 && p.sizes == nil {
		return outOfMemory()
	}
	b := program.Bound
	if b == nil {
		return nil
	}
	p.device = C.int32_t(b.Device)
	p.num_ranges = C.uint32_t(len(b.Ranges))
	p.ranges = (*C.dl_range)(toC(b.Ranges))
	if len(b.Ranges) > 0 && p.ranges == nil {
		return outOfMemory()
	}
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
	if !use.Nowhere {
		C.dl_remember_stream(t.c, C.uint64_t(use.Stream))
	}
	if use.Anywhere {
		t.Leave()
	}
}
