package sim

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dlaunch/internal/driver"
)

// Launch is one launch of a kernel.
type Launch struct {
	Kernel      driver.Kernel
	Stream      driver.Stream
	Grid, Block [3]uint32
	Shared      uint32 // dynamic, in bytes
	Params      []byte
	Arguments   []Argument
	Cooperative bool
}

// Argument is what one of the caller's tensors lets the kernel touch.
type Argument struct {
	Index         int // the caller's, counted from 0; of a bound one the parameter's
	Bound         bool
	Name          string
	DType         string
	ItemSize      uint64
	Data          uint64 // the first element
	Low, High     uint64 // [Low, High) covers every element
	Read, Written bool
}

// run is a launch under way.
type run struct {
	Launch
	simulator *Simulator
	program   *program
	memory    []span // what may be touched, sorted
	workspace uint64 // memory of the grid's barrier
	total     uint64 // blocks
	next      atomic.Uint64
	stopped   atomic.Bool // a block met a fault
	started   time.Time

	mu     sync.Mutex
	fault  *Fault
	output []byte // of printf
}

// Launch runs a grid, and returns when it is done: nil, or what went wrong. On a
// stream that is captured it keeps the launch for the graph.
func (s *Simulator) Launch(l Launch) *Fault {
	k := s.kernel(l.Kernel)
	if k == nil {
		return refuse(driver.ResultInvalidHandle, "the kernel is not loaded")
	}
	if fault := s.check(k, &l); fault != nil {
		return fault
	}
	if s.record(l) {
		return nil
	}
	s.running.RLock()
	defer s.running.RUnlock()
	if s.kernel(l.Kernel) != k {
		return refuse(driver.ResultInvalidHandle, "%s: its library was unloaded", k.program.name)
	}
	r := &run{Launch: l, simulator: s, program: k.program, memory: s.arena.spans(), started: time.Now(),
		total: uint64(l.Grid[0]) * uint64(l.Grid[1]) * uint64(l.Grid[2])}
	if l.Cooperative {
		r.cooperate()
	} else {
		r.spread()
	}
	r.print()
	return r.fault
}

// check refuses what a device would.
func (s *Simulator) check(k *kernel, l *Launch) *Fault {
	p := k.program
	threads := uint64(1)
	for i, most := range [3]uint32{maxBlockXY, maxBlockXY, maxBlockZ} {
		if l.Block[i] == 0 || l.Block[i] > most {
			return refuse(driver.ResultInvalidValue, "%s: block (%d,%d,%d): axis %d may have 1 to %d threads", p.name, l.Block[0], l.Block[1], l.Block[2], i, most)
		}
		threads *= uint64(l.Block[i])
	}
	for i, most := range [3]uint32{maxGridX, maxGridYZ, maxGridYZ} {
		if l.Grid[i] == 0 || l.Grid[i] > most {
			return refuse(driver.ResultInvalidValue, "%s: grid (%d,%d,%d): axis %d may have 1 to %d blocks", p.name, l.Grid[0], l.Grid[1], l.Grid[2], i, most)
		}
	}
	s.mu.Lock()
	most := slices.Max(k.maxDynamic)
	s.mu.Unlock()
	switch {
	case threads > uint64(p.threads()):
		return refuse(driver.ResultInvalidValue, "%s: a block of %d threads; the kernel takes %d at most", p.name, threads, p.threads())
	case p.reqNTID != [3]uint32{} && p.reqNTID != l.Block:
		return refuse(driver.ResultInvalidValue, "%s: block (%d,%d,%d); the kernel was compiled for (%d,%d,%d) (.reqntid)", p.name,
			l.Block[0], l.Block[1], l.Block[2], p.reqNTID[0], p.reqNTID[1], p.reqNTID[2])
	case l.Shared > most:
		return refuse(driver.ResultInvalidValue, "%s: %d bytes of dynamic shared memory; the limit is %d", p.name, l.Shared, most)
	case uint64(len(l.Params)) < p.paramBytes:
		return refuse(driver.ResultInvalidValue, "%s: %d bytes of parameters; %d are wanted", p.name, len(l.Params), p.paramBytes)
	}
	if resident := multiprocessors * p.activeBlocks(threads, uint64(l.Shared)); l.Cooperative && uint64(l.Grid[0])*uint64(l.Grid[1])*uint64(l.Grid[2]) > resident {
		return refuse(driver.ResultCooperativeLaunchTooLarge, "%s: a cooperative grid may have %d blocks of %d threads here", p.name, resident, threads)
	}
	return nil
}

// spread has the cores take blocks in turn.
func (r *run) spread() {
	workers := int(min(uint64(runtime.GOMAXPROCS(0)), r.total))
	if workers == 1 {
		r.work()
		return
	}
	var wait sync.WaitGroup
	for range workers {
		wait.Go(r.work)
	}
	wait.Wait()
}

func (r *run) work() {
	b := r.newBlock()
	for !r.stopped.Load() {
		n := r.next.Add(1) - 1
		if n >= r.total {
			return
		}
		b.begin(n)
		b.execute(false)
		r.settle(b)
	}
}

// workspaceBytes holds what a grid's barrier counts with (cooperative groups use
// the first words).
const workspaceBytes = 1024

// cooperate has all blocks alive at once, so that they can wait for one another.
func (r *run) cooperate() {
	memory := r.simulator.arena.allocate(workspaceBytes)
	if memory == nil {
		r.fault = refuse(driver.ResultOutOfMemory, "%s: no memory is free for the grid's barrier", r.program.name)
		return
	}
	defer r.simulator.arena.free(memory.base, false)
	r.workspace = memory.base
	r.memory = r.simulator.arena.spans()
	var wait sync.WaitGroup
	for n := range r.total {
		wait.Go(func() {
			b := r.newBlock()
			b.begin(n)
			b.execute(true)
			r.settle(b)
		})
	}
	wait.Wait()
}

// settle keeps a block's fault if it is the first.
func (r *run) settle(b *block) {
	if b.fault == nil {
		return
	}
	r.stopped.Store(true)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = b.fault
	}
}
