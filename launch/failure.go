package launch

import (
	"sync"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// poison remembers the first sticky fault: after it the context is of no use to
// anybody in the process, and every call says so at once.
type poison struct {
	mu    sync.Mutex
	first *status.Error
}

// driverError words what a driver function answered.
func driverError(function string, r driver.Result) *status.Error {
	code := status.Driver
	switch r {
	case driver.ResultOutOfMemory:
		code = status.Memory
	case driver.ResultNotSupported: // also of a function that the driver lacks
		code = status.Unsupported
	}
	err := status.Errorf(code, "%s: %s (%d): %s", function, r.Name(), int32(r), r.Text())
	err.Driver = int32(r)
	return err
}

// failure is driverError for calls that may meet the faults of earlier work,
// which end the context's life.
func (e *Engine) failure(function string, r driver.Result) error {
	err := driverError(function, r)
	if !r.Sticky() {
		return err
	}
	err.Code = status.Fault
	err.Message += "; a kernel that was launched earlier did this; restart the process"
	return e.poisonBy(err)
}

// launchFailure is failure for what runs kernels: the simulator has an account of
// what they did.
func (e *Engine) launchFailure(function string, r driver.Result) error {
	if e.driver.TakeReport == nil {
		return e.failure(function, r)
	}
	report := e.driver.TakeReport()
	if report == "" {
		return e.failure(function, r)
	}
	err := status.Errorf(status.Fault, "%s", report)
	err.Driver = int32(r)
	if e.driver.FaultsStay {
		e.poisonBy(err)
	}
	return err
}

// poisonBy remembers a sticky fault if it is the first, and gives the first.
func (e *Engine) poisonBy(err *status.Error) error {
	e.poison.mu.Lock()
	defer e.poison.mu.Unlock()
	if e.poison.first == nil {
		e.poison.first = err
		exec.SetAttention(exec.Poisoned)
	}
	return e.poison.first
}

// poisoned gives the first sticky fault, if there was one.
func (e *Engine) poisoned() error {
	e.poison.mu.Lock()
	defer e.poison.mu.Unlock()
	if e.poison.first == nil {
		return nil
	}
	again := *e.poison.first
	again.Message = "the context is poisoned since: " + again.Message
	return &again
}
