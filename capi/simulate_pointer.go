package main

/*
#include <stdint.h>
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
	const context, memoryType, ordinal, rangeStart, rangeSize = 1, 2, 9, 11, 12 // CUpointer_attribute
	const device = 2                                                            // CU_MEMORYTYPE_DEVICE
	start, size, found := running.simulator.Allocation(uint64(address))
	for i, id := range unsafe.Slice(ids, count) {
		at := unsafe.Slice(to, count)[i]
		switch {
		case !found:
		case id == context:
			*(*uint64)(at) = 1
		case id == memoryType:
			*(*uint32)(at) = device
		case id == ordinal:
			*(*int32)(at) = 0
		case id == rangeStart:
			*(*uint64)(at) = start
		case id == rangeSize:
			*(*uint64)(at) = size
		}
	}
	return C.int32_t(driver.ResultSuccess)
}
