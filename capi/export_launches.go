package main

/*
#include "exec.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/exec"
)

//export go_launch
func go_launch(function *C.char, kernel C.dlaunch_kernel, config *C.dlaunch_config, args *C.dlaunch_arg, n C.uint32_t, fault *C.dl_fault, err *C.dlaunch_error) C.dlaunch_status {
	return guard(C.GoString(function), err, func() error {
		return engine.Launch(handles.Handle(kernel), (*exec.Config)(unsafe.Pointer(config)),
			unsafe.Slice((*exec.Arg)(unsafe.Pointer(args)), argumentCount(args, n)), *(*exec.Fault)(unsafe.Pointer(fault)))
	})
}
