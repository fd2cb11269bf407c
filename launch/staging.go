package launch

import (
	"cmp"
	"slices"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// Host tensors of a launch are copied to the device, all at once: what overlaps
// on the host overlaps there too, so an array that is passed twice is one. They
// are copied in whatever their mode, since a kernel may leave elements of an out
// tensor as they are, unless the caller says that it leaves none; the simulator,
// which uses them in place, agrees.

// hostBlock is host memory that is on the device for the launch: all bytes of one
// or more tensors.
type hostBlock struct {
	low, high uint64
	copied    bool // to the device: a tensor in it has contents that count
	memory    orderedMemory
	through   uintptr // its place in page-locked memory, on both ways; 0 if it has none
}

// passage is where host memory is copied from.
func (b *hostBlock) passage() uintptr {
	if b.through == 0 {
		return uintptr(b.low)
	}
	copy(dlpack.HostBytes(uint64(b.through), uint64(b.through)+b.high-b.low), dlpack.HostBytes(b.low, b.high))
	return b.through
}

// hostTensor is an argument that was staged.
type hostTensor struct {
	view    *dlpack.View
	index   int
	written bool
	whole   bool       // every element is written, and none read
	block   *hostBlock // nil when it has no elements
	tensor  *exec.Tensor
}

// stage copies the host tensors and lets the arguments stand for the copies.
func (c *call) stage() error {
	if c.staged != nil {
		return status.Errorf(status.Internal, "kernel %q: a host tensor is still one", c.kernel.name)
	}
	c.args = slices.Clone(c.args) // the caller's array stays as it is
	if err := c.findHostTensors(); err != nil {
		return err
	}
	if err := c.findPlace(); err != nil {
		return err
	}
	blocks := mergeBlocks(c.staged)
	return c.onPlace(func(*device) error {
		if err := c.refuseCapture(); err != nil {
			return err
		}
		for _, b := range blocks {
			m, err := c.allocate(b.high - b.low)
			if err != nil {
				return err
			}
			b.memory = m
			c.memory = append(c.memory, m)
			b.through = c.engine.take(&c.room, b.high-b.low)
			if !b.copied {
				continue
			}
			if r := c.engine.driver.API.CopyHostToDevice(m.address, b.passage(), b.high-b.low, c.place.stream); r != driver.ResultSuccess {
				return c.engine.failure("cuMemcpyHtoDAsync", r)
			}
		}
		return c.substitute()
	})
}

// findHostTensors lists the host tensors that are marked; the executor refuses
// one that is not.
func (c *call) findHostTensors() error {
	for i := range c.args {
		arg := &c.args[i]
		view, err := c.viewOf(arg)
		if err != nil {
			return c.blame(err, i)
		}
		step := &c.kernel.program.Steps[i]
		if view == nil || view.Device.Type != dlpack.CPU || step.Flags&exec.Marked == 0 && arg.Flags&(exec.ArgIn|exec.ArgOut) == 0 {
			continue
		}
		written := step.Flags&exec.Written != 0 || arg.Flags&exec.ArgOut != 0
		if written && view.Flags&dlpack.ReadOnly != 0 { // the copy that stands for it has no flags
			return c.explain(exec.Fault{Reason: exec.ReadOnly, Argument: int32(i)})
		}
		if written && !view.C && view.Type.ItemBits()%8 != 0 {
			return status.Errorf(status.Unsupported, "argument %d%s is a strided host tensor of %v, whose elements share bytes; make it contiguous",
				i, c.argumentName(i), view.Type).At(i)
		}
		c.staged = append(c.staged, &hostTensor{view: view, index: i, written: written, whole: written && arg.Flags&exec.ArgWhole != 0})
	}
	return nil
}

// viewOf reads an argument's tensor; nil if it is none.
func (c *call) viewOf(arg *exec.Arg) (*dlpack.View, error) {
	switch arg.Kind {
	case exec.ArgTensor, exec.ArgManaged: // its DLTensor comes first
		return dlpack.Read(uintptr(arg.Value))
	case exec.ArgVersioned:
		return dlpack.ReadVersioned(uintptr(arg.Value))
	case exec.ArgHandle:
		return c.hostView(handles.Handle(arg.Value))
	}
	return nil, nil
}

// mergeBlocks gives each tensor the block that holds it; those that overlap share
// one.
func mergeBlocks(tensors []*hostTensor) []*hostBlock {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b *hostTensor) int { return cmp.Compare(a.view.Low, b.view.Low) })
	var blocks []*hostBlock
	for _, t := range sorted {
		if t.view.Size == 0 {
			continue
		}
		if last := len(blocks) - 1; last < 0 || t.view.Low >= blocks[last].high {
			blocks = append(blocks, &hostBlock{low: t.view.Low, high: t.view.High})
		} else {
			blocks[last].high = max(blocks[last].high, t.view.High)
		}
		t.block = blocks[len(blocks)-1]
		t.block.copied = t.block.copied || !t.whole
	}
	return blocks
}

