package launch

import (
	"math/bits"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// WaitForArray makes a stream wait for all launches that were given an array, or a
// view of its memory, so far. The device waits, not the host, for launches on streams
// that surely exist (the legacy default stream, open dlaunch_streams). A foreign
// stream may be gone, and asking about it would crash, so for launches there the host
// waits until the device is idle.
func (e *Engine) WaitForArray(h handles.Handle, stream uint64) error {
	entry, err := e.table.Acquire(h, handles.Array)
	if err != nil {
		return err
	}
	defer entry.Drop()
	a := entry.Value.(*array)
	if a.of != nil {
		a = a.of.Value.(*array)
	}
	if err := e.CheckStream(stream); err != nil {
		return err
	}
	use := a.shared.Use()
	if e.simulated() || len(use.Streams) == 0 { // there a launch is over when it returns
		return nil
	}
	if err := e.poisoned(); err != nil {
		return err
	}
	return e.withStream(stream, a.device, func(native driver.Stream) error {
		return e.orderBehind(native, a.device, use)
	})
}

// orderBehind makes a stream wait for what use tells of.
func (e *Engine) orderBehind(consumer driver.Stream, device int, use exec.Use) error {
	var others []uint64
	hidden := use.More || use.Peers // launches on streams that cannot be asked
	for _, stream := range use.Streams {
		if native, same := e.nativeOf(stream); same && native == canonical(consumer) {
			continue
		}
		others = append(others, stream)
		hidden = hidden || !e.surelyExists(stream)
	}
	if !hidden && len(others) == 0 {
		return nil
	}
	if err := e.refuseCaptured(consumer); err != nil {
		return err
	}
	if hidden {
		return e.synchronizeUsers(device, use)
	}
	for _, stream := range others {
		if err := e.waitFor(stream, device, consumer); err != nil {
			if !e.surelyExists(stream) { // closed meanwhile
				return e.synchronizeUsers(device, use)
			}
			return err
		}
	}
	return nil
}

// waitFor makes a stream wait for another one's work.
func (e *Engine) waitFor(stream uint64, device int, consumer driver.Stream) error {
	event, err := e.fence(stream, device)
	if err != nil {
		return err
	}
	defer e.driver.API.EventDestroy(event) // the driver keeps it for what waits
	if r := e.driver.API.StreamWaitEvent(consumer, event); r != driver.ResultSuccess {
		return e.failure("cuStreamWaitEvent", r)
	}
	return nil
}

// synchronizeUsers waits until the devices that may use an array are idle.
func (e *Engine) synchronizeUsers(device int, use exec.Use) error {
	for left := e.users(device, use); left != 0; left &= left - 1 {
		if err := e.Synchronize(bits.TrailingZeros64(left)); err != nil {
			return err
		}
	}
	return nil
}

// refuseCaptured refuses a stream whose work becomes a graph: that waits for nothing
// outside of it, and nothing outside waits for it.
func (e *Engine) refuseCaptured(stream driver.Stream) error {
	captured, err := e.isCaptured(stream)
	if err != nil || !captured {
		return err
	}
	refusal := status.Errorf(status.Driver, "a stream is being captured into a graph, which cannot be ordered with the array's launches on another stream; do it before the capture begins")
	refusal.Driver = int32(driver.ResultStreamCaptureUnsupported)
	return refusal
}

// nativeOf gives the driver's stream of what a launch was given; false if that number
// may mean another stream here and now.
func (e *Engine) nativeOf(stream uint64) (driver.Stream, bool) {
	if stream < handles.First {
		return canonical(driver.Stream(stream)), stream != driver.PerThreadStream
	}
	native, err := e.NativeStream(handles.Handle(stream))
	return driver.Stream(native), err == nil
}

// canonical gives the legacy default stream one number.
func canonical(stream driver.Stream) driver.Stream { return max(stream, driver.LegacyStream) }
