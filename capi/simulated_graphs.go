package main

/*
#include <stdint.h>

int32_t go_sim_is_capturing(void *stream, int32_t *status);
*/
import "C"

import (
	"unsafe"

	"dlaunch/internal/driver"
	"dlaunch/internal/sim"
)

// simulateGraphs lets the executor ask what is captured, and words what goes wrong
// in a graph's launch.
func simulateGraphs(api *driver.API) {
	api.StreamIsCapturing = uintptr(C.go_sim_is_capturing)
	api.GraphLaunch = func(exec driver.GraphExec, stream driver.Stream) driver.Result {
		return driver.Result(guardSimulation(func() *sim.Fault { return running.simulator.LaunchGraph(exec, stream) }))
	}
}

// go_sim_is_capturing has cuStreamIsCapturing's signature.
//
//export go_sim_is_capturing
func go_sim_is_capturing(stream unsafe.Pointer, status *C.int32_t) C.int32_t {
	capturing, r := running.api.StreamCapturing(driver.Stream(uintptr(stream)))
	*status = 0
	if capturing {
		*status = driver.CaptureActive
	}
	return C.int32_t(r)
}
