package launch

import (
	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// staging holds the device copies of a launch's host tensors. They are made and
// freed in the order of the launch's stream; the launch waits for it at the end.
type staging struct {
	device int
	stream driver.Stream
	copies []*hostCopy
}

// hostCopy is one host tensor on the device: all bytes between its first and its
// last element, so that its strides hold there too.
type hostCopy struct {
	view   *dlpack.View
	low    uint64 // the host address of the first byte
	bytes  uint64
	device driver.Address
	tensor *exec.Tensor
	out    bool
	async  bool // allocated in stream order
}

// stageArgument copies a host tensor to the device and lets the argument stand
// for the copy.
func (c *call) stageArgument(index int) error {
	arg := &c.args[index]
	view, err := viewOf(arg)
	if err != nil {
		return blame(err, index)
	}
	if !view.C && view.Type.ItemBits()%8 != 0 {
		return status.Errorf(status.Unsupported, "argument %d%s is a strided host tensor of %v, whose elements share bytes; make it contiguous",
			index, c.argumentName(index), view.Type).At(index)
	}
	if c.stage == nil {
		if err := c.beginStaging(index); err != nil {
			return err
		}
	}
	read, written := c.modes(index)
	h := &hostCopy{view: view, out: written}
	h.low, h.bytes = view.Low, view.High-view.Low
	e := c.engine
	return e.on(c.stage.device, func(*device) error {
		if err := e.allocateStaging(h, c.stage.stream); err != nil {
			return err
		}
		c.stage.copies = append(c.stage.copies, h)
		// What an out tensor does not overwrite must come back as it was.
		if read || written && !view.C {
			if r := e.driver.API.CopyHostToDevice(h.device, uintptr(h.low), h.bytes, c.stage.stream); r != driver.ResultSuccess {
				return e.failure("cuMemcpyHtoDAsync", r)
			}
		}
		h.tensor, err = exec.NewTensor(uint64(h.device)+(view.Address-h.low), e.driver.DeviceType, int32(c.stage.device),
			dtypeBits(view.Type), view.Shape, view.Strides)
		if err != nil {
			return err
		}
		c.args[index] = exec.Arg{Kind: exec.ArgTensor, Flags: arg.Flags, Value: h.tensor.Address()}
		return nil
	})
}

// viewOf reads the tensor of an argument that the executor has checked.
func viewOf(arg *exec.Arg) (*dlpack.View, error) {
	if arg.Kind == exec.ArgVersioned {
		return dlpack.ReadVersioned(uintptr(arg.Value))
	}
	return dlpack.Read(uintptr(arg.Value))
}

func (c *call) beginStaging(index int) error {
	e := c.engine
	own := make([]exec.Arg, len(c.args)) // the caller's array stays as it is
	copy(own, c.args)
	c.args = own
	device, fault := exec.DeviceOf(c.config, c.args)
	if fault.Reason != exec.OK {
		return c.explain(fault)
	}
	stage := &staging{device: device}
	err := e.withStream(c.config.Stream, device, func(native driver.Stream) error {
		stage.stream = native
		if capturing, r := e.driver.API.StreamCapturing(native); r != driver.ResultSuccess {
			return e.failure("cuStreamIsCapturing", r)
		} else if capturing {
			return status.Errorf(status.Tensor, "argument %d%s is a host tensor, and the stream is being captured into a graph, which copies nothing back; use device tensors",
				index, c.argumentName(index)).At(index)
		}
		return nil
	})
	if err == nil {
		c.stage = stage
	}
	return err
}

func (e *Engine) allocateStaging(h *hostCopy, stream driver.Stream) error {
	var r driver.Result
	h.async = true
	if h.device, r = e.driver.API.MemAllocAsync(h.bytes, stream); r == driver.ResultNotSupported {
		h.async = false
		h.device, r = e.driver.API.MemAlloc(h.bytes)
	}
	if r != driver.ResultSuccess {
		return e.failure("cuMemAllocAsync", r)
	}
	return nil
}

// modes says what the kernel does to a tensor: by the prototype, and by the
// caller's marks.
func (c *call) modes(index int) (read, written bool) {
	flags := c.kernel.program.Steps[index].Flags
	marks := c.args[index].Flags
	if marks == 0 {
		return flags&exec.Read != 0, flags&exec.Written != 0
	}
	return marks&exec.ArgIn != 0, marks&exec.ArgOut != 0 || flags&exec.Written != 0
}

// finish brings results back and waits for the stream.
func (c *call) finish() error {
	if c.stage == nil {
		return nil
	}
	e := c.engine
	return e.on(c.stage.device, func(*device) error {
		scatters := make([]func(), 0, len(c.stage.copies))
		for _, h := range c.stage.copies {
			if !h.out {
				continue
			}
			to := h.low
			if !h.view.C { // its gaps are not ours to write
				block, err := exec.NewBuffer(int(h.bytes))
				if err != nil {
					return err
				}
				defer block.Free()
				to = block.Address
				scatters = append(scatters, func() { h.view.Scatter(block.Bytes) })
			}
			if r := e.driver.API.CopyDeviceToHost(uintptr(to), h.device, h.bytes, c.stage.stream); r != driver.ResultSuccess {
				return e.failure("cuMemcpyDtoHAsync", r)
			}
		}
		if r := e.driver.API.StreamSynchronize(c.stage.stream); r != driver.ResultSuccess {
			return e.failure("cuStreamSynchronize", r)
		}
		for _, scatter := range scatters {
			scatter()
		}
		return nil
	})
}

// discard frees the copies, whatever became of the launch.
func (c *call) discard() {
	if c.stage == nil {
		return
	}
	e := c.engine
	_ = e.on(c.stage.device, func(*device) error {
		for _, h := range c.stage.copies {
			if h.tensor != nil {
				h.tensor.Free()
			}
			if h.async {
				e.driver.API.MemFreeAsync(h.device, c.stage.stream)
			} else {
				e.driver.API.MemFree(h.device)
			}
		}
		return nil
	})
}
