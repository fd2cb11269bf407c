package launch

import (
	"runtime"
	"sync"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// device is one GPU, with its primary context once something needs it: retained
// for the life of the process, and shared with the CUDA runtime and frameworks.
type device struct {
	index   int
	mu      sync.Mutex
	context driver.Context
	limits  deviceLimits
	memory  driver.Stream // on which arrays are allocated and freed
	ready   bool
}

// deviceLimits are what every launch on a device is checked against.
type deviceLimits struct {
	threads, shared, sharedOptIn uint32
	block, grid                  [3]uint32
	computeMajor, computeMinor   int
}

// device gives a device whose context is retained. In a poisoned one nothing is done
// any more.
func (e *Engine) device(index int) (*device, error) {
	api, err := e.api()
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(e.devices) {
		return nil, status.Errorf(status.Argument, "device %d does not exist; the driver shows %d, counted from 0", index, len(e.devices))
	}
	if err := e.poisoned(); err != nil {
		return nil, err
	}
	d := &e.devices[index]
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ready {
		return d, nil
	}
	limits, err := readLimits(api, driver.Device(index))
	if err != nil {
		return nil, err
	}
	context, r := api.PrimaryContextRetain(driver.Device(index))
	if r != driver.ResultSuccess {
		return nil, driverError("cuDevicePrimaryCtxRetain", r)
	}
	exec.SetContext(index, uintptr(context))
	d.context, d.limits, d.ready = context, limits, true
	return d, nil
}

func readLimits(api *driver.API, d driver.Device) (deviceLimits, error) {
	var l deviceLimits
	var major, minor uint32
	for _, want := range []struct {
		attribute int32
		to        *uint32
	}{
		{driver.DeviceMaxThreadsPerBlock, &l.threads},
		{driver.DeviceMaxBlockX, &l.block[0]}, {driver.DeviceMaxBlockY, &l.block[1]}, {driver.DeviceMaxBlockZ, &l.block[2]},
		{driver.DeviceMaxGridX, &l.grid[0]}, {driver.DeviceMaxGridY, &l.grid[1]}, {driver.DeviceMaxGridZ, &l.grid[2]},
		{driver.DeviceMaxSharedPerBlock, &l.shared}, {driver.DeviceMaxSharedPerBlockOptin, &l.sharedOptIn},
		{driver.DeviceComputeMajor, &major}, {driver.DeviceComputeMinor, &minor},
	} {
		value, r := api.DeviceAttribute(want.attribute, d)
		if r != driver.ResultSuccess {
			return l, driverError("cuDeviceGetAttribute", r)
		}
		*want.to = uint32(value)
	}
	l.computeMajor, l.computeMinor = int(major), int(minor)
	return l, nil
}

// on runs f with the device's context current on one OS thread, and relaxed; it
// leaves the thread's context and mode as they were.
func (e *Engine) on(index int, f func(d *device) error) error {
	d, err := e.device(index)
	if err != nil {
		return err
	}
	return e.within(d, d.context, f)
}

// within is on for any context of the device.
func (e *Engine) within(d *device, context driver.Context, f func(d *device) error) error {
	api := e.driver.API
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	former, r := api.ContextCurrent()
	if r != driver.ResultSuccess {
		return driverError("cuCtxGetCurrent", r)
	}
	if former != context {
		if r := api.ContextSetCurrent(context); r != driver.ResultSuccess {
			return driverError("cuCtxSetCurrent", r)
		}
		defer api.ContextSetCurrent(former)
	}
	return relaxed(api, func() error { return f(d) })
}

// relaxed runs f with the thread's stream capture mode relaxed: allocating,
// freeing, unloading, waiting for a stream, and even asking about an event end
// the captures of this and every other thread otherwise (seen: 580).
func relaxed[T any](api *driver.API, f func() T) T {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	former, r := api.CaptureMode(driver.CaptureRelaxed)
	if r == driver.ResultSuccess {
		defer api.CaptureMode(former)
	}
	return f()
}

// DeviceCount counts the devices.
func (e *Engine) DeviceCount() (int, error) {
	_, err := e.api()
	return len(e.devices), err
}

// DeviceAttribute reads a CUdevice_attribute.
func (e *Engine) DeviceAttribute(index int, attribute int32) (int32, error) {
	if _, err := e.device(index); err != nil {
		return 0, err
	}
	value, r := e.driver.API.DeviceAttribute(attribute, driver.Device(index))
	if r == driver.ResultInvalidValue {
		return 0, status.Errorf(status.Unsupported, "device attribute %d is not known to this driver (%s)",
			attribute, driver.VersionText(e.driver.API.Version))
	}
	if r != driver.ResultSuccess {
		return 0, driverError("cuDeviceGetAttribute", r)
	}
	return value, nil
}

// MemoryInfo gives a device's free and total memory in bytes.
func (e *Engine) MemoryInfo(index int) (free, total uint64, err error) {
	err = e.on(index, func(*device) error {
		var r driver.Result
		if free, total, r = e.driver.API.MemInfo(); r != driver.ResultSuccess {
			return e.failure("cuMemGetInfo", r)
		}
		return nil
	})
	return free, total, err
}

// Synchronize waits until all work of a device is done: of its primary context, and
// of the current one if that is another of the device.
func (e *Engine) Synchronize(index int) error {
	e.reclaim()
	d, err := e.device(index)
	if err != nil {
		e.runFinished() // what waited is lost with a poisoned context
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	contexts := []driver.Context{d.context}
	if other := e.otherContext(d); other != 0 {
		contexts = append(contexts, other)
	}
	return e.afterIdle(index, func() error {
		for _, context := range contexts {
			if err := e.within(d, context, e.synchronizeContext); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *Engine) synchronizeContext(*device) error {
	if r := e.driver.API.ContextSynchronize(); r != driver.ResultSuccess {
		return e.failure("cuCtxSynchronize", r)
	}
	return nil
}
