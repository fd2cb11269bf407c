package launch

import (
	"runtime"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// EnterDevice makes a device's primary context the calling thread's current one,
// and gives the one that was: 0 for none.
func (e *Engine) EnterDevice(index int) (former uint64, err error) {
	d, err := e.device(index)
	if err != nil {
		return 0, err
	}
	current, r := e.driver.API.ContextCurrent()
	if r != driver.ResultSuccess {
		return 0, driverError("cuCtxGetCurrent", r)
	}
	e.former.Store(uint64(current), true)
	if r := e.driver.API.ContextSetCurrent(d.context); r != driver.ResultSuccess {
		return 0, e.failure("cuCtxSetCurrent", r)
	}
	return uint64(current), nil
}

// LeaveDevice makes a context that EnterDevice gave current again, also when that
// or the device's own is poisoned.
func (e *Engine) LeaveDevice(former uint64) error {
	if _, err := e.api(); err != nil {
		return err
	}
	if _, given := e.former.Load(former); !given { // the driver takes any number for a pointer
		return status.Errorf(status.Argument, "former is %#x, which dlaunch_device_enter never gave", former)
	}
	if r := e.driver.API.ContextSetCurrent(driver.Context(former)); r != driver.ResultSuccess {
		return driverError("cuCtxSetCurrent", r)
	}
	return nil
}

// onStream is on for work on a driver's stream: where a launch on it runs. That is
// the stream's own context; of the default streams it is the current one if it is
// of the device, as the executor has it.
func (e *Engine) onStream(stream driver.Stream, index int, f func(d *device) error) error {
	d, err := e.device(index)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	context := d.context
	if stream <= driver.PerThreadStream {
		if other := e.otherContext(d); other != 0 {
			context = other
		}
	} else if own, r := e.driver.API.StreamContext(stream); r == driver.ResultSuccess && own != 0 {
		context = own
	}
	return e.within(d, context, f)
}

// otherContext gives the current context if it is of a device and not its primary
// one, else 0.
func (e *Engine) otherContext(d *device) driver.Context {
	api := e.driver.API
	current, r := api.ContextCurrent()
	if r != driver.ResultSuccess || current == 0 || current == d.context {
		return 0
	}
	if at, r := api.ContextDevice(); r != driver.ResultSuccess || int(at) != d.index {
		return 0
	}
	return current
}
