package driver

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// symbols resolves a driver library's functions, and notes what it lacks.
type symbols struct {
	library uintptr
	absent  []string // required
	missing []string // optional, with the version that brings each
}

// function is one driver function; address 0 answers ResultNotSupported.
type function struct{ address uintptr }

// required is a function of driver 12.0 or older.
func (s *symbols) required(name string) function {
	f := s.optional(name, 0)
	if f.address == 0 {
		s.absent = append(s.absent, name)
	}
	return f
}

// optional is a function that a version (1000*major + 10*minor) brings.
func (s *symbols) optional(name string, since int) function {
	address, err := purego.Dlsym(s.library, name)
	if err != nil {
		if since != 0 {
			s.missing = append(s.missing, fmt.Sprintf("%s (%d.%d)", name, since/1000, since%1000/10))
		}
		return function{}
	}
	return function{address}
}

// call calls the function. Go memory whose address is among the arguments is
// pinned by the caller.
func (f function) call(args ...uintptr) Result {
	if f.address == 0 {
		return ResultNotSupported
	}
	r, _, _ := purego.SyscallN(f.address, args...)
	return Result(int32(r))
}
