package launch

import (
	"fmt"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// ViewArray makes an array of another one's memory. offset, in bytes, is that of its
// first element from the other's; strides are in elements, nil is C order.
func (e *Engine) ViewArray(h handles.Handle, dtype dlpack.DataType, shape, strides []int64, offset int64) (handles.Handle, error) {
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return 0, err
	}
	defer entry.Drop()
	base, owner := entry.Value.(*array), entry
	if base.of != nil {
		owner = base.of
	}
	memory := owner.Value.(*array)
	a := &array{device: base.device, address: base.address, of: owner}
	if a.bytes, err = arrayBytes(dtype, shape); err != nil {
		return 0, err
	}
	if a.bytes > 0 {
		a.address += driver.Address(offset) // two's complement: what leaves the memory, either way, is refused
	}
	if a.shared, err = e.newTensor(a, dtype, shape, strides); err != nil {
		return 0, err
	}
	view, err := dlpack.Read(uintptr(a.shared.Address()))
	if err != nil || a.bytes > 0 && (view.Low < uint64(memory.address) || view.High > uint64(memory.address)+memory.bytes) {
		a.shared.Free()
		return 0, status.Errorf(status.Argument, "shape %v of %v with strides %v (none: C order), %d bytes from the array's first element, reaches outside of its memory (%s)",
			shape, dtype, strides, offset, owner.Label)
	}
	a.strided = !view.C
	a.shared.ViewOf(memory.shared)
	label := fmt.Sprintf("%v%v on device %d, a view", dtype, shape, a.device)
	made, err := e.table.Open(handles.Array, label, a, a.shared.Free, owner)
	if err != nil {
		a.shared.Free()
		return 0, err
	}
	return e.publish(made, a.shared)
}
