package main

/*
#include "exec.h"
*/
import "C"

import (
	"math"
	"unsafe"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// One thin body for each public function that Go serves: C types in, one call,
// a status out. What the functions mean is in dlaunch.h.

//export go_driver_info
func go_driver_info(out *C.dlaunch_driver_info_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_driver_info", err, func() error {
		if out == nil {
			return null("out")
		}
		if err := structSize("out", out.struct_size, unsafe.Sizeof(*out)); err != nil {
			return err
		}
		info, err := engine.Info()
		if err != nil {
			return err
		}
		out.version, out.devices = C.int32_t(info.Version), C.int32_t(info.Devices)
		putText(&out.kind[0], len(out.kind), info.Kind)
		putText(&out.path[0], len(out.path), info.Path)
		putText(&out.reason[0], len(out.reason), info.Reason)
		return nil
	})
}

//export go_device_count
func go_device_count(out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_count", err, func() error {
		if out == nil {
			return null("out")
		}
		n, err := engine.DeviceCount()
		return put(out, C.int32_t(n), err)
	})
}

//export go_device_attribute
func go_device_attribute(device, attribute C.int32_t, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_device_attribute", err, func() error {
		if out == nil {
			return null("out")
		}
		value, err := engine.DeviceAttribute(int(device), int32(attribute))
		return put(out, C.int32_t(value), err)
	})
}

//export go_memory_info
func go_memory_info(device C.int32_t, free, total *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_memory_info", err, func() error {
		if free == nil {
			return null("free_bytes")
		}
		if total == nil {
			return null("total_bytes")
		}
		f, t, err := engine.MemoryInfo(int(device))
		return both(put(free, C.size_t(f), err), put(total, C.size_t(t), err))
	})
}

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

//export go_library_kernel_count
func go_library_kernel_count(library C.dlaunch_library, out *C.uint32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_kernel_count", err, func() error {
		n, err := engine.KernelCount(handles.Handle(library))
		if err == nil && out == nil {
			err = null("out")
		}
		return put(out, C.uint32_t(n), err)
	})
}

//export go_library_kernel_name
func go_library_kernel_name(library C.dlaunch_library, index C.uint32_t, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_kernel_name", err, func() error {
		name, err := engine.KernelName(handles.Handle(library), int(index))
		if err != nil {
			return err
		}
		return putString(buf, size, needed, name)
	})
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

//export go_library_close
func go_library_close(library C.dlaunch_library, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_library_close", err, func() error { return engine.Close(handles.Handle(library), handles.Library) })
}

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

//export go_kernel_prototype
func go_kernel_prototype(kernel C.dlaunch_kernel, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_prototype", err, func() error {
		text, err := engine.KernelPrototype(handles.Handle(kernel))
		if err != nil {
			return err
		}
		return putString(buf, size, needed, text)
	})
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

//export go_kernel_close
func go_kernel_close(kernel C.dlaunch_kernel, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_close", err, func() error { return engine.Close(handles.Handle(kernel), handles.Kernel) })
}

//export go_launch
func go_launch(function *C.char, kernel C.dlaunch_kernel, config *C.dlaunch_config, args *C.dlaunch_arg, n C.uint32_t, fault *C.dl_fault, err *C.dlaunch_error) C.dlaunch_status {
	return guard(C.GoString(function), err, func() error {
		return engine.Launch(handles.Handle(kernel), (*exec.Config)(unsafe.Pointer(config)),
			unsafe.Slice((*exec.Arg)(unsafe.Pointer(args)), argumentCount(args, n)), *(*exec.Fault)(unsafe.Pointer(fault)))
	})
}

//export go_array_create
func go_array_create(device C.int32_t, dtype C.DLDataType, ndim C.int32_t, shape *C.int64_t, out *C.dlaunch_array, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_array_create", err, func() error {
		if out == nil {
			return null("out")
		}
		if ndim < 0 || ndim > dlpack.MaxRank {
			return status.Errorf(status.Argument, "ndim is %d; 0 to %d is wanted", ndim, dlpack.MaxRank)
		}
		if shape == nil && ndim > 0 {
			return null("shape")
		}
		extents := append([]int64{}, unsafe.Slice((*int64)(unsafe.Pointer(shape)), ndim)...)
		t := dlpack.DataType{Code: uint8(dtype.code), Bits: uint8(dtype.bits), Lanes: uint16(dtype.lanes)}
		h, err := engine.CreateArray(int(device), t, extents)
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

//export go_stream_create
func go_stream_create(device C.int32_t, flags C.uint32_t, out *C.dlaunch_stream, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_create", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.CreateStream(int(device), uint32(flags))
		return put(out, C.dlaunch_stream(h), err)
	})
}

//export go_stream_native
func go_stream_native(stream C.dlaunch_stream, out *C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_native", err, func() error {
		native, err := engine.NativeStream(handles.Handle(stream))
		if err == nil && out == nil {
			err = null("out")
		}
		return put(out, C.uint64_t(native), err)
	})
}

//export go_stream_synchronize
func go_stream_synchronize(stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_synchronize", err, func() error { return engine.SynchronizeStream(uint64(stream)) })
}

//export go_stream_close
func go_stream_close(stream C.dlaunch_stream, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_stream_close", err, func() error { return engine.Close(handles.Handle(stream), handles.Stream) })
}

//export go_event_create
func go_event_create(device C.int32_t, flags C.uint32_t, out *C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_create", err, func() error {
		if out == nil {
			return null("out")
		}
		h, err := engine.CreateEvent(int(device), uint32(flags))
		return put(out, C.dlaunch_event(h), err)
	})
}

//export go_event_record
func go_event_record(event C.dlaunch_event, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_record", err, func() error { return engine.RecordEvent(handles.Handle(event), uint64(stream)) })
}

//export go_event_wait
func go_event_wait(event C.dlaunch_event, stream C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_wait", err, func() error { return engine.WaitEvent(handles.Handle(event), uint64(stream)) })
}

//export go_event_synchronize
func go_event_synchronize(event C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_synchronize", err, func() error { return engine.SynchronizeEvent(handles.Handle(event)) })
}

//export go_event_query
func go_event_query(event C.dlaunch_event, done *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_query", err, func() error {
		if err := engine.Check(handles.Handle(event), handles.Event); err != nil {
			return err
		}
		if done == nil {
			return null("done")
		}
		happened, err := engine.QueryEvent(handles.Handle(event))
		value := C.int32_t(0)
		if happened {
			value = 1
		}
		return put(done, value, err)
	})
}

//export go_event_elapsed
func go_event_elapsed(start, end C.dlaunch_event, milliseconds *C.float, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_elapsed", err, func() error {
		for _, h := range []C.dlaunch_event{start, end} {
			if err := engine.Check(handles.Handle(h), handles.Event); err != nil {
				return err
			}
		}
		if milliseconds == nil {
			return null("milliseconds")
		}
		ms, err := engine.Elapsed(handles.Handle(start), handles.Handle(end))
		return put(milliseconds, C.float(ms), err)
	})
}

//export go_event_close
func go_event_close(event C.dlaunch_event, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_event_close", err, func() error { return engine.Close(handles.Handle(event), handles.Event) })
}

//export go_synchronize
func go_synchronize(device C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_synchronize", err, func() error { return engine.Synchronize(int(device)) })
}

//export go_retire
func go_retire(handle C.uint64_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_retire", err, func() error { return engine.Retire(handles.Handle(handle)) })
}

//export go_drain
func go_drain(err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_drain", err, func() error { return engine.Drain() })
}

//export go_report
func go_report(buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_report", err, func() error { return putString(buf, size, needed, engine.Report()) })
}
