package main

/*
#include "exec.h"
*/
import "C"

import (
	"unsafe"

	"dlaunch/internal/driver"
)

// go_simulated_pointer has cuPointerGetAttributes' signature; what it does not know
// is 0, as the driver has it.
//
//export go_simulated_pointer
func go_simulated_pointer(count C.uint32_t, ids *C.int32_t, to *unsafe.Pointer, address C.uint64_t) C.int32_t {
	start, size, found := running.simulator.Allocation(uint64(address))
	for i, id := range unsafe.Slice(ids, count) {
		at := unsafe.Slice(to, count)[i]
		switch {
		case !found:
		case id == C.DL_ALLOCATION_CONTEXT:
			*(*uint64)(at) = 1
		case id == C.DL_ALLOCATION_MEMORY_TYPE:
			*(*uint32)(at) = C.DL_MEMORY_DEVICE
		case id == C.DL_ALLOCATION_DEVICE_ORDINAL:
			*(*int32)(at) = 0
		case id == C.DL_ALLOCATION_RANGE_START:
			*(*uint64)(at) = start
		case id == C.DL_ALLOCATION_RANGE_SIZE:
			*(*uint64)(at) = size
		}
	}
	return C.int32_t(driver.ResultSuccess)
}
