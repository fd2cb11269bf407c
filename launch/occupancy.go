package launch

import (
	"math"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// occupant is a kernel on a device whose occupancy is asked for.
type occupant struct {
	*kernel
	engine   *Engine
	device   *device
	function driver.Function // the driver's answers for a CUkernel differ (numba-cuda#609)
}

// occupancy runs f with the device's context current.
func (e *Engine) occupancy(h handles.Handle, index int, f func(o *occupant) error) error {
	return e.withKernel(h, index, func(k *kernel, d *device) error {
		function, err := e.function(k)
		if err != nil {
			return err
		}
		return f(&occupant{k, e, d, function})
	})
}

// checkBlock refuses what the driver would take for something else.
func (o *occupant) checkBlock(threads uint32) error {
	if threads == 0 || threads > math.MaxInt32 {
		return status.Errorf(status.Config, "kernel %q: a block of %d threads; 1 to %d is wanted", o.name, threads, o.device.limits.threads)
	}
	return nil
}

// activeBlocks gives 0 where not one block fits. The kernel is opted in to the
// shared memory first, as a launch would do: the driver goes by what is allowed now.
func (o *occupant) activeBlocks(threads uint32, shared uint64) (int32, error) {
	e := o.engine
	static, err := e.attribute(o.kernel, driver.KernelStaticShared, o.device.index)
	if err != nil {
		return 0, err
	}
	if threads > o.device.limits.threads || shared > uint64(o.device.limits.sharedOptIn) || shared+uint64(static) > uint64(o.device.limits.sharedOptIn) {
		return 0, nil
	}
	now, err := e.attribute(o.kernel, driver.KernelMaxDynamicShared, o.device.index)
	if err == nil && shared > uint64(now) {
		err = e.raiseShared(o.kernel, o.device.index, uint32(shared))
	}
	if err != nil {
		return 0, err
	}
	n, r := e.driver.API.MaxActiveBlocks(o.function, int32(threads), shared)
	if r != driver.ResultSuccess {
		return 0, e.failure("cuOccupancyMaxActiveBlocksPerMultiprocessor", r)
	}
	return n, nil
}

// MaxActiveBlocks is how many blocks fit one multiprocessor at once.
func (e *Engine) MaxActiveBlocks(h handles.Handle, index int, threads uint32, shared uint64) (n int32, err error) {
	err = e.occupancy(h, index, func(o *occupant) error {
		if err := o.checkBlock(threads); err != nil {
			return err
		}
		n, err = o.activeBlocks(threads, shared)
		return err
	})
	return n, err
}

// MaxPotentialBlockSize finds the block with which most threads are active, of
// these the largest, as CUDA's own function does, where a block of b threads has
// base + perThread*b bytes of dynamic shared memory. The grid is the smallest
// that fills the device.
func (e *Engine) MaxPotentialBlockSize(h handles.Handle, index int, base, perThread uint64, limit uint32) (grid, block int32, err error) {
	err = e.occupancy(h, index, func(o *occupant) error {
		threads, err := e.attribute(o.kernel, driver.KernelMaxThreadsPerBlock, index)
		if err != nil {
			return err
		}
		most := min(uint32(threads), o.device.limits.threads)
		if limit > 0 {
			most = min(most, limit)
		}
		base, perThread := min(base, math.MaxUint32), min(perThread, math.MaxUint32) // more fits nowhere
		best := int32(0)
		for end := (most + warpSize - 1) / warpSize * warpSize; end > 0; end -= warpSize {
			try := min(end, most) // the first may be less than whole warps
			n, err := o.activeBlocks(try, base+perThread*uint64(try))
			if err != nil {
				return err
			}
			if n*int32(try) > best*block {
				best, block = n, int32(try)
			}
		}
		if best == 0 {
			return status.Errorf(status.Config, "kernel %q: no block fits a multiprocessor of device %d with %d + %d a thread bytes of dynamic shared memory",
				o.name, index, base, perThread)
		}
		processors, r := e.driver.API.DeviceAttribute(driver.DeviceMultiprocessors, driver.Device(index))
		if r != driver.ResultSuccess {
			return driverError("cuDeviceGetAttribute", r)
		}
		grid = best * processors
		return nil
	})
	return grid, block, err
}

const warpSize = 32

// AvailableShared is how much dynamic shared memory a block may have for so many to
// be active on a multiprocessor.
func (e *Engine) AvailableShared(h handles.Handle, index int, blocks, threads uint32) (bytes uint64, err error) {
	err = e.occupancy(h, index, func(o *occupant) error {
		if err := o.checkBlock(threads); err != nil {
			return err
		}
		var r driver.Result
		if blocks == 0 || blocks > math.MaxInt32 {
			r = driver.ResultInvalidValue
		} else {
			bytes, r = e.driver.API.AvailableShared(o.function, int32(blocks), int32(threads))
		}
		switch r {
		case driver.ResultSuccess:
			return nil
		case driver.ResultInvalidValue:
			return status.Errorf(status.Config, "kernel %q: %d blocks of %d threads do not fit a multiprocessor of device %d", o.name, blocks, threads, index)
		}
		return e.failure("cuOccupancyAvailableDynamicSMemPerBlock", r)
	})
	return bytes, err
}

// MaxClusterSize is the most blocks that a cluster may have in such a launch.
func (e *Engine) MaxClusterSize(h handles.Handle, index int, config *exec.Config) (int32, error) {
	return e.clusters(h, index, config, "cuOccupancyMaxPotentialClusterSize", func(api *driver.API) clusterQuestion { return api.MaxClusterSize })
}

// MaxActiveClusters is how many of its clusters fit the device at once.
func (e *Engine) MaxActiveClusters(h handles.Handle, index int, config *exec.Config) (int32, error) {
	return e.clusters(h, index, config, "cuOccupancyMaxActiveClusters", func(api *driver.API) clusterQuestion { return api.MaxActiveClusters })
}

type clusterQuestion = func(f driver.Function, config uintptr) (int32, driver.Result)

func (e *Engine) clusters(h handles.Handle, index int, config *exec.Config, name string, of func(*driver.API) clusterQuestion) (n int32, err error) {
	err = e.occupancy(h, index, func(o *occupant) error {
		if err := e.needClusters(o.kernel, o.device, "occupancy of clusters"); err != nil {
			return err
		}
		configured, err := o.configure(h, config)
		if err != nil {
			return err
		}
		defer configured.Free()
		var r driver.Result
		if n, r = of(e.driver.API)(o.function, uintptr(configured.Address)); r != driver.ResultSuccess {
			return e.failure(name, r)
		}
		return nil
	})
	return n, err
}

// configure has the executor check a configuration, and mends what a launch would.
func (o *occupant) configure(h handles.Handle, config *exec.Config) (*exec.Buffer, error) {
	e, index := o.engine, o.device.index
	for range maxMends {
		configured, fault, err := exec.Configure(uint64(h), config, index)
		switch {
		case err != nil || fault.Reason == exec.OK:
			return configured, err
		case fault.Reason == exec.NoLimits:
			err = e.fillLimits(o.kernel, index)
		case fault.Reason == exec.Shared:
			err = e.raiseShared(o.kernel, index, config.SharedBytes)
		default:
			err = (&call{engine: e, kernel: o.kernel, config: config}).explain(fault)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, status.Errorf(status.Internal, "kernel %q: the configuration could not be prepared", o.name)
}
