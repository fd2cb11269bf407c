package main

/*
#include "dlaunch.h"
*/
import "C"

//export go_device_enter
func go_device_enter(device C.int32_t, former *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_enter", err, func() error {
		if former == nil {
			return null("former")
		}
		context, err := engine.EnterDevice(int(device))
		return put(former, C.uint64_t(context), err)
	})
}

//export go_device_leave
func go_device_leave(former C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_leave", err, func() error { return engine.LeaveDevice(uint64(former)) })
}
