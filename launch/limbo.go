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

// limbo is where the memory of closed arrays waits until the work that may use it
// is done. cuMemFree would wait for the whole device, and make other threads'
// launches wait with it (seen: 580), so memory is freed in stream order, on a
// stream of dlaunch's own, once a fence has passed:
//
//   - never launched: there is nothing to wait for;
//   - launched on one stream that surely still exists (a default stream, an open
//     dlaunch_stream): an event recorded on it at the time of closing;
//   - else (a foreign stream may be gone, and its number given out again): the next
//     time that all of the device's work is known to be done.
//
// On the simulator a launch is over when it returns, so nothing waits there.
type limbo struct {
	mu      sync.Mutex
	waiting []*soul

	sweeping atomic.Bool // one thread asks the driver about events at a time
}

type soul struct {
	array   *array
	event   driver.Event
	fenced  bool        // event says when; else only the whole device does
	settled atomic.Bool // the device was idle since
}

// bury takes a closed array's memory, and frees what can be freed.
func (e *Engine) bury(a *array) {
	s := &soul{array: a}
	use := a.shared.Use()
	switch {
	case e.simulated() || use.Nowhere && !use.Anywhere:
		s.settled.Store(true)
	case !use.Anywhere:
		e.fence(s, use)
	}
	e.limbo.mu.Lock()
	e.limbo.waiting = append(e.limbo.waiting, s)
	e.limbo.mu.Unlock()
	e.sweep()
}

// fence records an event behind the array's last launch, if its stream can be
// asked: not while it is part of a capture, which an event would join.
func (e *Engine) fence(s *soul, use exec.Use) {
	const perThreadStream = 2 // another thread's, perhaps
	if use.Stream == perThreadStream || use.Stream > lastDefaultStream && use.Stream < firstHandle {
		return
	}
	if use.Stream >= firstHandle && e.Check(handles.Handle(use.Stream), handles.Stream) != nil {
		return
	}
	api := e.driver.API
	_ = e.withStream(use.Stream, s.array.device, func(native driver.Stream) error {
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
	api := e.driver.API
	done := relaxed(api, func() map[*soul]bool {
		done := map[*soul]bool{}
		for _, s := range asked {
			if s.settled.Load() || s.fenced && api.EventQuery(s.event) == driver.ResultSuccess {
				done[s] = true
			}
		}
		return done
	})
	e.limbo.mu.Lock()
	e.limbo.waiting = slices.DeleteFunc(e.limbo.waiting, func(s *soul) bool { return done[s] })
	e.limbo.mu.Unlock()
	for s := range done {
		if s.fenced {
			api.EventDestroy(s.event)
		}
		e.free(s.array)
	}
	return true
}

// settle runs wait, which returns when all of a device's work is done, and frees
// what was waiting for that before.
func (e *Engine) settle(device int, wait func() error) error {
	e.limbo.mu.Lock()
	before := make([]*soul, 0, len(e.limbo.waiting))
	for _, s := range e.limbo.waiting {
		if s.array.device == device {
			before = append(before, s)
		}
	}
	e.limbo.mu.Unlock()
	if err := wait(); err != nil {
		return err
	}
	e.limbo.mu.Lock()
	for _, s := range before {
		s.settled.Store(true)
	}
	e.limbo.mu.Unlock()
	for !e.sweep() { // another thread's sweep may have begun before
		runtime.Gosched()
	}
	return nil
}

// inLimbo counts what waits for a device.
func (e *Engine) inLimbo(device int) int {
	e.limbo.mu.Lock()
	defer e.limbo.mu.Unlock()
	n := 0
	for _, s := range e.limbo.waiting {
		if s.array.device == device {
			n++
		}
	}
	return n
}
