package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

//export go_library_load
func go_library_load(image unsafe.Pointer, size C.size_t, options *C.dlaunch_library_options, out *C.dlaunch_library, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_load", err, func() error {
		if out == nil {
			return null("out")
		}
		if image == nil {
			return null("image")
		}
		if size > math.MaxInt32 {
			return status.Errorf(status.Argument, "size is %d bytes; an image has less than 2 GiB", size)
		}
		o, err := libraryOptions(options)
		if err != nil {
			return err
		}
		h, err := engine.Load(C.GoBytes(image, C.int(size)), o)
		return put(out, C.dlaunch_library(h), err)
	})
}

//export go_library_load_file
func go_library_load_file(path *C.char, options *C.dlaunch_library_options, out *C.dlaunch_library, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_load_file", err, func() error {
		if out == nil {
			return null("out")
		}
		if path == nil {
			return null("path")
		}
		o, err := libraryOptions(options)
		if err != nil {
			return err
		}
		h, err := engine.LoadFile(C.GoString(path), o)
		return put(out, C.dlaunch_library(h), err)
	})
}

//export go_link
func go_link(inputs *C.dlaunch_link_input, num C.uint32_t, options *C.dlaunch_library_options, out *C.dlaunch_library, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_link", err, func() error {
		if out == nil {
			return null("out")
		}
		copied, err := linkInputs(inputs, num)
		if err != nil {
			return err
		}
		o, err := libraryOptions(options)
		if err != nil {
			return err
		}
		h, err := engine.Link(copied, o)
		return put(out, C.dlaunch_library(h), err)
	})
}

// linkInputs copies the caller's inputs, which lie as far apart as their
// struct_size says.
func linkInputs(inputs *C.dlaunch_link_input, num C.uint32_t) ([]launch.LinkInput, error) {
	if inputs == nil {
		return nil, null("inputs")
	}
	var copied []launch.LinkInput
	each := inputs.struct_size
	for i := range num {
		in := (*C.dlaunch_link_input)(unsafe.Add(unsafe.Pointer(inputs), uintptr(i)*uintptr(each)))
		if err := structSize("inputs[i]", in.struct_size, unsafe.Sizeof(*in)); err != nil {
			return nil, err
		}
		switch {
		case in.struct_size != each:
			return nil, status.Errorf(status.Argument, "inputs[%d].struct_size is %d, that of the first is %d", i, in.struct_size, each)
		case in.data == nil:
			return nil, status.Errorf(status.Argument, "inputs[%d].data is NULL", i)
		case in.size > math.MaxInt32:
			return nil, status.Errorf(status.Argument, "inputs[%d].size is %d bytes; an image has less than 2 GiB", i, in.size)
		}
		input := launch.LinkInput{Data: C.GoBytes(in.data, C.int(in.size))}
		if in.name != nil {
			input.Name = C.GoString(in.name)
		}
		copied = append(copied, input)
	}
	return copied, nil
}

//export go_library_architectures
func go_library_architectures(library C.dlaunch_library, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_library_architectures", buf, size, needed, err, func() (string, error) { return engine.Architectures(handles.Handle(library)) })
}

//export go_library_kernel_count
func go_library_kernel_count(library C.dlaunch_library, out *C.uint32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_library_kernel_count", handles.Handle(library), handles.Library, out, err, func(h handles.Handle) (C.uint32_t, error) {
		n, err := engine.KernelCount(h)
		return C.uint32_t(n), err
	})
}

//export go_library_kernel_name
func go_library_kernel_name(library C.dlaunch_library, index C.uint32_t, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_library_kernel_name", buf, size, needed, err, func() (string, error) { return engine.KernelName(handles.Handle(library), int(index)) })
}

//export go_library_global
func go_library_global(library C.dlaunch_library, device C.int32_t, name *C.char, address *C.uint64_t, bytes *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_global", err, func() error {
		if err := engine.Check(handles.Handle(library), handles.Library); err != nil {
			return err
		}
		switch {
		case name == nil:
			return null("name")
		case address == nil:
			return null("address")
		case bytes == nil:
			return null("bytes")
		}
		a, n, err := engine.Global(handles.Handle(library), int(device), C.GoString(name))
		return both(put(address, C.uint64_t(a), err), put(bytes, C.size_t(n), err))
	})
}

//export go_library_global_name
func go_library_global_name(library C.dlaunch_library, index C.uint32_t, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return askText("dlaunch_library_global_name", buf, size, needed, err, func() (string, error) { return engine.GlobalName(handles.Handle(library), int(index)) })
}

//export go_library_close
func go_library_close(library C.dlaunch_library, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_close", err, func() error { return engine.Close(handles.Handle(library), handles.Library) })
}
