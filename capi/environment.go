package main

/*
#include <stdlib.h>
*/
import "C"

import "unsafe"

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
