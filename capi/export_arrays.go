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

//export go_array_create
func go_array_create(device C.int32_t, dtype C.DLDataType, ndim C.int32_t, shape *C.int64_t, out *C.dlaunch_array, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_create", err, func() error {
		if out == nil {
			return null("out")
		}
		if err := checkAxes(ndim, shape); err != nil {
			return err
		}
		h, err := engine.CreateArray(int(device), dataType(dtype), copyAxes(shape, ndim))
		return put(out, C.dlaunch_array(h), err)
	})
}

//export go_array_write
func go_array_write(array C.dlaunch_array, host unsafe.Pointer, bytes C.size_t, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_write", err, func() error {
		return engine.Copy(handles.Handle(array), uintptr(host), uint64(bytes), uint64(stream), true)
	})
}

//export go_array_read
func go_array_read(array C.dlaunch_array, host unsafe.Pointer, bytes C.size_t, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_read", err, func() error {
		return engine.Copy(handles.Handle(array), uintptr(host), uint64(bytes), uint64(stream), false)
	})
}

//export go_array_tensor
func go_array_tensor(array C.dlaunch_array, out *C.DLTensor, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_tensor", err, func() error {
		return engine.ArrayTensor(handles.Handle(array), func(address uint64) error {
			if out == nil {
				return null("out")
			}
			*out = *tensorAt(address)
			return nil
		})
	})
}

//export go_array_view
func go_array_view(array C.dlaunch_array, dtype C.DLDataType, ndim C.int32_t, shape, strides *C.int64_t, offset C.int64_t, out *C.dlaunch_array, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_view", err, func() error {
		if err := engine.Check(handles.Handle(array), handles.Array); err != nil {
			return err
		}
		if out == nil {
			return null("out")
		}
		if err := checkAxes(ndim, shape); err != nil {
			return err
		}
		h, err := engine.ViewArray(handles.Handle(array), dataType(dtype), copyAxes(shape, ndim), copyAxes(strides, ndim), int64(offset))
		return put(out, C.dlaunch_array(h), err)
	})
}

//export go_array_wait
func go_array_wait(array C.dlaunch_array, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_wait", err, func() error {
		return engine.WaitForArray(handles.Handle(array), uint64(stream))
	})
}

//export go_array_export
func go_array_export(array C.dlaunch_array, hasOut C.int, tensor **C.DLTensor, id *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_export", err, func() error {
		if err := engine.Check(handles.Handle(array), handles.Array); err != nil {
			return err
		}
		if hasOut == 0 {
			return null("out")
		}
		held, address, err := engine.ExportArray(handles.Handle(array))
		return both(put(id, C.uint64_t(held), err), put(tensor, tensorAt(address), err))
	})
}

//export go_release_export
func go_release_export(id C.uint64_t) {
	guard("deleter", nil, func() error {
		engine.ReleaseExport(uint64(id))
		return nil
	})
}

//export go_array_close
func go_array_close(array C.dlaunch_array, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_close", err, func() error { return engine.Close(handles.Handle(array), handles.Array) })
}

func dataType(t C.DLDataType) dlpack.DataType {
	return dlpack.DataType{Code: uint8(t.code), Bits: uint8(t.bits), Lanes: uint16(t.lanes)}
}

func checkAxes(ndim C.int32_t, shape *C.int64_t) error {
	if ndim < 0 || ndim > dlpack.MaxRank {
		return status.Errorf(status.Argument, "ndim is %d; 0 to %d is wanted", ndim, dlpack.MaxRank)
	}
	if shape == nil && ndim > 0 {
		return null("shape")
	}
	return nil
}

// copyAxes copies the caller's extents or strides; NULL is nil.
func copyAxes(from *C.int64_t, ndim C.int32_t) []int64 {
	if from == nil {
		return nil
	}
	return slices.Clone(unsafe.Slice((*int64)(unsafe.Pointer(from)), ndim))
}
