package launch

import (
	"fmt"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// maxMends bounds how often one launch is mended: limits, shared memory, staging,
// scratch and holds once each, and once for each unload that comes between.
const maxMends = 4096

// call is one launch that the executor did not do by itself.
type call struct {
	engine *Engine
	entry  *handles.Entry
	kernel *kernel
	config *exec.Config
	args   []exec.Arg

	met     []exec.Fault // what the executor stopped at, for the log
	place   *place
	staged  []*hostTensor
	scratch []uint64 // an address for each derived parameter, once it is there
	isHeld  bool     // by the graph that the launch is captured into
	memory  []orderedMemory
	room    room             // page-locked, of which staged memory has parts
	buffers []*exec.Buffer   // host memory that results are copied to
	held    []*handles.Entry // imported host tensors that are staged
}

// Launch goes on where the executor stopped: fault says why. What can be mended
// is, and the executor is asked again; the rest is explained.
func (e *Engine) Launch(h handles.Handle, config *exec.Config, args []exec.Arg, fault exec.Fault) (err error) {
	c := &call{engine: e, config: config, args: args}
	entry, err := e.table.Acquire(h, handles.Kernel)
	if err != nil {
		return err
	}
	defer entry.Drop()
	c.entry, c.kernel = entry, entry.Value.(*kernel)
	defer func() { c.clean(err != nil) }()
	if onlyTraced(fault) {
		e.slow.add("logged")
	} else {
		e.slow.add(fault.Reason.String())
	}
	if e.log.launches {
		defer func() { c.logLaunch(len(args), err) }()
	}
	for range maxMends {
		if fault.Reason == exec.OK {
			return c.bringBack()
		}
		if e.log.launches {
			c.met = append(c.met, fault)
		}
		if err := c.mend(fault); err != nil {
			return err
		}
		fault = c.launchAgain()
	}
	return status.Errorf(status.Internal, "kernel %q could not be prepared (reason %d)", c.kernel.name, fault.Reason)
}

func (c *call) launchAgain() exec.Fault {
	return exec.LaunchAgain(uint64(c.entry.Handle), c.config, c.args, c.scratch, c.isHeld)
}

// mend removes what the executor stopped at, or explains why it stays.
func (c *call) mend(fault exec.Fault) error {
	e := c.engine
	switch fault.Reason {
	case exec.Attention:
		return e.attend()
	case exec.NoLimits:
		if err := c.refuseLateLoad(int(fault.Found)); err != nil {
			return err
		}
		return e.fillLimits(c.kernel, int(fault.Found))
	case exec.Shared:
		index, blocked := exec.DeviceOf(uint64(c.entry.Handle), c.config, c.args)
		if blocked.Reason != exec.OK {
			return c.explain(blocked)
		}
		return e.raiseShared(c.kernel, index, c.config.SharedBytes)
	case exec.Host:
		if fault.Found == 0 {
			return c.explain(fault)
		}
		return c.stage()
	case exec.Scratch:
		return c.giveScratch()
	case exec.Captured:
		return c.holdCaptured()
	case exec.DriverRefused:
		if raised, err := c.raiseAgain(fault); raised || err != nil {
			return err
		}
		return c.explainDriver(fault)
	}
	return c.explain(fault)
}

// attend waits for an unload, or says why nothing can be launched any more.
func (e *Engine) attend() error {
	word := exec.AttentionWord()
	switch {
	case word&exec.Exiting != 0:
		err := status.Errorf(status.Driver, "the process is exiting; the driver is not touched any more")
		err.Driver = int32(driver.ResultDeinitialized)
		return err
	case word&exec.Poisoned != 0:
		return e.poisoned()
	}
	e.unload.RLock()
	defer e.unload.RUnlock()
	return nil
}

// exclusively runs f while no launch is on its way: launches that begin wait.
func (e *Engine) exclusively(f func()) {
	e.unload.Lock()
	defer e.unload.Unlock()
	exec.SetAttention(exec.Unloading)
	defer exec.ClearAttention(exec.Unloading)
	exec.AwaitLaunches()
	f()
}

func (c *call) explainDriver(fault exec.Fault) error {
	r := driver.Result(fault.DriverCode)
	err := c.engine.launchFailure("cuLaunchKernelEx", r)
	if se, ok := err.(*status.Error); ok && se.Code != status.Fault {
		se.Message = fmt.Sprintf("kernel %q: %s%s", c.kernel.name, se.Message, c.situation(int(fault.Found)))
	}
	return err
}
