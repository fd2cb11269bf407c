package sim

import (
	"slices"

	"github.com/ebitengine/purego"

	"dlaunch/internal/driver"
)

// graph is what was captured of a stream, or what was instantiated from that:
// launches, which run one after the other.
type graph struct {
	launches []Launch
	holds    []*held
}

// held is what goes with the last graph that has it: a user object, or memory that
// was allocated in the capture.
type held struct {
	references int
	end        func()
}

func (s *Simulator) streamBeginCapture(stream driver.Stream, mode int32) driver.Result {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mode < 0 || mode > 2 || stream < driver.PerThreadStream || s.captures[stream] != 0 {
		return driver.ResultInvalidValue
	}
	s.captures[stream] = driver.Graph(s.addGraph(&graph{}))
	return driver.ResultSuccess
}

// addGraph is called with the lock held.
func (s *Simulator) addGraph(g *graph) uint64 {
	n := s.number()
	s.graphs[n] = g
	return n
}

func (s *Simulator) streamEndCapture(stream driver.Stream) (driver.Graph, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.captures[stream]
	if n == 0 {
		return 0, driver.ResultInvalidValue
	}
	delete(s.captures, stream)
	return n, driver.ResultSuccess
}

func (s *Simulator) streamCapturing(stream driver.Stream) (bool, driver.Result) {
	n, r := s.streamCaptureGraph(stream)
	return n != 0, r
}

func (s *Simulator) streamCaptureGraph(stream driver.Stream) (driver.Graph, driver.Result) {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return 0, r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.captures[stream], driver.ResultSuccess
}

// capturedInto gives the graph that a stream is captured into, or nil; the lock is
// held.
func (s *Simulator) capturedInto(stream driver.Stream) *graph {
	return s.graphs[uint64(s.captures[stream])]
}

// record keeps a launch on a stream that is captured: false if it is not.
func (s *Simulator) record(l Launch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.capturedInto(l.Stream)
	if g == nil {
		return false
	}
	l.Params, l.Stream = slices.Clone(l.Params), 0
	g.launches = append(g.launches, l)
	return true
}

// keepMemory leaves memory to the graph that its stream is captured into.
func (s *Simulator) keepMemory(address driver.Address, stream driver.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.capturedInto(stream); g != nil {
		g.holds = append(g.holds, &held{1, func() { s.memFree(address) }})
	}
}

func (s *Simulator) userObjectCreate(data, destroy uintptr) (driver.UserObject, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := driver.UserObject(s.number())
	s.objects[object] = &held{1, func() { purego.SyscallN(destroy, data) }}
	return object, driver.ResultSuccess
}

// takeObject gives a user object that no graph has yet, and forgets its number.
func (s *Simulator) takeObject(object driver.UserObject) *held {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.objects[object]
	delete(s.objects, object)
	return found
}

func (s *Simulator) userObjectRelease(object driver.UserObject) driver.Result {
	found := s.takeObject(object)
	if found == nil {
		return driver.ResultInvalidValue
	}
	found.end()
	return driver.ResultSuccess
}

func (s *Simulator) graphRetainUserObject(to driver.Graph, object driver.UserObject) driver.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, found := s.graphs[uint64(to)], s.objects[object]
	if g == nil || found == nil {
		return driver.ResultInvalidValue
	}
	delete(s.objects, object)
	g.holds = append(g.holds, found)
	return driver.ResultSuccess
}

func (s *Simulator) graphInstantiate(from driver.Graph) (driver.GraphExec, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.graphs[uint64(from)]
	if g == nil {
		return 0, driver.ResultInvalidValue
	}
	for _, h := range g.holds {
		h.references++
	}
	made := *g
	return driver.GraphExec(s.addGraph(&made)), driver.ResultSuccess
}

// LaunchGraph runs a graph's launches, until one fails.
func (s *Simulator) LaunchGraph(exec driver.GraphExec, stream driver.Stream) *Fault {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return refuse(r, "the stream is none of the simulator's")
	}
	s.mu.Lock()
	g := s.graphs[uint64(exec)]
	s.mu.Unlock()
	if g == nil {
		return refuse(driver.ResultInvalidValue, "the graph is none of the simulator's")
	}
	for _, l := range g.launches {
		if fault := s.Launch(l); fault != nil {
			return fault
		}
	}
	return nil
}

func (s *Simulator) graphLaunch(exec driver.GraphExec, stream driver.Stream) driver.Result {
	if fault := s.LaunchGraph(exec, stream); fault != nil {
		return fault.Result
	}
	return driver.ResultSuccess
}

func (s *Simulator) graphDestroy(g driver.Graph) driver.Result { return s.endGraph(uint64(g)) }

func (s *Simulator) graphExecDestroy(g driver.GraphExec) driver.Result { return s.endGraph(uint64(g)) }

func (s *Simulator) endGraph(n uint64) driver.Result {
	s.mu.Lock()
	g := s.graphs[n]
	delete(s.graphs, n)
	var last []*held
	if g != nil {
		for _, h := range g.holds {
			if h.references--; h.references == 0 {
				last = append(last, h)
			}
		}
	}
	s.mu.Unlock()
	if g == nil {
		return driver.ResultInvalidValue
	}
	for _, h := range last {
		h.end()
	}
	return driver.ResultSuccess
}
