package launch

import (
	"slices"
	"sync"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// holds are the launches that CUDA graphs hold. A graph remembers a kernel and
// addresses, and may run when all of them are closed (where the library is gone,
// instantiating the graph ends the process: seen, 580). So each launch that is
// captured is an entry that holds them, for a user object of the graph. That ends
// with the graph and all that was made of it, on a thread of the driver's, which
// only lists it; later calls drop the entry.
type holds struct {
	mu   sync.Mutex
	held map[uint64]heldLaunch // by the entry's handle
}

type heldLaunch struct {
	entry  *handles.Entry // closed at once: it is nobody's to close
	kernel *handles.Entry // held once more, so that the end of entry ends no library
}

// holdCaptured makes the graph that the launch is captured into hold what it needs.
func (c *call) holdCaptured() error {
	c.engine.reclaim() // a program that only captures calls nothing else
	if err := c.findPlace(); err != nil {
		return err
	}
	for _, m := range c.memory {
		if !m.async { // freed after this call, not by the graph
			return status.Errorf(status.Unsupported, "kernel %q: the stream is being captured into a graph, for which scratch memory needs memory pools; device %d has none",
				c.kernel.name, c.place.device)
		}
	}
	return c.engine.on(c.place.device, func(*device) error {
		graph, r := c.engine.driver.API.StreamCaptureGraph(c.place.stream)
		if r != driver.ResultSuccess {
			return c.cannotHold("cuStreamGetCaptureInfo", r)
		}
		if graph == 0 {
			return nil // the capture has ended meanwhile: the executor looks again
		}
		return c.holdBy(graph)
	})
}

// holdBy goes before the launch: a hold too many harms nothing.
func (c *call) holdBy(graph driver.Graph) error {
	api := c.engine.driver.API
	record, err := c.newHold()
	if err != nil {
		return err
	}
	object, r := api.UserObjectCreate(uintptr(record), exec.HoldEnds())
	if r != driver.ResultSuccess {
		record.End()
		return c.cannotHold("cuUserObjectCreate", r)
	}
	if r := api.GraphRetainUserObject(graph, object); r != driver.ResultSuccess {
		api.UserObjectRelease(object)
		return c.cannotHold("cuGraphRetainUserObject", r)
	}
	c.isHeld = true
	return nil
}

func (c *call) cannotHold(function string, r driver.Result) error {
	if r != driver.ResultNotSupported {
		return c.engine.failure(function, r)
	}
	err := status.Errorf(status.Unsupported, "kernel %q: the stream is being captured into a graph, which has to hold the kernel and its arrays; this driver (%s) lacks %s (11.3)",
		c.kernel.name, driver.VersionText(c.engine.driver.API.Version), function)
	err.Driver = int32(r)
	return err
}

// newHold makes the entry, and the record that stands for it.
func (c *call) newHold() (exec.Hold, error) {
	e := c.engine
	used, err := c.used()
	if err != nil {
		return 0, err
	}
	kernel, err := e.table.Acquire(c.entry.Handle, handles.Kernel)
	if err != nil {
		return 0, err
	}
	entry, err := e.table.Open(handles.Capture, "launch of "+c.kernel.name, nil, func() { leave(used) }, append(used, kernel)...)
	if err != nil {
		kernel.Drop()
		return 0, err
	}
	_, _ = e.table.Close(entry.Handle, handles.Capture) // nobody else can have
	id := uint64(entry.Handle)
	record, err := exec.NewHold(id)
	if err != nil {
		entry.Drop()
		kernel.Drop()
		return 0, err
	}
	h := &e.holds
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil {
		h.held = map[uint64]heldLaunch{}
	}
	h.held[id] = heldLaunch{entry, kernel}
	return record, nil
}

// used lists what the arguments are of dlaunch's: by their handles, and the arrays
// whose memory other structs describe (slices, exported tensors).
func (c *call) used() ([]*handles.Entry, error) {
	var used []*handles.Entry
	var addresses []uint64
	for i := range c.args {
		arg := &c.args[i]
		if arg.Kind == exec.ArgHandle {
			entry, err := c.engine.table.Get(handles.Handle(arg.Value), handles.Any)
			if err != nil {
				return nil, c.blame(err, i)
			}
			if t, imported := entry.Value.(*tensor); imported && c.engine.usesInPlace(t.view) {
				return nil, c.capturedHost(i)
			}
			used = append(used, entry)
			continue
		}
		view, err := c.viewOf(arg)
		if err != nil {
			return nil, c.blame(err, i)
		}
		if view != nil && c.engine.usesInPlace(view) {
			return nil, c.capturedHost(i)
		}
		if view != nil && view.Size > 0 {
			addresses = append(addresses, view.Low)
		}
	}
	if len(addresses) > 0 {
		used = append(used, c.engine.table.Select(handles.Array, func(value any) bool {
			a := value.(*array)
			return slices.ContainsFunc(addresses, func(address uint64) bool { return address-uint64(a.address) < a.bytes })
		})...)
	}
	return used, nil
}

// usesInPlace says whether the simulator lets kernels touch a host tensor, which on
// a GPU would be a copy.
func (e *Engine) usesInPlace(view *dlpack.View) bool {
	d := &e.driver
	return e.simulated() && view.Size > 0 && view.Low-d.MemoryBase >= d.MemorySize
}

// leave says that the graph's launches used arrays and tensors on streams that
// nobody knows.
func leave(used []*handles.Entry) {
	for _, entry := range used {
		switch value := entry.Value.(type) {
		case *array:
			value.shared.Leave()
		case *tensor:
			value.shared.Leave()
		}
	}
}

// dropEnded drops what graphs that are gone have held. It never waits.
func (e *Engine) dropEnded() {
	for _, id := range exec.EndedHolds() {
		h := &e.holds
		h.mu.Lock()
		held := h.held[id]
		delete(h.held, id)
		h.mu.Unlock()
		held.entry.Drop()
		e.letGo(held.kernel)
	}
}

// reclaim ends what neither a graph nor a launch holds any more.
func (e *Engine) reclaim() {
	e.dropEnded()
	e.deferred.Reclaim()
}

// heldByGraphs counts the launches that graphs hold.
func (e *Engine) heldByGraphs() int {
	e.holds.mu.Lock()
	defer e.holds.mu.Unlock()
	return len(e.holds.held)
}
