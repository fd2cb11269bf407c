package main

import (
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/unix"

	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/sim"
)

// reports are the simulator's accounts of faults, by the OS thread that met
// each: a launch and what explains it run on one.
type reports struct {
	mu       sync.Mutex
	byThread map[int]string
}

func (r *reports) put(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byThread == nil {
		r.byThread = map[int]string{}
	}
	r.byThread[unix.Gettid()] = text
}

// take gives the calling thread's report, once.
func (r *reports) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	thread := unix.Gettid()
	text := r.byThread[thread]
	delete(r.byThread, thread)
	return text
}

// guardSimulation turns a fault, or a bug, into the CUresult that a launch answers.
func guardSimulation(launch func() *sim.Fault) (code int32) {
	defer func() {
		if cause := recover(); cause != nil {
			running.reports.put(fmt.Sprintf("a bug in the simulator: %v\n%s", cause, debug.Stack()))
			code = int32(driver.ResultUnknown)
		}
	}()
	fault := launch()
	if fault == nil {
		return int32(driver.ResultSuccess)
	}
	running.reports.put(fault.Message)
	return int32(fault.Result)
}

// argument says what a tensor lets a simulated kernel touch.
func argument(r exec.Range, name string) sim.Argument {
	dtype := dlpack.Unpack(r.DType)
	return sim.Argument{
		Index: int(r.Argument &^ exec.BoundArgument), Bound: r.Argument&exec.BoundArgument != 0, Name: name, DType: dtype.String(), ItemSize: (dtype.ItemBits() + 7) / 8,
		Data: r.Data, Low: r.Low, High: r.High,
		Read: r.Flags&exec.Read != 0, Written: r.Flags&exec.Written != 0,
	}
}
