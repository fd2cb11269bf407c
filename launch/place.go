package launch

import (
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
)

// place is where a launch runs, for work that goes before and after it: found
// once, and its stream kept open until the call is over.
type place struct {
	device int
	stream driver.Stream
	held   *handles.Entry // a dlaunch_stream
}

// findPlace asks the executor for the device that it would launch on.
func (c *call) findPlace() error {
	if c.place != nil {
		return nil
	}
	device, fault := exec.DeviceOf(uint64(c.entry.Handle), c.config, c.args)
	if fault.Reason != exec.OK {
		return c.explain(fault)
	}
	p := &place{device: device, stream: driver.Stream(c.config.Stream)}
	if c.config.Stream >= handles.First {
		entry, err := c.engine.table.Acquire(handles.Handle(c.config.Stream), handles.Stream)
		if err != nil {
			return err
		}
		p.held, p.stream = entry, entry.Value.(*stream).native
	}
	c.place = p
	return nil
}

// onPlace runs f where the launch runs.
func (c *call) onPlace(f func(d *device) error) error {
	return c.engine.onStream(c.place.stream, c.place.device, f)
}

// leavePlace ends what findPlace began.
func (c *call) leavePlace() {
	if c.place != nil && c.place.held != nil {
		c.place.held.Drop()
	}
}

// orderedMemory is memory that is allocated and freed in the order of the
// launch's stream.
type orderedMemory struct {
	address driver.Address
	async   bool // false where the driver has no pools
}

func (c *call) allocate(bytes uint64) (orderedMemory, error) {
	api := c.engine.driver.API
	address, r := api.MemAllocAsync(bytes, c.place.stream)
	async := r != driver.ResultNotSupported
	if !async {
		address, r = api.MemAlloc(bytes)
	}
	if r != driver.ResultSuccess {
		return orderedMemory{}, c.engine.failure("cuMemAllocAsync", r)
	}
	return orderedMemory{address, async}, nil
}

func (c *call) free(m orderedMemory) {
	if m.async {
		c.engine.driver.API.MemFreeAsync(m.address, c.place.stream)
	} else {
		c.engine.driver.API.MemFree(m.address)
	}
}
