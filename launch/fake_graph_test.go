package launch_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec/exectest"
)

// fakeGraph is what a stream of the fake is captured into, and its user objects.
type fakeGraph struct {
	mu      sync.Mutex
	stream  driver.Stream // that is captured; 0: none
	objects []*userObject // that there are; the number of one is where it was once
	nodes   []string      // what was done on the stream, launches aside: with how many before
	before  uint64

	owners   int             // graphs and what was instantiated from them
	replayed []driver.Stream // on which each was launched
	inside   atomic.Int32    // threads in a launch
	overlaps bool            // there were two at once

	asks, creates, retains                   driver.Result
	begins, finishes, instantiates, launches driver.Result
	ends                                     bool // the capture ends when its graph is asked for
}

type userObject struct {
	data, destroy uintptr
	retained      bool // by the graph
}

const capturedStream, theGraph = 0x7000, 0x9000

// capture begins the capture of capturedStream.
func (g *fakeGraph) capture(t *testing.T) {
	g.stream, g.before = capturedStream, exectest.Launches()
	exectest.Capture(capturedStream, 1)
	t.Cleanup(func() { exectest.Capture(0, 0) })
}

// endCapture leaves a graph that can be launched.
func (g *fakeGraph) endCapture() {
	g.stream = 0
	exectest.Capture(0, 0)
}

// destroy ends the graph and what was instantiated from it.
func (g *fakeGraph) destroy(t *testing.T) {
	t.Helper()
	require.True(t, g.endObjects())
}

func (g *fakeGraph) endObjects() bool {
	g.mu.Lock()
	var ended []*userObject
	for i, o := range g.objects {
		if o != nil && o.retained {
			ended = append(ended, o)
			g.objects[i] = nil
		}
	}
	g.mu.Unlock()
	all := true
	for _, o := range ended {
		all = exectest.Destroy(o.destroy, o.data) && all
	}
	return all
}

// retained counts what the graph holds.
func (g *fakeGraph) retained() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, o := range g.objects {
		if o != nil && o.retained {
			n++
		}
	}
	return n
}

func (g *fakeGraph) captures(s driver.Stream) bool { return g.stream != 0 && s == g.stream }

func (g *fakeGraph) note(what string, s driver.Stream) {
	if !g.captures(s) {
		return
	}
	if exectest.Launches() > g.before {
		what += " after the launch"
	}
	g.nodes = append(g.nodes, what)
}

func (g *fakeGraph) of(s driver.Stream) (driver.Graph, driver.Result) {
	if g.ends {
		g.endCapture()
	}
	if g.asks != driver.ResultSuccess || !g.captures(s) {
		return 0, g.asks
	}
	return theGraph, driver.ResultSuccess
}

const theExec = 0xa000

func (g *fakeGraph) begin(s driver.Stream, mode int32) driver.Result {
	const relaxed = 2
	if mode != relaxed {
		return driver.ResultInvalidValue
	}
	if g.begins == driver.ResultSuccess {
		g.stream, g.before, g.owners = s, exectest.Launches(), g.owners+1
		exectest.Capture(uint64(s), 1)
	}
	return g.begins
}

func (g *fakeGraph) finish(s driver.Stream) (driver.Graph, driver.Result) {
	if !g.captures(s) {
		return 0, driver.ResultInvalidValue
	}
	g.endCapture()
	if g.finishes != driver.ResultSuccess {
		g.letGo()
		return 0, g.finishes
	}
	return theGraph, driver.ResultSuccess
}

func (g *fakeGraph) instantiate(of driver.Graph) (driver.GraphExec, driver.Result) {
	if of != theGraph || g.instantiates != driver.ResultSuccess {
		return 0, max(g.instantiates, driver.ResultInvalidValue)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owners++
	return theExec, driver.ResultSuccess
}

func (g *fakeGraph) launch(x driver.GraphExec, s driver.Stream) driver.Result {
	if x != theExec {
		return driver.ResultInvalidValue
	}
	overlaps := g.inside.Add(1) > 1
	runtime.Gosched()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.overlaps = g.overlaps || overlaps
	g.replayed = append(g.replayed, s)
	g.inside.Add(-1)
	return g.launches
}

// letGo ends one of the graph's owners, and with the last what it holds.
func (g *fakeGraph) letGo() driver.Result {
	g.mu.Lock()
	g.owners--
	owners := g.owners
	g.mu.Unlock()
	if owners == 0 && !g.endObjects() {
		return driver.ResultUnknown
	}
	return driver.ResultSuccess
}

func (g *fakeGraph) create(data, destroy uintptr) (driver.UserObject, driver.Result) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.creates != driver.ResultSuccess {
		return 0, g.creates
	}
	g.objects = append(g.objects, &userObject{data: data, destroy: destroy})
	return driver.UserObject(len(g.objects)), driver.ResultSuccess
}

func (g *fakeGraph) retain(graph driver.Graph, o driver.UserObject) driver.Result {
	g.mu.Lock()
	defer g.mu.Unlock()
	if graph != theGraph {
		return driver.ResultInvalidValue
	}
	if g.retains == driver.ResultSuccess {
		g.objects[o-1].retained = true
	}
	return g.retains
}

func (g *fakeGraph) release(o driver.UserObject) driver.Result {
	g.mu.Lock()
	object := g.objects[o-1]
	g.objects[o-1] = nil
	g.mu.Unlock()
	if !exectest.Destroy(object.destroy, object.data) {
		return driver.ResultUnknown
	}
	return driver.ResultSuccess
}
