package main

/*
#include "exec.h"

int32_t go_simulate(dl_launch_config *config, void *function, void **params, void **extra);
int32_t go_simulated_pointer(uint32_t count, int32_t *ids, void **to, uint64_t address);
*/
import "C"

import (
	"unsafe"

	"dlaunch/dlpack"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/sim"
	"dlaunch/launch"
)

// running is the simulator that go_simulate hands launches to, and its reports.
var running struct {
	simulator *sim.Simulator
	api       *driver.API
	reports   reports
	poison    bool // DLAUNCH_SIM_POISON: a fault ends the context, as a GPU's does
}

func simulatedDriver(api *driver.API, simulator *sim.Simulator) launch.Driver {
	running.simulator = simulator
	base, size := simulator.Memory()
	api.LaunchKernelEx, api.PointerGetAttributes = uintptr(C.go_simulate), uintptr(C.go_simulated_pointer)
	showContexts(api)
	simulateGraphs(api)
	return launch.Driver{API: api, DeviceType: int32(dlpack.CPU), MemoryBase: base, MemorySize: size, TakeReport: running.reports.take, FaultsStay: running.poison}
}

// go_simulate has cuLaunchKernelEx's signature; behind the end of `extra` the
// executor left its dl_call.
//
//export go_simulate
func go_simulate(config *C.dl_launch_config, function unsafe.Pointer, _, extra *unsafe.Pointer) C.int32_t {
	return C.int32_t(guardSimulation(func() *sim.Fault {
		params, call := unpack(extra)
		l := sim.Launch{Kernel: driver.Kernel(uintptr(function)), Stream: driver.Stream(config.stream), Shared: uint32(config.shared_bytes), Params: params}
		l.Cooperative = isCooperative(config)
		for i := range 3 {
			l.Grid[i], l.Block[i] = uint32(config.grid[i]), uint32(config.block[i])
		}
		ranges := unsafe.Slice((*exec.Range)(unsafe.Pointer(call.ranges)), call.num_ranges)
		for _, r := range ranges {
			name := engine.ArgumentName(uint64(call.kernel), int(r.Argument))
			l.Arguments = append(l.Arguments, argument(r, name))
		}
		return running.simulator.Launch(l)
	}))
}

// isCooperative looks for CU_LAUNCH_ATTRIBUTE_COOPERATIVE among the attributes.
func isCooperative(config *C.dl_launch_config) bool {
	for _, a := range unsafe.Slice(config.attributes, config.num_attributes) {
		if a.id == C.DL_ATTRIBUTE_COOPERATIVE {
			return a.value[0] != 0
		}
	}
	return false
}

// unpack reads the `extra` list: the packed parameters, and the dl_call.
func unpack(extra *unsafe.Pointer) ([]byte, *C.dl_call) {
	list := unsafe.Slice(extra, 6)
	if list[0] == nil { // no parameters
		return nil, (*C.dl_call)(list[1])
	}
	size := *(*C.size_t)(list[3])
	return unsafe.Slice((*byte)(list[1]), size), (*C.dl_call)(list[5])
}
