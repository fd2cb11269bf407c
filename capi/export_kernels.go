package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/handles"
)

//export go_kernel_get
func go_kernel_get(library C.dlaunch_library, text *C.char, out *C.dlaunch_kernel, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_get", err, func() error {
		if err := engine.Check(handles.Handle(library), handles.Library); err != nil {
			return err
		}
		if text == nil {
			return null("text")
		}
		if out == nil {
			return null("out")
		}
		h, err := engine.GetKernel(handles.Handle(library), C.GoString(text))
		return put(out, C.dlaunch_kernel(h), err)
	})
}

//export go_kernel_from_driver
func go_kernel_from_driver(native unsafe.Pointer, prototype *C.char, out *C.dlaunch_kernel, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_from_driver", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.KernelFromDriver(uintptr(native), C.GoString(prototype))
		return put(out, C.dlaunch_kernel(h), err)
	})
}

//export go_kernel_native
func go_kernel_native(kernel C.dlaunch_kernel, out *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_native", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.uint64_t, error) {
		native, err := engine.KernelNative(h)
		return C.uint64_t(native), err
	})
}

//export go_kernel_name
func go_kernel_name(kernel C.dlaunch_kernel, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_kernel_name", buf, size, needed, err, func() (string, error) { return engine.NameOfKernel(handles.Handle(kernel)) })
}

//export go_kernel_load
func go_kernel_load(kernel C.dlaunch_kernel, device C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_load", err, func() error { return engine.LoadKernel(handles.Handle(kernel), int(device)) })
}

//export go_kernel_prototype
func go_kernel_prototype(kernel C.dlaunch_kernel, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_kernel_prototype", buf, size, needed, err, func() (string, error) { return engine.KernelPrototype(handles.Handle(kernel)) })
}

//export go_kernel_parameter
func go_kernel_parameter(kernel C.dlaunch_kernel, index C.uint32_t, out *C.dlaunch_parameter, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_parameter", err, func() error {
		if err := engine.Check(handles.Handle(kernel), handles.Kernel); err != nil {
			return err
		}
		if out == nil {
			return null("out")
		}
		if err := structSize("out", out.struct_size, unsafe.Sizeof(*out)); err != nil {
			return err
		}
		p, err := engine.KernelParameter(handles.Handle(kernel), int(index))
		if err != nil {
			return err
		}
		out.index, out.offset, out.size, out.mode = index, C.uint64_t(p.Offset), C.uint64_t(p.Size), C.uint32_t(p.Mode)
		putText(&out.name[0], len(out.name), p.Name)
		putText(&out._type[0], len(out._type), p.Type)
		return nil
	})
}

//export go_kernel_attribute
func go_kernel_attribute(kernel C.dlaunch_kernel, attribute, device C.int32_t, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_attribute", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		value, err := engine.KernelAttribute(h, int32(attribute), int(device))
		return C.int32_t(value), err
	})
}

//export go_kernel_set_attribute
func go_kernel_set_attribute(kernel C.dlaunch_kernel, attribute, device, value C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_set_attribute", err, func() error {
		return engine.SetKernelAttribute(handles.Handle(kernel), int32(attribute), int(device), int32(value))
	})
}

//export go_kernel_close
func go_kernel_close(kernel C.dlaunch_kernel, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_close", err, func() error { return engine.Close(handles.Handle(kernel), handles.Kernel) })
}