func (c *call) refuseCapture() error {
	captured, err := c.engine.isCaptured(c.place.stream)
	if err != nil || !captured {
		return err
	}
	return c.capturedHost(c.staged[0].index)
}

func (c *call) capturedHost(index int) error {
	return status.Errorf(status.Tensor, "argument %d%s is a host tensor, and the stream is being captured into a graph, which copies nothing back; use device tensors",
		index, c.argumentName(index)).At(index)
}

// substitute makes device tensors of the same shapes and strides.
func (c *call) substitute() error {
	for _, t := range c.staged {
		var address uint64
		if t.block != nil {
			address = uint64(t.block.memory.address) + t.view.Address - t.block.low
		}
		var err error
		t.tensor, err = exec.NewTensor(address, c.engine.driver.DeviceType, int32(c.place.device), t.view.Type.Packed(), t.view.Shape, t.view.Strides)
		if err != nil {
			return err
		}
		c.args[t.index] = exec.Arg{Kind: exec.ArgTensor, Flags: c.args[t.index].Flags, Value: t.tensor.Address()}
	}
	return nil
}

// bringBack copies what the kernel wrote to its own elements, and waits for the
// stream.
func (c *call) bringBack() error {
	if len(c.staged) == 0 {
		return nil
	}
	var begun []*hostTensor
	err := c.onPlace(func(*device) error { return c.copyBack(&begun) })
	if err != nil {
		return c.tellHalfWritten(err, begun)
	}
	return nil
}

// copyBack lists the tensors whose own memory it copies to. The others are written
// when all copies are here.
func (c *call) copyBack(begun *[]*hostTensor) error {
	api := c.engine.driver.API
	var scatters []func()
	for _, t := range c.staged {
		if !t.written || t.block == nil {
			continue
		}
		offset, bytes := t.view.Low-t.block.low, t.view.High-t.view.Low
		to, err := c.landing(t, offset, bytes)
		if err != nil {
			return err
		}
		if to == t.view.Low {
			*begun = append(*begun, t)
		} else {
			scatters = append(scatters, func() { t.view.Scatter(dlpack.HostBytes(to, to+bytes)) })
		}
		if r := api.CopyDeviceToHost(uintptr(to), t.block.memory.address+driver.Address(offset), bytes, c.place.stream); r != driver.ResultSuccess {
			return c.engine.failure("cuMemcpyDtoHAsync", r)
		}
	}
	if r := api.StreamSynchronize(c.place.stream); r != driver.ResultSuccess {
		return c.engine.failure("cuStreamSynchronize", r)
	}
	for _, scatter := range scatters {
		scatter()
	}
	return nil
}

// landing is where a tensor's bytes are copied back to: page-locked memory, the
// tensor itself, or a buffer, since what lies between its elements is not ours to
// write.
func (c *call) landing(t *hostTensor, offset, bytes uint64) (uint64, error) {
	switch {
	case t.block.through != 0:
		return uint64(t.block.through) + offset, nil
	case t.view.C:
		return t.view.Low, nil
	}
	buffer, err := exec.NewBuffer(int(bytes))
	if err != nil {
		return 0, err
	}
	c.buffers = append(c.buffers, buffer)
	return buffer.Address, nil
}

// clean frees what the call had, whatever became of the launch. After a failure
// copies may still be under way, to or from the host's memory.
func (c *call) clean(failed bool) {
	defer c.dropHeld()
	if failed && len(c.staged) > 0 && len(c.memory) > 0 { // else none has begun: waiting for a stream ends its capture
		_ = c.onPlace(func(*device) error {
			c.engine.driver.API.StreamSynchronize(c.place.stream)
			return nil
		})
	}
	c.engine.leaveRoom(c.room)
	for _, buffer := range c.buffers {
		buffer.Free()
	}
	for _, t := range c.staged {
		if t.tensor != nil {
			t.tensor.Free()
		}
	}
	if len(c.memory) > 0 {
		_ = c.onPlace(func(*device) error {
			for _, m := range c.memory {
				c.free(m)
			}
			return nil
		})
	}
	c.leavePlace()
}
