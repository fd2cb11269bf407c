// Package status holds the status codes of the public contract and the one
// error type that carries them. It knows nothing of CUDA, tensors or C.
package status

import "fmt"

// Code is a dlaunch_status: the values are those of include/dlaunch.h.
type Code int32

const (
	OK          Code = 0
	Argument    Code = 1
	Handle      Code = 2
	Tensor      Code = 3
	Config      Code = 4
	Image       Code = 5
	NotFound    Code = 6
	Prototype   Code = 7
	NoDriver    Code = 8
	Driver      Code = 9
	Fault       Code = 10
	Forked      Code = 11
	Unsupported Code = 12
	Memory      Code = 13
	Internal    Code = 14
)

var names = [...]string{
	OK: "DLAUNCH_OK", Argument: "DLAUNCH_ERROR_ARGUMENT", Handle: "DLAUNCH_ERROR_HANDLE",
	Tensor: "DLAUNCH_ERROR_TENSOR", Config: "DLAUNCH_ERROR_CONFIG", Image: "DLAUNCH_ERROR_IMAGE",
	NotFound: "DLAUNCH_ERROR_NOT_FOUND", Prototype: "DLAUNCH_ERROR_PROTOTYPE",
	NoDriver: "DLAUNCH_ERROR_NO_DRIVER", Driver: "DLAUNCH_ERROR_DRIVER", Fault: "DLAUNCH_ERROR_FAULT",
	Forked: "DLAUNCH_ERROR_FORKED", Unsupported: "DLAUNCH_ERROR_UNSUPPORTED",
	Memory: "DLAUNCH_ERROR_MEMORY", Internal: "DLAUNCH_ERROR_INTERNAL",
}

// String gives the name that the header has for the code.
func (c Code) String() string {
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("DLAUNCH_STATUS_%d", int32(c))
	}
	return names[c]
}

// NoArgument is Error.Argument when no single argument is at fault.
const NoArgument = -1

// Error is what every fallible function of dlaunch returns.
type Error struct {
	Code     Code
	Driver   int32 // the CUresult, or 0
	Argument int32 // the caller's kernel argument counted from 0, or NoArgument
	Message  string
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error that blames no single argument.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Argument: NoArgument, Message: fmt.Sprintf(format, args...)}
}

// At says which of the caller's arguments, counted from 0, is at fault.
func (e *Error) At(argument int) *Error {
	e.Argument = int32(argument)
	return e
}
