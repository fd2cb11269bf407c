package launch

import (
	"fmt"
	"sync/atomic"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// event is what a dlaunch_event stands for.
type event struct {
	native   driver.Event
	device   int
	timing   bool
	recorded atomic.Bool
}

// What an event is made for.
const (
	EventBlocking = driver.EventBlockingSync
	EventNoTiming = driver.EventDisableTiming
)

// CreateEvent makes an event on a device.
func (e *Engine) CreateEvent(index int, flags uint32) (handles.Handle, error) {
	if unknown := flags &^ (EventBlocking | EventNoTiming); unknown != 0 {
		return 0, status.Errorf(status.Argument, "event flags %#x are unknown; DLAUNCH_EVENT_BLOCKING (1) and DLAUNCH_EVENT_NO_TIMING (2) are there", unknown)
	}
	ev := &event{device: index, timing: flags&EventNoTiming == 0}
	err := e.on(index, func(*device) error {
		var r driver.Result
		if ev.native, r = e.driver.API.EventCreate(flags); r != driver.ResultSuccess {
			return e.failure("cuEventCreate", r)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	destroy := func() { // the driver keeps it for work that waits
		if e.poisoned() == nil {
			e.driver.API.EventDestroy(ev.native)
		}
	}
	entry, err := e.table.Open(handles.Event, fmt.Sprintf("device %d", index), ev, destroy)
	if err != nil {
		destroy()
		return 0, err
	}
	return entry.Handle, nil
}

// holdEvent runs f with an event that stays open meanwhile.
func (e *Engine) holdEvent(h handles.Handle, f func(ev *event) error) error {
	entry, err := e.table.Acquire(h, handles.Event)
	if err != nil {
		return err
	}
	defer entry.Drop()
	return f(entry.Value.(*event))
}

// withEvent is holdEvent with its device's context current.
func (e *Engine) withEvent(h handles.Handle, f func(ev *event) error) error {
	return e.holdEvent(h, func(ev *event) error {
		return e.on(ev.device, func(*device) error { return f(ev) })
	})
}

// RecordEvent makes the event happen when what a stream has now is done.
func (e *Engine) RecordEvent(h handles.Handle, stream uint64) error {
	return e.holdEvent(h, func(ev *event) error {
		if at, err := e.streamDevice(stream, ev.device); err != nil {
			return err
		} else if at != ev.device {
			return status.Errorf(status.Argument, "the stream is of device %d, the event of device %d; an event is recorded on a stream of its own device", at, ev.device)
		}
		return e.withStream(stream, ev.device, func(native driver.Stream) error {
			if stream <= driver.PerThreadStream && e.otherContext(&e.devices[ev.device]) != 0 {
				return status.Errorf(status.Argument, "the current context is not the primary one of device %d, whose the event is; its default streams are others: call dlaunch_device_enter first, or record the event on a stream", ev.device)
			}
			if r := e.driver.API.EventRecord(ev.native, native); r != driver.ResultSuccess {
				return e.failure("cuEventRecord", r)
			}
			ev.recorded.Store(true)
			return nil
		})
	})
}

// streamDevice gives the device of a dlaunch_stream, and otherwise for native ones.
func (e *Engine) streamDevice(number uint64, otherwise int) (int, error) {
	if number < handles.First {
		return otherwise, nil
	}
	entry, err := e.table.Get(handles.Handle(number), handles.Stream)
	if err != nil {
		return 0, err
	}
	return entry.Value.(*stream).device, nil
}

// WaitEvent makes what a stream is given later wait for the event; the stream may
// be of another device.
func (e *Engine) WaitEvent(h handles.Handle, stream uint64) error {
	return e.holdEvent(h, func(ev *event) error {
		return e.withStream(stream, ev.device, func(native driver.Stream) error {
			if r := e.driver.API.StreamWaitEvent(native, ev.native); r != driver.ResultSuccess {
				return e.failure("cuStreamWaitEvent", r)
			}
			return nil
		})
	})
}

// SynchronizeEvent waits until the event has happened.
func (e *Engine) SynchronizeEvent(h handles.Handle) error {
	err := e.withEvent(h, func(ev *event) error {
		if r := e.driver.API.EventSynchronize(ev.native); r != driver.ResultSuccess {
			return e.failure("cuEventSynchronize", r)
		}
		return nil
	})
	e.reclaim()
	e.runFinished()
	return err
}

// QueryEvent says whether the event has happened.
func (e *Engine) QueryEvent(h handles.Handle) (bool, error) {
	var done bool
	err := e.withEvent(h, func(ev *event) error {
		r := e.driver.API.EventQuery(ev.native)
		if done = r == driver.ResultSuccess; !done && r != driver.ResultNotReady {
			return e.failure("cuEventQuery", r)
		}
		return nil
	})
	return done, err
}

// hasTime refuses what no time can be had of.
func (ev *event) hasTime(name string) error {
	if !ev.timing {
		return status.Errorf(status.Argument, "%s was created with DLAUNCH_EVENT_NO_TIMING; it knows no time", name)
	}
	if !ev.recorded.Load() {
		return status.Errorf(status.Argument, "%s was never recorded; call dlaunch_event_record first", name)
	}
	return nil
}

// Elapsed gives the milliseconds between two events.
func (e *Engine) Elapsed(start, end handles.Handle) (milliseconds float32, err error) {
	err = e.withEvent(start, func(from *event) error {
		return e.withEvent(end, func(to *event) error {
			if err := from.hasTime("start"); err != nil {
				return err
			}
			if err := to.hasTime("end"); err != nil {
				return err
			}
			if from.device != to.device {
				return status.Errorf(status.Argument, "start is of device %d, end of device %d; times are compared on one device", from.device, to.device)
			}
			var r driver.Result
			milliseconds, r = e.driver.API.EventElapsed(from.native, to.native)
			if r == driver.ResultNotReady {
				err := driverError("cuEventElapsedTime", r)
				err.Message += "; synchronize with both events first"
				return err
			}
			if r != driver.ResultSuccess {
				return e.failure("cuEventElapsedTime", r)
			}
			return nil
		})
	})
	return milliseconds, err
}
