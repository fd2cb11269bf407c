package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"slices"
	"unsafe"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/status"
)

//export go_array_view
func go_array_view(array C.dlaunch_array, dtype C.DLDataType, ndim C.int32_t, shape, strides *C.int64_t, offset C.int64_t, out *C.dlaunch_array, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_view", err, func() error {
		if err := engine.Check(handles.Handle(array), handles.Array); err != nil {
			return err
		}
		if out == nil {
			return null("out")
		}
		if ndim < 0 || ndim > dlpack.MaxRank {
			return status.Errorf(status.Argument, "ndim is %d; 0 to %d is wanted", ndim, dlpack.MaxRank)
		}
		if shape == nil && ndim > 0 {
			return null("shape")
		}
		t := dlpack.DataType{Code: uint8(dtype.code), Bits: uint8(dtype.bits), Lanes: uint16(dtype.lanes)}
		h, err := engine.ViewArray(handles.Handle(array), t, copyAxes(shape, ndim), copyAxes(strides, ndim), int64(offset))
		return put(out, C.dlaunch_array(h), err)
	})
}

// copyAxes copies the caller's extents or strides; NULL is nil.
func copyAxes(from *C.int64_t, ndim C.int32_t) []int64 {
	if from == nil {
		return nil
	}
	return slices.Clone(unsafe.Slice((*int64)(unsafe.Pointer(from)), ndim))
}

//export go_array_wait
func go_array_wait(array C.dlaunch_array, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_wait", err, func() error {
		return engine.WaitForArray(handles.Handle(array), uint64(stream))
	})
}
