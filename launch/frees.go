package launch

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
)

// frees are where closed arrays and tensors wait until the work that may use their
// memory is done. cuMemFree would wait for the whole device, and make other
// threads' launches wait with it (seen: 580), so memory is freed in stream order,
// on a stream of dlaunch's own, and a tensor's deleter is called, once a fence has
// passed:
//
//   - never launched: there is nothing to wait for;
//   - launched on one stream that surely still exists (a default stream, an open
//     dlaunch_stream): an event recorded on it at the time of closing;
//   - else (a foreign stream may be gone, and its number given out again): the next
//     time that all of the device's work is known to be done.
//
// On the simulator a launch is over when it returns, so nothing waits there; and
// in a poisoned context nothing runs any more.
type frees struct {
	mu      sync.Mutex
	waiting []*pendingFree

	running atomic.Bool // one thread asks the driver about events at a time
}

type pendingFree struct {
	entry  *handles.Entry
	shared *exec.Tensor
	device int    // whose memory it is, or noDevice
	end    func() // called once, when nothing uses it

	event  driver.Event
	fenced bool          // event says when; else only idle devices do
	owed   atomic.Uint64 // a bit for each device that was not idle since
}

// freeWhenDone ends what is closed if the work that uses it is done, else when it is. It
// also ends what else has waited long enough.
func (e *Engine) freeWhenDone(s *pendingFree) {
	use := s.shared.Use()
	if used := len(use.Streams) > 0 || use.Left; used && !e.simulated() {
		s.owed.Store(e.users(s.device, use))
		if stream, known := e.onlyStream(use, s.device); known {
			event, err := e.fence(stream, s.device)
			s.event, s.fenced = event, err == nil
		}
	}
	if e.finished([]*pendingFree{s})[s] {
		e.endFree(s)
	} else {
		s.entry.Outlive()
		e.frees.mu.Lock()
		e.frees.waiting = append(e.frees.waiting, s)
		e.frees.mu.Unlock()
	}
	e.runFinished()
}

// users gives a bit for each device whose kernels may use memory that is a device's.
func (e *Engine) users(index int, use exec.Use) uint64 {
	if index != noDevice && !use.Peers {
		return 1 << index
	}
	var all uint64
	for i := range e.devices {
		d := &e.devices[i]
		d.mu.Lock()
		if d.ready {
			all |= 1 << i
		}
		d.mu.Unlock()
	}
	return all
}

// finished gives those that nothing uses any more.
func (e *Engine) finished(list []*pendingFree) map[*pendingFree]bool {
	over := map[*pendingFree]bool{}
	api, poisoned := e.driver.API, e.poisoned() != nil
	for _, s := range list {
		if s.owed.Load() == 0 || poisoned {
			over[s] = true
		} else if s.fenced {
			if r := relaxed(api, func() driver.Result { return api.EventQuery(s.event) }); r == driver.ResultSuccess {
				over[s] = true
			}
		}
	}
	return over
}

func (e *Engine) endFree(s *pendingFree) {
	if s.fenced && e.poisoned() == nil {
		e.driver.API.EventDestroy(s.event)
	}
	s.end()
}

// fence records an event behind the work of a stream that surely exists: not while it
// is part of a capture, which the event would join.
func (e *Engine) fence(stream uint64, index int) (event driver.Event, err error) {
	api := e.driver.API
	record := func(native driver.Stream) error {
		if err := e.refuseCaptured(native); err != nil {
			return err
		}
		made, r := api.EventCreate(EventNoTiming)
		if r != driver.ResultSuccess {
			return e.failure("cuEventCreate", r)
		}
		if r := api.EventRecord(made, native); r != driver.ResultSuccess {
			api.EventDestroy(made)
			return e.failure("cuEventRecord", r)
		}
		event = made
		return nil
	}
	if stream >= handles.First {
		err = e.withStream(stream, index, record)
	} else { // the primary context's, whichever is current now: in another, it would be used elsewhere
		err = e.on(index, func(*device) error { return record(driver.Stream(stream)) })
	}
	return event, err
}

// onlyStream gives the stream of all launches, if it is one that an event can be
// recorded on.
func (e *Engine) onlyStream(use exec.Use, device int) (stream uint64, known bool) {
	if len(use.Streams) != 1 || use.More || use.Peers || use.Left {
		return 0, false
	}
	stream = use.Streams[0]
	if stream < handles.First && device == noDevice {
		return 0, false // the default stream of which device?
	}
	return stream, e.surelyExists(stream)
}

// surelyExists says whether a stream that a launch was given is there still, and the
// one that was meant: a foreign one may be gone, a per-thread one another thread's.
func (e *Engine) surelyExists(stream uint64) bool {
	return stream <= driver.LegacyStream || stream >= handles.First && e.Check(handles.Handle(stream), handles.Stream) == nil
}

// runFinished frees what nothing uses any more: false if another thread is at it. No
// lock is held while the driver is asked.
func (e *Engine) runFinished() bool {
	if !e.frees.running.CompareAndSwap(false, true) {
		return false
	}
	defer e.frees.running.Store(false)
	e.frees.mu.Lock()
	asked := slices.Clone(e.frees.waiting)
	e.frees.mu.Unlock()
	if len(asked) == 0 {
		return true
	}
	done := e.finished(asked)
	e.frees.mu.Lock()
	e.frees.waiting = slices.DeleteFunc(e.frees.waiting, func(s *pendingFree) bool { return done[s] })
	e.frees.mu.Unlock()
	for s := range done {
		e.endFree(s)
		s.entry.Gone()
	}
	return true
}

// runAllFinished is runFinished after another thread's, which may have begun too early to
// see what this one did.
func (e *Engine) runAllFinished() {
	for !e.runFinished() {
		runtime.Gosched()
	}
}

// afterIdle runs wait, which returns when all of a device's work is done, and frees
// what was waiting for that before.
func (e *Engine) afterIdle(device int, wait func() error) error {
	e.frees.mu.Lock()
	before := make([]*pendingFree, 0, len(e.frees.waiting))
	for _, s := range e.frees.waiting {
		if s.owed.Load()&(1<<device) != 0 {
			before = append(before, s)
		}
	}
	e.frees.mu.Unlock()
	if err := wait(); err != nil {
		e.runFinished() // a poisoned context is idle too
		return err
	}
	for _, s := range before {
		s.owed.And(^(uint64(1) << device))
	}
	e.runAllFinished()
	return nil
}

// freesOwedBy counts what waits for a device.
func (e *Engine) freesOwedBy(device int) int {
	e.frees.mu.Lock()
	defer e.frees.mu.Unlock()
	n := 0
	for _, s := range e.frees.waiting {
		if s.owed.Load()&(1<<device) != 0 {
			n++
		}
	}
	return n
}

// pendingFrees counts all that waits.
func (e *Engine) pendingFrees() int {
	e.frees.mu.Lock()
	defer e.frees.mu.Unlock()
	return len(e.frees.waiting)
}
