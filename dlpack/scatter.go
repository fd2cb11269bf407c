package dlpack

// Scatter writes a tensor in host memory from a block that holds its bytes from
// Low to High: its own elements, and nothing of what lies between them. Elements
// must be whole bytes.
func (v *View) Scatter(block []byte) {
	item := v.Type.ItemBits() / 8
	index := make([]int64, v.Rank())
	for range v.Size {
		address := v.Address
		for axis, i := range index {
			address += uint64(i*v.Strides[axis]) * item
		}
		copy(bytesAt(address, item), block[address-v.Low:])
		for axis := v.Rank() - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < v.Shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
}
