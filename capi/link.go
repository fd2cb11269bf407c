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
	return guard("dlaunch_library_architectures", err, func() error {
		text, err := engine.Architectures(handles.Handle(library))
		if err != nil {
			return err
		}
		return putString(buf, size, needed, text)
	})
}

//export go_library_global_name
func go_library_global_name(library C.dlaunch_library, index C.uint32_t, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_global_name", err, func() error {
		name, err := engine.GlobalName(handles.Handle(library), int(index))
		if err != nil {
			return err
		}
		return putString(buf, size, needed, name)
	})
}
