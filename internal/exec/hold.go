package exec

/*
#include "exec.h"
static uintptr_t ends(void) { return (uintptr_t)dl_hold_ends; }
static void end(uintptr_t hold) { dl_hold_ends((void *)hold); }
*/
import "C"

import "unsafe"

// Hold is the address of a record that goes to the driver with a user object: its
// id comes back by EndedHolds.
type Hold uintptr

// NewHold makes a record.
func NewHold(id uint64) (Hold, error) {
	hold := C.dl_hold_new(C.uint64_t(id))
	if hold == nil {
		return 0, outOfMemory()
	}
	return Hold(unsafe.Pointer(hold)), nil
}

// HoldEnds is the address of the C function that the driver ends a hold with.
func HoldEnds() uintptr { return uintptr(C.ends()) }

// End ends a hold that the driver did not take.
func (h Hold) End() { C.end(C.uintptr_t(h)) }

// EndedHolds gives the ids of those that have ended since it was last called.
func EndedHolds() []uint64 {
	var ids []uint64
	for list := C.dl_holds_ended(); list != nil; {
		ids = append(ids, uint64(C.dl_hold_take(&list)))
	}
	return ids
}
