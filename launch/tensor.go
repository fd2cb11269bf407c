package launch

import (
	"fmt"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// tensor is what a dlaunch_tensor stands for: one that another library made, and
// that dlaunch has taken over.
type tensor struct {
	taken  uint64 // what giveBack is told, once; 0 if the import failed
	view   *dlpack.View
	shared *exec.Tensor
	device int // whose memory it is, or noDevice
}

// noDevice is where pinned, managed and host memory is: no device has it alone.
const noDevice = -1

// ImportTensor makes a handle of a tensor that was taken over. What it is was
// read by view; from now on, unless this fails, giveBack hears when it is not needed
// any more.
func (e *Engine) ImportTensor(view *dlpack.View, taken uint64) (handles.Handle, error) {
	e.reclaim()
	e.runFinished()
	shared, err := exec.NewTensor(view.Address, int32(view.Device.Type), view.Device.ID, view.Type.Packed(), view.Shape, view.Strides)
	if err != nil {
		return 0, err
	}
	shared.SetFlags(uint64(view.Flags))
	t := &tensor{taken: taken, view: view, shared: shared, device: noDevice}
	if view.Device.Type == dlpack.CUDA {
		t.device = int(view.Device.ID)
	}
	label := fmt.Sprintf("%v%v on %v", view.Type, view.Shape, view.Device)
	var entry *handles.Entry
	entry, err = e.table.Open(handles.Tensor, label, t, func() { e.destroyTensor(t, entry) })
	if err != nil {
		shared.Free()
		return 0, err
	}
	if err := shared.Publish(uint64(entry.Handle)); err != nil {
		t.taken = 0
		_ = e.Close(entry.Handle, handles.Tensor)
		return 0, err
	}
	return entry.Handle, nil
}

// destroyTensor lets a closed tensor go when its last launch is done.
func (e *Engine) destroyTensor(t *tensor, entry *handles.Entry) {
	e.freeWhenDone(&pendingFree{entry: entry, shared: t.shared, device: t.device, end: func() {
		t.shared.Free()
		if t.taken != 0 {
			e.giveBack(t.taken)
		}
	}})
}

// hostView gives what an imported host tensor is, and keeps it from going before
// the launch is over; nil for a device tensor or an array.
func (c *call) hostView(h handles.Handle) (*dlpack.View, error) {
	entry, err := c.engine.table.Acquire(h, handles.Any)
	if err != nil {
		return nil, err
	}
	t, imported := entry.Value.(*tensor)
	if !imported || t.view.Device.Type != dlpack.CPU {
		entry.Drop()
		return nil, nil
	}
	c.held = append(c.held, entry)
	return t.view, nil
}

func (c *call) dropHeld() {
	for _, entry := range c.held {
		entry.Drop()
	}
}
