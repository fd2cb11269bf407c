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

// What is asked of a kernel: its attributes, its occupancy, the driver's handle.

// ask answers a question about a kernel: a handle's fault comes before a NULL out.
func ask[T any](function string, kernel C.dlaunch_kernel, out *T, err *C.dlaunch_error, answer func(h handles.Handle) (T, error)) C.dlaunch_status {
	return guard(function, err, func() error {
		if err := engine.Check(handles.Handle(kernel), handles.Kernel); err != nil {
			return err
		}
		if out == nil {
			return null("out")
		}
		value, err := answer(handles.Handle(kernel))
		return put(out, value, err)
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
	return ask("dlaunch_kernel_native", kernel, out, err, func(h handles.Handle) (C.uint64_t, error) {
		native, err := engine.KernelNative(h)
		return C.uint64_t(native), err
	})
}

//export go_kernel_name
func go_kernel_name(kernel C.dlaunch_kernel, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_name", err, func() error {
		name, err := engine.NameOfKernel(handles.Handle(kernel))
		if err != nil {
			return err
		}
		return putString(buf, size, needed, name)
	})
}

//export go_kernel_load
func go_kernel_load(kernel C.dlaunch_kernel, device C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_load", err, func() error { return engine.LoadKernel(handles.Handle(kernel), int(device)) })
}

//export go_kernel_attribute
func go_kernel_attribute(kernel C.dlaunch_kernel, attribute, device C.int32_t, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_attribute", kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
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

//export go_kernel_max_active_blocks
func go_kernel_max_active_blocks(kernel C.dlaunch_kernel, device C.int32_t, threads C.uint32_t, shared C.size_t, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_active_blocks", kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		n, err := engine.MaxActiveBlocks(h, int(device), uint32(threads), uint64(shared))
		return C.int32_t(n), err
	})
}

//export go_kernel_max_potential_block_size
func go_kernel_max_potential_block_size(kernel C.dlaunch_kernel, device C.int32_t, base, perThread C.size_t, limit C.uint32_t, grid, block *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return guard("dlaunch_kernel_max_potential_block_size", err, func() error {
		if err := engine.Check(handles.Handle(kernel), handles.Kernel); err != nil {
			return err
		}
		if grid == nil {
			return null("min_grid")
		}
		if block == nil {
			return null("block")
		}
		g, b, err := engine.MaxPotentialBlockSize(handles.Handle(kernel), int(device), uint64(base), uint64(perThread), uint32(limit))
		return both(put(grid, C.int32_t(g), err), put(block, C.int32_t(b), err))
	})
}

//export go_kernel_available_shared_bytes
func go_kernel_available_shared_bytes(kernel C.dlaunch_kernel, device C.int32_t, blocks, threads C.uint32_t, out *C.size_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_available_shared_bytes", kernel, out, err, func(h handles.Handle) (C.size_t, error) {
		bytes, err := engine.AvailableShared(h, int(device), uint32(blocks), uint32(threads))
		return C.size_t(bytes), err
	})
}

//export go_kernel_max_cluster_size
func go_kernel_max_cluster_size(kernel C.dlaunch_kernel, device C.int32_t, config *C.dlaunch_config, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_cluster_size", kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		n, err := engine.MaxClusterSize(h, int(device), (*exec.Config)(unsafe.Pointer(config)))
		return C.int32_t(n), err
	})
}

//export go_kernel_max_active_clusters
func go_kernel_max_active_clusters(kernel C.dlaunch_kernel, device C.int32_t, config *C.dlaunch_config, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_active_clusters", kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		n, err := engine.MaxActiveClusters(h, int(device), (*exec.Config)(unsafe.Pointer(config)))
		return C.int32_t(n), err
	})
}
