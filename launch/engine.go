// Package launch is dlaunch without its C surface: libraries, kernels, arrays
// and streams under handles; prototypes compiled for the executor; and all of a
// launch that the executor leaves to Go, which is mending (host tensors, limits,
// contexts) and explaining.
//
// It knows the driver only as driver.API, so the simulator is nothing special
// to it.
package launch

import (
	"sync"
	"sync/atomic"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// Driver is an opened driver and what the executor must know of it.
type Driver struct {
	API        *driver.API
	DeviceType int32  // the DLDeviceType of its device memory
	MemoryBase uint64 // of the simulator's device memory; size 0 elsewhere
	MemorySize uint64
	Checks     uint32 // exec.CheckPointers, where every launch is to look up its pointers

	// NoLateLoads makes the first launch of a kernel on a device an error while its
	// stream is captured: loading it then may end the capture, or wait for the GPU.
	NoLateLoads bool

	// TakeReport gives the simulator's account of the fault that the calling
	// thread's last launch met, "" if there is none; nil elsewhere.
	TakeReport func() string

	// FaultsStay makes such a fault poison the context, as a GPU's does.
	FaultsStay bool
}

// Engine is the library: one in a process.
type Engine struct {
	table    *handles.Table
	deferred exec.Deferred // of what goes without waiting for the GPU
	unloads  exec.Deferred // of kernels and libraries: an unload waits for running kernels
	frees    frees
	retired  retired
	rooms    rooms
	holds    holds
	natives  natives
	likeness likeness

	giveBack func(taken uint64) // hears of each imported tensor that is not needed any more

	open   func() (Driver, error)
	once   sync.Once
	driver Driver
	failed error

	devices []device

	unload  sync.RWMutex // held by an unload; launches that meet one wait for it
	poison  poison
	slow    reasons
	exports exports
	bytes   counter                   // of device memory that arrays hold
	memory  atomic.Pointer[[2]uint64] // the simulator's: base and size

	log    log
	leaked counter  // device memory that is lost with a poisoned context, on purpose
	former sync.Map // contexts that EnterDevice gave
}

// New makes an engine whose driver is opened by the first call that needs one.
// giveBack hears of each imported tensor when it is not needed any more: on the
// thread of some call, before that returns, which then calls the deleter.
func New(open func() (Driver, error), giveBack func(taken uint64)) *Engine {
	return &Engine{table: handles.New(), open: open, giveBack: giveBack}
}

// api opens the driver, once for the process.
func (e *Engine) api() (*driver.API, error) {
	e.once.Do(e.openDriver)
	return e.driver.API, e.failed
}

func (e *Engine) openDriver() {
	d, err := e.open()
	if err != nil {
		e.failed = err
		return
	}
	count, r := d.API.DeviceCount()
	if r != driver.ResultSuccess {
		e.failed = driverError("cuDeviceGetCount", r)
		return
	}
	if count == 0 || count > exec.MaxDevices {
		e.failed = status.Errorf(status.NoDriver, "the driver shows %d devices; 1 to %d are supported", count, exec.MaxDevices)
		return
	}
	e.driver = d
	if e.simulated() {
		e.memory.Store(&[2]uint64{d.MemoryBase, d.MemorySize})
	}
	e.devices = make([]device, count)
	for i := range e.devices {
		e.devices[i].index = i
	}
	exec.SetDriver(exec.Driver{
		Launch: d.API.LaunchKernelEx, CtxGetCurrent: d.API.CtxGetCurrent, CtxSetCurrent: d.API.CtxSetCurrent,
		CtxGetDevice: d.API.CtxGetDevice, StreamGetCtx: d.API.StreamGetCtx, StreamIsCapturing: d.API.StreamIsCapturing,
		PointerGetAttributes: d.API.PointerGetAttributes, Checks: d.Checks,
		DeviceType: d.DeviceType, Devices: count, MemoryBase: d.MemoryBase, MemorySize: d.MemorySize,
	})
}

// simulated says whether kernels run on the CPU.
func (e *Engine) simulated() bool { return e.driver.MemorySize != 0 }

// Info is what dlaunch_driver_info tells.
type Info struct {
	Kind, Path, Reason string
	Version, Devices   int
}

// Info opens the driver and describes it.
func (e *Engine) Info() (Info, error) {
	api, err := e.api()
	if err != nil {
		return Info{}, err
	}
	return Info{api.Kind, api.Path, api.Reason, api.Version, len(e.devices)}, nil
}
