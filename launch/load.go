package launch

import (
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// LoadKernel has a device ready for launches of a kernel: its code is there, and
// its limits are read. The driver loads kernels at their first launch, which waits
// for the GPU, and does not go well with a stream capture.
func (e *Engine) LoadKernel(h handles.Handle, index int) error {
	return e.withKernel(h, index, func(k *kernel, _ *device) error {
		f, err := e.function(k)
		if err != nil {
			return err
		}
		r := e.driver.API.FunctionLoad(f)
		if r != driver.ResultSuccess && r != driver.ResultNotSupported { // before 12.4, asking for attributes loads
			return e.failure("cuFuncLoad", r)
		}
		return e.fillLimits(k, index)
	})
}

// function is the kernel in the current context.
func (e *Engine) function(k *kernel) (driver.Function, error) {
	if k.isFunction {
		return driver.Function(k.native), nil
	}
	f, r := e.driver.API.KernelFunction(k.native)
	if r != driver.ResultSuccess {
		return 0, e.failure("cuKernelGetFunction", r)
	}
	return f, nil
}

// refuseLateLoad refuses a first launch in a stream capture, where that was asked for.
func (c *call) refuseLateLoad(index int) error {
	if !c.engine.driver.NoLateLoads {
		return nil
	}
	if err := c.findPlace(); err != nil {
		return err
	}
	return c.engine.on(index, func(*device) error {
		captured, err := c.engine.isCaptured(c.place.stream)
		if err != nil || !captured {
			return err
		}
		return status.Errorf(status.Config, "kernel %q is not loaded on device %d, and the stream is being captured; "+
			"load it before (dlaunch_kernel_load), or let DLAUNCH_CAPTURE_LOAD be allow", c.kernel.name, index)
	})
}
