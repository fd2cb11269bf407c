package dlpack

import (
	"math"
	"math/bits"

	"dlaunch/internal/status"
)

// View is a tensor as all of dlaunch sees it, with everything about it checked.
type View struct {
	Address uint64 // of the first element: data + byte_offset; 0 where data is NULL, which needs Size 0
	Type    DataType
	Device  Device
	Flags   Flags
	Shape   []int64
	Strides []int64 // in elements, always there; for extents of 0 and 1 those of C order
	Size    int64   // in elements
	C       bool    // contiguous, last axis fastest
	Fortran bool    // contiguous, first axis fastest; both or neither are possible
	Low     uint64  // every element lies in [Low, High), in bytes
	High    uint64
}

// Rank is the number of axes.
func (v *View) Rank() int { return len(v.Shape) }

// Bytes is what the elements would take if they were contiguous.
func (v *View) Bytes() uint64 {
	n, _ := bitsToBytes(uint64(v.Size), v.Type.storedBits(v.Flags&Padded != 0)) // viewed before: it fits
	return n
}

// Read views the DLTensor at an address.
func Read(address uintptr) (*View, error) {
	if err := checkAddress("DLTensor", address); err != nil {
		return nil, err
	}
	return at[Tensor](address).View(0)
}

// ReadManaged views the DLManagedTensor at an address.
func ReadManaged(address uintptr) (*View, error) {
	if err := checkAddress("DLManagedTensor", address); err != nil {
		return nil, err
	}
	return at[ManagedTensor](address).Tensor.View(0)
}

// ReadVersioned views the DLManagedTensorVersioned at an address. Of one with
// another major version nothing but the version is read.
func ReadVersioned(address uintptr) (*View, error) {
	if err := checkAddress("DLManagedTensorVersioned", address); err != nil {
		return nil, err
	}
	if v := *at[Version](address); v.Major != MajorVersion {
		return nil, status.Errorf(status.Tensor, "the tensor is of DLPack %d.%d; version %d.x is wanted", v.Major, v.Minor, MajorVersion)
	}
	managed := at[ManagedTensorVersioned](address)
	return managed.Tensor.View(managed.Flags)
}

func checkAddress(what string, address uintptr) error {
	if address == 0 {
		return status.Errorf(status.Argument, "the %s is NULL", what)
	}
	if !aligned(address) {
		return status.Errorf(status.Argument, "%#x is no address of a %s; a multiple of 8 is wanted", address, what)
	}
	return nil
}

// View checks a tensor and reads its shape and strides, which lie in foreign
// memory; nothing of that is kept. Data is never read. It works on a copy: what
// was checked is what is used, whatever a producer does meanwhile.
func (t Tensor) View(flags Flags) (*View, error) {
	v := &View{Type: t.Type, Device: t.Device, Flags: flags}
	if err := t.Type.Check(); err != nil {
		return nil, err
	}
	if t.Rank < 0 || t.Rank > MaxRank {
		return nil, status.Errorf(status.Tensor, "ndim is %d; 0 to %d is wanted", t.Rank, MaxRank)
	}
	if err := v.readShape(t); err != nil {
		return nil, err
	}
	ordered, err := v.readStrides(t)
	if err != nil {
		return nil, err
	}
	v.C = v.Size == 0 || same(v.Shape, v.Strides, ordered)
	v.Fortran = v.Size == 0 || fortran(v.Shape, v.Strides)
	if err := v.locate(t); err != nil {
		return nil, err
	}
	return v, nil
}

func (v *View) readShape(t Tensor) error {
	v.Size = 1
	if t.Rank == 0 {
		return nil // shape and strides may be anything: they are not looked at
	}
	if t.Shape == 0 {
		return status.Errorf(status.Tensor, "shape is NULL with ndim %d", t.Rank)
	}
	if !aligned(t.Shape) {
		return status.Errorf(status.Tensor, "shape is at %#x, which is no multiple of 8", t.Shape)
	}
	v.Shape = copyInt64s(t.Shape, int(t.Rank))
	for axis, extent := range v.Shape {
		if extent < 0 {
			return status.Errorf(status.Tensor, "axis %d has the extent %d; 0 or more is wanted", axis, extent)
		}
	}
	for _, extent := range v.Shape {
		if extent == 0 {
			v.Size = 0
		}
	}
	return nil
}

