package driver

import (
	"fmt"

	"github.com/ebitengine/purego"
)

// symbols resolves a driver library's functions, and notes what it lacks.
type symbols struct {
	library uintptr
	found   map[string]function
	absent  []string // required
	missing []string // optional, with the version that brings each
}

// function is one driver function; address 0 answers ResultNotSupported.
type function struct{ address uintptr }

func newSymbols(library uintptr) *symbols {
	return &symbols{library: library, found: map[string]function{}}
}

// required is a function of driver 12.0 or older.
func (s *symbols) required(name string) function {
	return s.look(name, func() { s.absent = append(s.absent, name) })
}

// optional is a function that a version brings, or that dlaunch can do without.
func (s *symbols) optional(name string, since int) function {
	return s.look(name, func() { s.missing = append(s.missing, fmt.Sprintf("%s (%s)", name, VersionText(since))) })
}

// look resolves a name once, and so notes once that it is not there.
func (s *symbols) look(name string, note func()) function {
	f, known := s.found[name]
	if known {
		return f
	}
	address, err := purego.Dlsym(s.library, name)
	if err != nil {
		note()
	}
	f = function{address}
	s.found[name] = f
	return f
}

// call calls the function. Go memory whose address is among the arguments is
// pinned by the caller.
func (f function) call(args ...uintptr) Result {
	if f.address == 0 {
		return ResultNotSupported
	}
	r, _, _ := purego.SyscallN(f.address, args...)
	return Result(int32(r)) // the upper half of the register is anything
}
