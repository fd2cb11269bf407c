package dlpack

// Scatter writes a tensor in host memory from a block that holds its bytes from
// Low to High: its own elements, and nothing of what lies between them. Elements
// must be whole bytes, unless the tensor is C-contiguous.
func (v *View) Scatter(block []byte) {
	if v.C {
		copy(HostBytes(v.Low, v.High), block)
		return
	}
	item := v.Type.ItemBits() / 8
	outer, run, runs := v.Rank(), item, v.Size // elements that follow each other go at once
	for outer > 0 && (v.Shape[outer-1] == 1 || v.Strides[outer-1] > 0 && uint64(v.Strides[outer-1])*item == run) {
		outer--
		run *= uint64(v.Shape[outer])
		runs /= v.Shape[outer]
	}
	index := make([]int64, outer)
	for range runs {
		address := v.Address
		for axis, i := range index {
			address += uint64(i*v.Strides[axis]) * item
		}
		copy(HostBytes(address, address+run), block[address-v.Low:])
		for axis := outer - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < v.Shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}
