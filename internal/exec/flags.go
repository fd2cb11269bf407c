package exec

/*
#include "exec.h"
*/
import "C"

// SetFlags says what DLPACK_FLAG_BITMASK_* a tensor has; before Publish.
func (t *Tensor) SetFlags(flags uint64) {
	t.c.flags = C.uint64_t(flags)
	t.c.in_order = t.c.in_order && flags == 0
}
