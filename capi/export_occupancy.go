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

//export go_kernel_max_active_blocks
func go_kernel_max_active_blocks(kernel C.dlaunch_kernel, device C.int32_t, threads C.uint32_t, shared C.size_t, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_active_blocks", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
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
	return ask("dlaunch_kernel_available_shared_bytes", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.size_t, error) {
		bytes, err := engine.AvailableShared(h, int(device), uint32(blocks), uint32(threads))
		return C.size_t(bytes), err
	})
}

//export go_kernel_max_cluster_size
func go_kernel_max_cluster_size(kernel C.dlaunch_kernel, device C.int32_t, config *C.dlaunch_config, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_cluster_size", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		n, err := engine.MaxClusterSize(h, int(device), (*exec.Config)(unsafe.Pointer(config)))
		return C.int32_t(n), err
	})
}

//export go_kernel_max_active_clusters
func go_kernel_max_active_clusters(kernel C.dlaunch_kernel, device C.int32_t, config *C.dlaunch_config, out *C.int32_t, err *C.dlaunch_error) C.dlaunch_status {
	return ask("dlaunch_kernel_max_active_clusters", handles.Handle(kernel), handles.Kernel, out, err, func(h handles.Handle) (C.int32_t, error) {
		n, err := engine.MaxActiveClusters(h, int(device), (*exec.Config)(unsafe.Pointer(config)))
		return C.int32_t(n), err
	})
}
