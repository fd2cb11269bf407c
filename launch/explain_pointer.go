package launch

import (
	"fmt"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
)

// explainPointer words what a look at the tensor's memory found.
func explainPointer(f exec.Fault) string {
	switch f.Reason {
	case exec.PointerGone:
		return fmt.Sprintf("the driver knows no memory at %#x, where it has elements: it was freed, or is the host's", uint64(f.Found))
	case exec.PointerMemory:
		if f.Wanted == exec.MemoryHost {
			return "it says that it is in page-locked host memory, but that memory is a device's"
		}
		return "it says that it is in device memory, but that memory is the host's"
	case exec.PointerDevice:
		return fmt.Sprintf("it says that it is on device %d, but its memory is of device %d", f.Wanted, f.Found)
	case exec.PointerRange:
		if f.Axis == 0 {
			return fmt.Sprintf("it begins %d bytes before its allocation of %d bytes", f.Found, f.Wanted)
		}
		return fmt.Sprintf("it reaches %d bytes past the end of its allocation of %d bytes", f.Found, f.Wanted)
	}
	r := driver.Result(f.DriverCode)
	return "its memory could not be looked up: " + driverError("cuPointerGetAttributes", r).Message
}
