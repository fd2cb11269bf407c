package main

/*
#include "release.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/dlpack"
	"dlaunch/handles"
)

// giveBack leaves a tensor to the gate, which calls its deleter when Go has
// returned: to the call that runs on this thread.
func giveBack(taken uint64) { C.dl_give_back(C.uint64_t(taken)) }

// go_tensor_import has the tensor's deleter called later if it gives DLAUNCH_OK;
// else that is the gate's.
//
//export go_tensor_import
func go_tensor_import(function *C.char, taken *C.dl_taken, out *C.dlaunch_tensor, err *C.dlaunch_error) C.dlaunch_status {
	return guard(C.GoString(function), err, func() error {
		if out == nil {
			return null("out")
		}
		read := dlpack.ReadManaged
		if taken.versioned {
			read = dlpack.ReadVersioned
		}
		view, err := read(uintptr(taken.managed))
		if err != nil {
			return err
		}
		h, err := engine.ImportTensor(view, uint64(uintptr(unsafe.Pointer(taken))))
		return put(out, C.dlaunch_tensor(h), err)
	})
}

//export go_tensor_close
func go_tensor_close(tensor C.dlaunch_tensor, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_tensor_close", err, func() error { return engine.Close(handles.Handle(tensor), handles.Tensor) })
}
