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

// limbo is where closed arrays and tensors wait until the work that may use their
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
type limbo struct {
	mu      sync.Mutex
	waiting []*soul

	sweeping atomic.Bool // one thread asks the driver about events at a time
}

type soul struct {
	shared *exec.Tensor
	device int    // whose memory it is, or noDevice
	end    func() // called once, when nothing uses it

	event  driver.Event
	fenced bool          // event says when; else only idle devices do
	owed   atomic.Uint64 // a bit for each device that was not idle since
}

// bury ends what is closed if the work that uses it is done, else when it is. It
// also ends what else has waited long enough.
func (e *Engine) bury(s *soul) {
	use := s.shared.Use()
	if unused := use.Nowhere && !use.Anywhere; !unused && !e.simulated() {
		users := s.device
		if use.Peers {
			users = noDevice
		}
		s.owed.Store(e.users(users))
		if !use.Anywhere {
			e.fence(s, use)
		}
	}
	if e.areOver([]*soul{s})[s] {
		e.endNow(s)
	} else {
		e.limbo.mu.Lock()
		e.limbo.waiting = append(e.limbo.waiting, s)
		e.limbo.mu.Unlock()
	}
	e.sweep()
}

// users gives a bit for each device whose kernels may use a device's memory.
func (e *Engine) users(index int) uint64 {
	if index != noDevice {
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

// areOver gives those that nothing uses any more.
func (e *Engine) areOver(souls []*soul) map[*soul]bool {
	over := map[*soul]bool{}
	api, poisoned := e.driver.API, e.poisoned() != nil
	for _, s := range souls {
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

func (e *Engine) endNow(s *soul) {
	if s.fenced {
		e.driver.API.EventDestroy(s.event)
	}
	s.end()
}

// fence records an event behind the last launch, if its stream can be asked: not
// while it is part of a capture, which an event would join.
func (e *Engine) fence(s *soul, use exec.Use) {
	const perThreadStream = 2 // another thread's, perhaps
	if use.Stream == perThreadStream || use.Stream > lastDefaultStream && use.Stream < firstHandle {
		return
	}
	if use.Stream <= lastDefaultStream && s.device == noDevice {
		return // the default stream of which device?
	}
	if use.Stream >= firstHandle && e.Check(handles.Handle(use.Stream), handles.Stream) != nil {
		return
	}
	api := e.driver.API
	_ = e.withStream(use.Stream, s.device, func(native driver.Stream) error {
		if capturing, r := api.StreamCapturing(native); r != driver.ResultSuccess || capturing {
			return nil
		}
		const disableTiming = 2
		event, r := api.EventCreate(disableTiming)
		if r != driver.ResultSuccess {
			return nil
		}
		if api.EventRecord(event, native) != driver.ResultSuccess {
			api.EventDestroy(event)
			return nil
		}
		s.event, s.fenced = event, true
		return nil
	})
}

// sweep frees what nothing uses any more: false if another thread is at it. No
// lock is held while the driver is asked.
func (e *Engine) sweep() bool {
	if !e.limbo.sweeping.CompareAndSwap(false, true) {
		return false
	}
	defer e.limbo.sweeping.Store(false)
	e.limbo.mu.Lock()
	asked := slices.Clone(e.limbo.waiting)
	e.limbo.mu.Unlock()
	if len(asked) == 0 {
		return true
	}
	done := e.areOver(asked)
	e.limbo.mu.Lock()
	e.limbo.waiting = slices.DeleteFunc(e.limbo.waiting, func(s *soul) bool { return done[s] })
	e.limbo.mu.Unlock()
	for s := range done {
		e.endNow(s)
	}
	return true
}

// sweepAll is sweep after another thread's, which may have begun too early to
// see what this one did.
func (e *Engine) sweepAll() {
	for !e.sweep() {
		runtime.Gosched()
	}
}

// settle runs wait, which returns when all of a device's work is done, and frees
// what was waiting for that before.
func (e *Engine) settle(device int, wait func() error) error {
	e.limbo.mu.Lock()
	before := make([]*soul, 0, len(e.limbo.waiting))
	for _, s := range e.limbo.waiting {
		if s.owed.Load()&(1<<device) != 0 {
			before = append(before, s)
		}
	}
	e.limbo.mu.Unlock()
	if err := wait(); err != nil {
		e.sweep() // a poisoned context is idle too
		return err
	}
	for _, s := range before {
		s.owed.And(^(uint64(1) << device))
	}
	e.sweepAll()
	return nil
}

// inLimbo counts what waits for a device.
func (e *Engine) inLimbo(device int) int {
	e.limbo.mu.Lock()
	defer e.limbo.mu.Unlock()
	n := 0
	for _, s := range e.limbo.waiting {
		if s.owed.Load()&(1<<device) != 0 {
			n++
		}
	}
	return n
}

// souls counts all that waits.
func (e *Engine) souls() int {
	e.limbo.mu.Lock()
	defer e.limbo.mu.Unlock()
	return len(e.limbo.waiting)
}
