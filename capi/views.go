package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// Views of the caller's memory: the only conversions of its pointers.

// tensorAt turns the address of a DLTensor of ours into a pointer to it.
func tensorAt(address uint64) *C.DLTensor { return *(**C.DLTensor)(unsafe.Pointer(&address)) }

// argumentCount is how many arguments there are to look at.
func argumentCount(args *C.dlaunch_arg, n C.uint32_t) C.uint32_t {
	if args == nil {
		return 0
	}
	return n
}

// libraryOptions copies the caller's options; log is written to before the call
// returns.
func libraryOptions(o *C.dlaunch_library_options) (launch.LibraryOptions, error) {
	var out launch.LibraryOptions
	if o == nil {
		return out, nil
	}
	if err := structSize("options", o.struct_size, unsafe.Offsetof(o.names)); err != nil {
		return out, err
	}
	if o.flags&^C.DLAUNCH_LAZY != 0 {
		return out, status.Errorf(status.Argument, "options.flags is %#x; DLAUNCH_LAZY (1) is the only flag", o.flags)
	}
	out.Lazy = o.flags&C.DLAUNCH_LAZY != 0
	if o.log != nil && o.log_size > 0 {
		size := int(min(o.log_size, math.MaxInt))
		out.Log = func(text string) { putText(o.log, size, text) }
		out.Log("") // for what is refused before a compiler sees it
	}
	if o.num_jit_options > 0 && (o.jit_options == nil || o.jit_values == nil) {
		return out, status.Errorf(status.Argument, "options.num_jit_options is %d, but jit_options or jit_values is NULL", o.num_jit_options)
	}
	ids := unsafe.Slice((*int32)(unsafe.Pointer(o.jit_options)), o.num_jit_options)
	values := unsafe.Slice((*uint64)(unsafe.Pointer(o.jit_values)), o.num_jit_options)
	for i := range ids {
		out.Options = append(out.Options, driver.JITOption{ID: ids[i], Value: values[i]})
	}
	if uintptr(o.struct_size) < unsafe.Sizeof(*o) {
		return out, nil // a caller that knows no names
	}
	if o.nvjitlink != nil {
		out.JITLinker = C.GoString(o.nvjitlink)
	}
	if o.num_names > 0 && o.names == nil {
		return out, status.Errorf(status.Argument, "options.num_names is %d, but names is NULL", o.num_names)
	}
	out.Names = map[string]string{}
	for i, n := range unsafe.Slice(o.names, o.num_names) {
		if n.name == nil || n.symbol == nil {
			return out, status.Errorf(status.Argument, "options.names[%d] has a NULL", i)
		}
		out.Names[C.GoString(n.name)] = C.GoString(n.symbol)
	}
	return out, nil
}