// readStrides fills in the strides and gives those of C order, which an extent
// of 0 does not make 0: it counts as 1 there, as in NumPy.
func (v *View) readStrides(t Tensor) ([]int64, error) {
	ordered := make([]int64, t.Rank)
	elements := uint64(1)
	for axis := int(t.Rank) - 1; axis >= 0; axis-- {
		ordered[axis] = int64(elements)
		high, low := bits.Mul64(elements, uint64(max(v.Shape[axis], 1)))
		if high != 0 || low > math.MaxInt64 {
			return nil, status.Errorf(status.Tensor, "shape %v has more than 2^63-1 elements", v.Shape)
		}
		elements = low
	}
	if v.Size != 0 {
		v.Size = int64(elements)
	}
	v.Strides = append([]int64(nil), ordered...)
	if t.Strides == 0 || t.Rank == 0 {
		return ordered, nil
	}
	if !aligned(t.Strides) {
		return nil, status.Errorf(status.Tensor, "strides is at %#x, which is no multiple of 8", t.Strides)
	}
	for axis, stride := range copyInt64s(t.Strides, int(t.Rank)) {
		if v.Shape[axis] > 1 {
			v.Strides[axis] = stride
		}
	}
	return ordered, nil
}

func same(shape, strides, wanted []int64) bool {
	for axis := range shape {
		if shape[axis] > 1 && strides[axis] != wanted[axis] {
			return false
		}
	}
	return true
}

func fortran(shape, strides []int64) bool {
	next := int64(1)
	for axis := range shape {
		if shape[axis] > 1 && strides[axis] != next {
			return false
		}
		next *= shape[axis] // none is 0 here, and the product was checked
	}
	return true
}

// firstPage is where the first tensors can be: no system maps what is below.
const firstPage = 4096

// locate finds the address and the bytes that the elements span.
func (v *View) locate(t Tensor) error {
	address, carry := bits.Add64(uint64(t.Data), t.ByteOffset, 0)
	if t.Data == 0 { // of no memory, an offset means nothing
		address, carry = 0, 0
	}
	if carry != 0 {
		return status.Errorf(status.Tensor, "data %#x and byte_offset %d lead past the end of memory", t.Data, t.ByteOffset)
	}
	v.Address, v.Low, v.High = address, address, address
	if v.Size == 0 {
		return nil
	}
	if t.Data == 0 {
		return status.Errorf(status.Tensor, "data is NULL with %d elements", v.Size)
	}
	if t.Data < firstPage {
		return status.Errorf(status.Tensor, "data is %#x, an offset from NULL, with %d elements", t.Data, v.Size)
	}
	each := v.Type.storedBits(v.Flags&Padded != 0)
	if _, ok := bitsToBytes(uint64(v.Size), each); !ok {
		return status.Errorf(status.Tensor, "shape %v of %v is more than 2^63-1 bytes", v.Shape, v.Type)
	}
	below, above, ok := v.span()
	if ok {
		var bytesBelow, bytesAbove, borrow uint64
		var okBelow, okAbove bool
		bytesBelow, okBelow = bitsToBytes(below, each)
		bytesAbove, okAbove = bitsToBytes(above+1, each)
		v.Low, borrow = bits.Sub64(address, bytesBelow, 0)
		v.High, carry = bits.Add64(address, bytesAbove, 0)
		ok = okBelow && okAbove && borrow == 0 && carry == 0
	}
	if !ok {
		return status.Errorf(status.Tensor, "shape %v with strides %v of %v from %#x leads past the end of memory",
			v.Shape, v.Strides, v.Type, address)
	}
	return nil
}

// span gives how many elements the farthest ones lie before and after the first,
// if that is below 2^63 each.
func (v *View) span() (below, above uint64, ok bool) {
	for axis, extent := range v.Shape {
		stride := v.Strides[axis]
		side, magnitude := &above, uint64(stride)
		if stride < 0 {
			side, magnitude = &below, -magnitude
		}
		high, low := bits.Mul64(uint64(extent-1), magnitude)
		sum, carry := bits.Add64(*side, low, 0)
		if high != 0 || carry != 0 || sum > math.MaxInt64 {
			return 0, 0, false
		}
		*side = sum
	}
	return below, above, true
}
