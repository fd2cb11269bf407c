package main

/*
#include "exec.h"

int32_t go_sim_context_current(void **context);
int32_t go_sim_context_set_current(void *context);
int32_t go_sim_context_device(int32_t *device);
int32_t go_sim_stream_context(void *stream, void **context);
*/
import "C"

import (
	"strconv"
	"unsafe"

	"dlaunch/internal/driver"
	"dlaunch/internal/sim"
	"dlaunch/internal/status"
)

// openSimulator reads DLAUNCH_SIM_DEVICES and DLAUNCH_SIM_POISON.
func openSimulator() (*sim.Simulator, error) {
	devices := 1
	if text, _ := environment("DLAUNCH_SIM_DEVICES"); text != "" {
		var err error
		if devices, err = strconv.Atoi(text); err != nil || devices < 1 || devices > sim.MostDevices {
			return nil, status.Errorf(status.NoDriver, "DLAUNCH_SIM_DEVICES is %q; a number from 1 to %d is wanted", text, sim.MostDevices)
		}
	}
	switch text, _ := environment("DLAUNCH_SIM_POISON"); text {
	case "", "0":
	case "1":
		running.poison = true
	default:
		return nil, status.Errorf(status.NoDriver, "DLAUNCH_SIM_POISON is %q; 0 or 1 is wanted", text)
	}
	return sim.New(sim.Options{Devices: devices})
}

// showContexts lets the executor ask which device is current, where there are
// several.
func showContexts(api *driver.API) {
	running.api = api
	if n, _ := api.DeviceCount(); n == 1 {
		return
	}
	api.CtxGetCurrent = uintptr(C.go_sim_context_current)
	api.CtxSetCurrent = uintptr(C.go_sim_context_set_current)
	api.CtxGetDevice = uintptr(C.go_sim_context_device)
	api.StreamGetCtx = uintptr(C.go_sim_stream_context)
}

// What follows has the signatures of cuCtxGetCurrent, cuCtxSetCurrent,
// cuCtxGetDevice and cuStreamGetCtx.

//export go_sim_context_current
func go_sim_context_current(context *unsafe.Pointer) C.int32_t {
	current, r := running.api.ContextCurrent()
	*(*driver.Context)(unsafe.Pointer(context)) = current
	return C.int32_t(r)
}

//export go_sim_context_set_current
func go_sim_context_set_current(context unsafe.Pointer) C.int32_t {
	return C.int32_t(running.api.ContextSetCurrent(driver.Context(context)))
}

//export go_sim_context_device
func go_sim_context_device(device *C.int32_t) C.int32_t {
	current, r := running.api.ContextDevice()
	*device = C.int32_t(current)
	return C.int32_t(r)
}

//export go_sim_stream_context
func go_sim_stream_context(stream unsafe.Pointer, context *unsafe.Pointer) C.int32_t {
	found, r := running.api.StreamContext(driver.Stream(uintptr(stream)))
	*(*driver.Context)(unsafe.Pointer(context)) = found
	return C.int32_t(r)
}
