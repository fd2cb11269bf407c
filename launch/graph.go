package launch

import (
	"fmt"
	"sync"
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// Call is one launch of several.
type Call struct {
	Kernel handles.Handle
	Config *exec.Config
	Args   []exec.Arg
}

// graph is what a dlaunch_graph stands for: launches of one device that the driver
// does in one call. What they need is held as by any graph that they are captured
// into.
type graph struct {
	device int
	exec   driver.GraphExec
	mu     sync.Mutex // the driver takes one launch of a graph at a time
}

// CreateGraph captures launches and makes of them what LaunchGraph launches. They
// run one after the other: their own streams say on which device, and no more.
func (e *Engine) CreateGraph(calls []Call) (handles.Handle, error) {
	if len(calls) == 0 {
		return 0, status.Errorf(status.Argument, "num is 0; a graph has one launch or more")
	}
	index, err := e.prepare(calls)
	if err != nil {
		return 0, err
	}
	g := &graph{device: index}
	if err := e.on(index, func(*device) error { return e.record(g, calls) }); err != nil {
		return 0, err
	}
	label := fmt.Sprintf("%d launches on device %d", len(calls), index)
	entry, err := e.table.Open(handles.Graph, label, g, func() { e.destroyGraph(g) })
	if err != nil {
		e.destroyGraph(g)
		return 0, err
	}
	return entry.Handle, nil
}

// prepare finds the device of all launches, and loads their kernels, which does not
// go well with a capture.
func (e *Engine) prepare(calls []Call) (int, error) {
	first := 0
	for i, call := range calls {
		index, err := e.deviceOf(call)
		if err == nil && i > 0 && index != first {
			err = status.Errorf(status.Argument, "it is for device %d, call 0 for device %d; a graph is of one device", index, first)
		}
		if err == nil {
			err = e.LoadKernel(call.Kernel, index)
		}
		if err != nil {
			return 0, inCall(i, err)
		}
		if i == 0 {
			first = index
		}
	}
	return first, nil
}

func (e *Engine) deviceOf(of Call) (int, error) {
	if of.Config == nil || uintptr(of.Config.StructSize) < unsafe.Sizeof(*of.Config) { // which a launch refuses
		return 0, e.Launch(of.Kernel, of.Config, of.Args, exec.LaunchAgain(uint64(of.Kernel), of.Config, of.Args, nil, false))
	}
	entry, err := e.table.Acquire(of.Kernel, handles.Kernel)
	if err != nil {
		return 0, err
	}
	defer entry.Drop()
	c := &call{engine: e, entry: entry, kernel: entry.Value.(*kernel), config: of.Config, args: of.Args}
	defer c.leavePlace()
	if err := c.findPlace(); err != nil {
		return 0, err
	}
	return c.place.device, nil
}

// record captures the launches and instantiates the graph.
func (e *Engine) record(g *graph, calls []Call) error {
	api := e.driver.API
	captured, err := e.captureCalls(calls)
	if err != nil {
		return err
	}
	defer api.GraphDestroy(captured) // what was instantiated from it has all
	e.unload.RLock()
	defer e.unload.RUnlock()
	var r driver.Result
	if g.exec, r = api.GraphInstantiate(captured); r != driver.ResultSuccess {
		return e.cannotGraph("cuGraphInstantiateWithFlags", r)
	}
	return nil
}

// captureCalls captures on a stream of its own, whose mode lets this and other
// threads do what they like meanwhile.
func (e *Engine) captureCalls(calls []Call) (driver.Graph, error) {
	api := e.driver.API
	stream, r := api.StreamCreate(StreamNonBlocking, 0)
	if r != driver.ResultSuccess {
		return 0, e.failure("cuStreamCreateWithPriority", r)
	}
	defer api.StreamDestroy(stream)
	if r := api.StreamBeginCapture(stream, driver.CaptureRelaxed); r != driver.ResultSuccess {
		return 0, e.cannotGraph("cuStreamBeginCapture", r)
	}
	err := e.launchOn(stream, calls)
	captured, r := api.StreamEndCapture(stream)
	if err == nil && r != driver.ResultSuccess {
		err = e.failure("cuStreamEndCapture", r)
	}
	if err != nil && captured != 0 {
		api.GraphDestroy(captured)
	}
	return captured, err
}

// launchOn launches as the gate does: the executor first, then what Go does about
// it.
func (e *Engine) launchOn(stream driver.Stream, calls []Call) error {
	for i, call := range calls {
		config := *call.Config
		config.Stream = uint64(stream)
		fault := exec.LaunchAgain(uint64(call.Kernel), &config, call.Args, nil, false)
		if fault.Reason == exec.OK {
			continue
		}
		if err := e.Launch(call.Kernel, &config, call.Args, fault); err != nil {
			return inCall(i, err)
		}
	}
	return nil
}

// inCall says which of several launches an error is about.
func inCall(index int, err error) error {
	if se, ok := err.(*status.Error); ok {
		copied := *se
		copied.Message = fmt.Sprintf("call %d: %s", index, se.Message)
		return &copied
	}
	return err
}

func (e *Engine) cannotGraph(function string, r driver.Result) error {
	if r != driver.ResultNotSupported {
		return e.failure(function, r)
	}
	err := status.Errorf(status.Unsupported, "this driver (%s) lacks %s (11.4); use dlaunch_launch_many", driver.VersionText(e.driver.API.Version), function)
	err.Driver = int32(r)
	return err
}

// LaunchGraph launches a graph on a stream of its device.
func (e *Engine) LaunchGraph(h handles.Handle, stream uint64) error {
	entry, err := e.table.Acquire(h, handles.Graph)
	if err != nil {
		return err
	}
	defer entry.Drop()
	g := entry.Value.(*graph)
	return e.withStream(stream, g.device, func(native driver.Stream) error {
		if at := e.currentDevice(); at != g.device {
			return status.Errorf(status.Argument, "the stream is of device %d, the graph of device %d", at, g.device)
		}
		if err := e.refuseNesting(native); err != nil {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		e.unload.RLock()
		defer e.unload.RUnlock()
		if r := e.driver.API.GraphLaunch(g.exec, native); r != driver.ResultSuccess {
			return e.launchFailure("cuGraphLaunch", r)
		}
		return nil
	})
}

// refuseNesting refuses a stream that is being captured: whether a graph within a
// graph holds what this one does, the driver does not say.
func (e *Engine) refuseNesting(native driver.Stream) error {
	if native <= driver.LegacyStream { // which cannot be captured
		return nil
	}
	captured, err := e.isCaptured(native)
	if err != nil || !captured {
		return err
	}
	return status.Errorf(status.Unsupported, "the stream is being captured into a graph; launch there what this graph was made of")
}

// destroyGraph ends a closed graph: if it runs, the driver does when that is over.
func (e *Engine) destroyGraph(g *graph) {
	_ = e.on(g.device, func(*device) error {
		e.driver.API.GraphExecDestroy(g.exec)
		return nil
	})
}
