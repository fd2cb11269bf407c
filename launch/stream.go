package launch

import (
	"fmt"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// stream is what a dlaunch_stream stands for.
type stream struct {
	native driver.Stream
	device int
	shared *exec.Stream
}

// StreamNonBlocking is a stream that does not wait for the legacy default one.
const StreamNonBlocking = driver.StreamNonBlocking

// CreateStream makes a stream on a device.
func (e *Engine) CreateStream(index int, flags uint32) (handles.Handle, error) {
	return e.CreateStreamWithPriority(index, flags, 0)
}

// CreateStreamWithPriority is CreateStream for another priority than 0, which all
// others have; lower numbers go first.
func (e *Engine) CreateStreamWithPriority(index int, flags uint32, priority int32) (handles.Handle, error) {
	if flags&^StreamNonBlocking != 0 {
		return 0, status.Errorf(status.Argument, "stream flags %#x are unknown; DLAUNCH_STREAM_NON_BLOCKING (1) is the only one", flags)
	}
	s := &stream{device: index}
	err := e.on(index, func(*device) error {
		if err := e.checkPriority(index, priority); err != nil {
			return err
		}
		var r driver.Result
		if s.native, r = e.driver.API.StreamCreate(flags, priority); r != driver.ResultSuccess {
			return e.failure("cuStreamCreateWithPriority", r)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if s.shared, err = exec.NewStream(uint64(s.native), int32(index)); err != nil {
		e.destroyStream(s)
		return 0, err
	}
	entry, err := e.table.Open(handles.Stream, fmt.Sprintf("device %d", index), s, func() { e.destroyStream(s) })
	if err != nil {
		e.destroyStream(s)
		return 0, err
	}
	return e.publish(entry, s.shared)
}

// checkPriority refuses what the driver would silently bring into its range.
func (e *Engine) checkPriority(index int, priority int32) error {
	if priority == 0 {
		return nil
	}
	least, greatest, r := e.driver.API.StreamPriorityRange()
	if r != driver.ResultSuccess {
		return e.failure("cuCtxGetStreamPriorityRange", r)
	}
	if priority > least || priority < greatest {
		return status.Errorf(status.Argument, "priority is %d; device %d has %d (least) to %d (greatest)", priority, index, least, greatest)
	}
	return nil
}

// StreamPriorities gives the least and the greatest priority of a device's streams:
// the greatest is the lowest number.
func (e *Engine) StreamPriorities(index int) (least, greatest int32, err error) {
	err = e.on(index, func(*device) error {
		var r driver.Result
		if least, greatest, r = e.driver.API.StreamPriorityRange(); r != driver.ResultSuccess {
			return e.failure("cuCtxGetStreamPriorityRange", r)
		}
		return nil
	})
	return least, greatest, err
}

func (e *Engine) destroyStream(s *stream) {
	if s.shared != nil {
		s.shared.Free()
	}
	_ = e.on(s.device, func(*device) error {
		e.driver.API.StreamDestroy(s.native)
		return nil
	})
}

// NativeStream gives the driver's stream of a dlaunch_stream.
func (e *Engine) NativeStream(h handles.Handle) (uint64, error) {
	entry, err := e.table.Get(h, handles.Stream)
	if err != nil {
		return 0, err
	}
	return uint64(entry.Value.(*stream).native), nil
}

// withStream runs f with a stream argument's native stream, the right context
// current, and the stream kept open. fallback is the device of default streams.
func (e *Engine) withStream(number uint64, fallback int, f func(native driver.Stream) error) error {
	if number < handles.First {
		return e.onStream(driver.Stream(number), fallback, func(*device) error { return f(driver.Stream(number)) })
	}
	entry, err := e.table.Acquire(handles.Handle(number), handles.Stream)
	if err != nil {
		return err
	}
	defer entry.Drop()
	s := entry.Value.(*stream)
	return e.on(s.device, func(*device) error { return f(s.native) })
}

// whereItIs runs f with a stream argument of any device, as withStream does.
func (e *Engine) whereItIs(number uint64, f func(native driver.Stream) error) error {
	if err := e.CheckStream(number); err != nil {
		return err
	}
	if _, err := e.api(); err != nil {
		return err
	}
	return e.withStream(number, e.currentDevice(), f)
}

// CheckStream refuses a dlaunch_stream that is closed; of others nobody knows. A
// number that may be a handle is above every native stream.
func (e *Engine) CheckStream(number uint64) error {
	if number < handles.First {
		return nil
	}
	return e.Check(handles.Handle(number), handles.Stream)
}

// isCaptured says whether what a stream is given becomes part of a graph.
func (e *Engine) isCaptured(stream driver.Stream) (bool, error) {
	captured, r := e.driver.API.StreamCapturing(stream)
	if r != driver.ResultSuccess {
		return false, e.failure("cuStreamIsCapturing", r)
	}
	return captured, nil
}

// QueryStream says whether the work of a stream is done.
func (e *Engine) QueryStream(number uint64) (bool, error) {
	var done bool
	err := e.whereItIs(number, func(native driver.Stream) error {
		r := e.driver.API.StreamQuery(native)
		if done = r == driver.ResultSuccess; !done && r != driver.ResultNotReady {
			return e.failure("cuStreamQuery", r)
		}
		return nil
	})
	return done, err
}

// SynchronizeStream waits until the work of a stream is done.
func (e *Engine) SynchronizeStream(number uint64) error {
	err := e.whereItIs(number, func(native driver.Stream) error {
		if r := e.driver.API.StreamSynchronize(native); r != driver.ResultSuccess {
			return e.failure("cuStreamSynchronize", r)
		}
		return nil
	})
	e.reclaim()
	e.runFinished()
	return err
}

// currentDevice is the device of the thread's current context, else 0.
func (e *Engine) currentDevice() int {
	if current, r := e.driver.API.ContextDevice(); r == driver.ResultSuccess {
		return int(current)
	}
	return 0
}
