package main

/*
#include <stdlib.h>
*/
import "C"

import (
	"unsafe"

	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// environment reads a variable as it is now: Go's own copy is that of the process's
// beginning, which knows nothing of setenv or of Python's os.environ.
func environment(name string) (value string, set bool) {
	key := C.CString(name)
	defer C.free(unsafe.Pointer(key))
	found := C.getenv(key)
	if found == nil {
		return "", false
	}
	return C.GoString(found), true
}

// chosenChecks reads DLAUNCH_CHECK: what every launch checks beyond the usual.
func chosenChecks(text string) (uint32, error) {
	switch text {
	case "":
		return 0, nil
	case "pointers":
		return exec.CheckPointers, nil
	}
	return 0, status.Errorf(status.NoDriver, "DLAUNCH_CHECK is %q; pointers, or nothing, is wanted", text)
}

// refusesLateLoads reads DLAUNCH_CAPTURE_LOAD.
func refusesLateLoads(given string) (bool, error) {
	switch given {
	case "", "allow":
		return false, nil
	case "error":
		return true, nil
	}
	return false, status.Errorf(status.NoDriver, "DLAUNCH_CAPTURE_LOAD is %q; allow or error is wanted", given)
}
