package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/exec"
)

//export go_kernel_bind
func go_kernel_bind(kernel C.dlaunch_kernel, index C.uint32_t, arg *C.dlaunch_arg, out *C.dlaunch_kernel, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_bind", err, func() error {
		if err := checkHandles(handles.Handle(kernel), handles.Kernel, arg); err != nil {
			return err
		}
		if arg == nil {
			return null("arg")
		}
		if out == nil {
			return null("out")
		}
		h, err := engine.BindKernel(handles.Handle(kernel), int(index), (*exec.Arg)(unsafe.Pointer(arg)))
		return put(out, C.dlaunch_kernel(h), err)
	})
}

//export go_library_bind
func go_library_bind(library C.dlaunch_library, name *C.char, arg *C.dlaunch_arg, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_bind", err, func() error {
		if err := checkHandles(handles.Handle(library), handles.Library, arg); err != nil {
			return err
		}
		if name == nil {
			return null("name")
		}
		if arg == nil {
			return null("arg")
		}
		return engine.BindSymbol(handles.Handle(library), C.GoString(name), (*exec.Arg)(unsafe.Pointer(arg)))
	})
}

// checkHandles looks at what is bound to, and at what is bound if that is a handle:
// stale ones come before any other fault.
func checkHandles(to handles.Handle, kind handles.Kind, arg *C.dlaunch_arg) error {
	if err := engine.Check(to, kind); err != nil {
		return err
	}
	if arg == nil {
		return nil
	}
	if a := (*exec.Arg)(unsafe.Pointer(arg)); a.Kind == exec.ArgHandle {
		return engine.Check(handles.Handle(a.Value), handles.Any)
	}
	return nil
}
