package launch

import (
	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// freeze has a device copy stand for a host tensor that is bound: an array without
// a handle, which lives as long as what it is bound to.
func (c *call) freeze(what *binding, step *exec.Step, view *dlpack.View) error {
	if step.Flags&exec.Written != 0 || what.arg.Flags&exec.ArgOut != 0 {
		return status.Errorf(status.Argument, "a host tensor is bound as a copy that does not change, but the kernel writes it; bind a device tensor")
	}
	index := c.engine.currentDevice()
	if b := c.kernel.program.Bound; b != nil && b.Device >= 0 {
		index = int(b.Device)
	}
	entry, err := c.engine.copyOf(index, view)
	if err != nil {
		return err
	}
	if what.entry != nil { // an imported host tensor is not needed any more
		what.entry.Drop()
	}
	what.entry = entry
	address := uint64(0)
	if copied := entry.Value.(*array); copied.address != 0 {
		address = uint64(copied.address) + view.Address - view.Low
	}
	number := int32(index)
	if c.engine.simulated() {
		number = 0 // (kDLCPU, 0), as arrays are there
	}
	what.frozen, err = exec.NewTensor(address, c.engine.driver.DeviceType, number, view.Type.Packed(), view.Shape, view.Strides)
	if err != nil {
		return err
	}
	what.arg = exec.Arg{Kind: exec.ArgTensor, Value: what.frozen.Address()}
	return nil
}

// copyOf makes a closed array of all bytes of a host tensor, and gives the one
// reference to it.
func (e *Engine) copyOf(index int, view *dlpack.View) (*handles.Entry, error) {
	bytes := dlpack.DataType{Code: dlpack.UInt, Bits: 8, Lanes: 1}
	h, err := e.CreateArray(index, bytes, []int64{int64(view.High - view.Low)})
	if err != nil {
		return nil, err
	}
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return nil, err
	}
	if err := e.Close(h, handles.Array); err != nil {
		entry.Drop()
		return nil, err
	}
	a := entry.Value.(*array)
	if a.bytes == 0 {
		return entry, nil
	}
	err = e.on(index, func(d *device) error { return e.upload(d, a.address, uintptr(view.Low), a.bytes) })
	if err != nil {
		entry.Drop()
		return nil, err
	}
	return entry, nil
}

// upload copies from the host, and returns when every stream sees it.
func (e *Engine) upload(d *device, to driver.Address, from uintptr, bytes uint64) error {
	stream, r := e.memoryStream(d)
	if r != driver.ResultSuccess {
		return e.failure("cuStreamCreateWithPriority", r)
	}
	if r := e.driver.API.CopyHostToDevice(to, from, bytes, stream); r != driver.ResultSuccess {
		return e.failure("cuMemcpyHtoDAsync", r)
	}
	if r := e.driver.API.StreamSynchronize(stream); r != driver.ResultSuccess {
		return e.failure("cuStreamSynchronize", r)
	}
	return nil
}
