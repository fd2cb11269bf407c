package launch

import (
	"fmt"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// settable are the attributes that can be set, with the values that they take.
// Clusters are what only some devices have.
var settable = map[int32]struct {
	name        string
	least, most int32
	clusters    bool
}{
	driver.KernelMaxDynamicShared:   {"the limit of dynamic shared memory", 0, 1<<31 - 1, false},
	driver.KernelSharedCarveout:     {"the preferred share of shared memory, in percent", -1, 100, false},
	driver.KernelClusterWidth:       {"the required cluster's width", 0, 1<<31 - 1, true},
	driver.KernelClusterHeight:      {"the required cluster's height", 0, 1<<31 - 1, true},
	driver.KernelClusterDepth:       {"the required cluster's depth", 0, 1<<31 - 1, true},
	driver.KernelNonPortableCluster: {"whether clusters of a size that is not portable are allowed", 0, 1, true},
	driver.KernelClusterPolicy:      {"the policy by which clusters are scheduled", 0, 2, true},
}

// lastKernelAttribute is the last one that this table is about: what a newer
// driver adds is for that to judge.
const lastKernelAttribute = driver.KernelClusterPolicy

// call names the driver's function that does something for a kernel.
func (k *kernel) call(what string) string {
	if k.isFunction {
		return "cuFunc" + what
	}
	return "cuKernel" + what
}

// attribute reads one from the driver. What a CUfunction answers is its device's.
func (e *Engine) attribute(k *kernel, attribute int32, index int) (int32, error) {
	var value int32
	var r driver.Result
	if k.isFunction {
		value, r = e.driver.API.FunctionAttribute(attribute, driver.Function(k.native))
	} else {
		value, r = e.driver.API.KernelAttribute(attribute, k.native, driver.Device(index))
	}
	switch r {
	case driver.ResultSuccess:
		return value, nil
	case driver.ResultInvalidValue:
		return 0, status.Errorf(status.Unsupported, "kernel attribute %d is not known to this driver (%s)",
			attribute, driver.VersionText(e.driver.API.Version))
	}
	return 0, e.failure(k.call("GetAttribute"), r)
}

func (e *Engine) setAttribute(k *kernel, attribute, value int32, index int) error {
	var r driver.Result
	if k.isFunction {
		r = e.driver.API.FunctionSetAttribute(attribute, value, driver.Function(k.native))
	} else {
		r = e.driver.API.KernelSetAttribute(attribute, value, k.native, driver.Device(index))
	}
	var refusal string
	switch r {
	case driver.ResultSuccess:
		return nil
	case driver.ResultInvalidValue:
		refusal = "the driver does not take this value"
	case driver.ResultNotPermitted:
		refusal = "it was fixed when the kernel was compiled"
	default:
		return e.failure(k.call("SetAttribute"), r)
	}
	err := status.Errorf(status.Config, "kernel %q: attribute %d cannot be set to %d on device %d: %s", k.name, attribute, value, index, refusal)
	err.Driver = int32(r)
	return err
}

// KernelAttribute reads a CUfunction_attribute.
func (e *Engine) KernelAttribute(h handles.Handle, attribute int32, index int) (value int32, err error) {
	err = e.withKernel(h, index, func(k *kernel, _ *device) error {
		value, err = e.attribute(k, attribute, index)
		return err
	})
	return value, err
}

// SetKernelAttribute sets one, for all handles of the kernel.
func (e *Engine) SetKernelAttribute(h handles.Handle, attribute int32, index int, value int32) error {
	return e.withKernel(h, index, func(k *kernel, d *device) error {
		if err := e.maySet(k, d, attribute, value); err != nil {
			return err
		}
		if attribute == driver.KernelMaxDynamicShared {
			return e.setShared(k, d, value)
		}
		return e.setAttribute(k, attribute, value, index)
	})
}

// maySet refuses what no driver takes, in better words than its own.
func (e *Engine) maySet(k *kernel, d *device, attribute, value int32) error {
	s, known := settable[attribute]
	switch {
	case !known && attribute <= lastKernelAttribute:
		return status.Errorf(status.Argument, "kernel attribute %d cannot be set; %d, %d and %d to %d can", attribute,
			driver.KernelMaxDynamicShared, driver.KernelSharedCarveout, driver.KernelClusterWidth, lastKernelAttribute)
	case !known:
		return nil
	case s.clusters:
		if err := e.needClusters(k, d, s.name); err != nil {
			return err
		}
	}
	if value < s.least || value > s.most {
		return status.Errorf(status.Config, "kernel %q: %s (attribute %d) is %d; %d to %d is wanted", k.name, s.name, attribute, value, s.least, s.most)
	}
	return nil
}

// setShared also tells the executor, which otherwise would go on to launch with
// what was allowed before.
func (e *Engine) setShared(k *kernel, d *device, value int32) error {
	static, err := e.attribute(k, driver.KernelStaticShared, d.index)
	if err != nil {
		return err
	}
	if uint64(static)+uint64(value) > uint64(d.limits.sharedOptIn) {
		return noRoom(k, d, static, uint32(value))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := e.setAttribute(k, driver.KernelMaxDynamicShared, value, d.index); err != nil {
		return err
	}
	k.shared.SetShared(d.index, uint32(value))
	return nil
}

// raiseAgain opts a kernel in to its shared memory where that was lowered since the
// executor heard of it: by another handle of the kernel, or by another library.
func (c *call) raiseAgain(fault exec.Fault) (bool, error) {
	if driver.Result(fault.DriverCode) != driver.ResultInvalidValue || c.config.SharedBytes == 0 {
		return false, nil
	}
	raised, index := false, int(fault.Found)
	err := c.engine.on(index, func(*device) error {
		now, err := c.engine.attribute(c.kernel, driver.KernelMaxDynamicShared, index)
		if err != nil || uint32(now) >= c.config.SharedBytes {
			return err
		}
		raised = true
		return c.engine.raiseShared(c.kernel, index, c.config.SharedBytes)
	})
	return raised, err
}

// needClusters refuses what is about clusters on a device that has none.
func (e *Engine) needClusters(k *kernel, d *device, what string) error {
	has, r := e.driver.API.DeviceAttribute(driver.DeviceClusterLaunch, driver.Device(d.index))
	if r == driver.ResultSuccess && has != 0 {
		return nil
	}
	found := fmt.Sprintf("device %d has %d.%d", d.index, d.limits.computeMajor, d.limits.computeMinor)
	if e.simulated() {
		found = "the simulator launches none"
	}
	return status.Errorf(status.Unsupported, "kernel %q: %s needs a GPU that launches clusters, of compute capability 9.0 or newer; %s", k.name, what, found)
}

// withKernel runs f with a kernel that stays, and with a device's context current.
func (e *Engine) withKernel(h handles.Handle, index int, f func(k *kernel, d *device) error) error {
	entry, err := e.table.Acquire(h, handles.Kernel)
	if err != nil {
		return err
	}
	defer entry.Drop()
	return e.on(index, func(d *device) error { return f(entry.Value.(*kernel), d) })
}
