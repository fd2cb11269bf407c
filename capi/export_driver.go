package main

/*
#include "dlaunch.h"
*/
import "C"

import (
	"unsafe"
)

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
