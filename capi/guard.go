package main

/*
#cgo CFLAGS: -DDLAUNCH_OWN_DLPACK
#include "dlaunch.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"dlaunch/internal/status"
)

// guard runs one export's body: whatever comes of it, an error or a panic, ends
// as a status, and in the caller's dlaunch_error.
func guard(function string, err *C.dlaunch_error, body func() error) (code C.dlaunch_status) {
	defer func() {
		if cause := recover(); cause != nil {
			code = report(err, status.Errorf(status.Internal, "%s: a bug in dlaunch: %v\n%s", function, cause, debug.Stack()))
		}
	}()
	failure := body()
	if failure == nil {
		return C.DLAUNCH_OK
	}
	var known *status.Error
	if !errors.As(failure, &known) {
		known = status.Errorf(status.Internal, "%v", failure)
	}
	return report(err, named(function, known))
}

// named makes sure that a message begins with the function.
func named(function string, e *status.Error) *status.Error {
	if len(e.Message) > len(function) && e.Message[:len(function)] == function {
		return e
	}
	copied := *e
	copied.Message = fmt.Sprintf("%s: %s", function, e.Message)
	return &copied
}

// report fills the caller's struct, which the gate has checked.
func report(to *C.dlaunch_error, e *status.Error) C.dlaunch_status {
	if to == nil {
		return C.dlaunch_status(e.Code)
	}
	to.status = C.int32_t(e.Code)
	to.driver_code = C.int32_t(e.Driver)
	to.argument = C.int32_t(e.Argument)
	putText(&to.message[0], len(to.message), strings.ToValidUTF8(e.Message, "\uFFFD")) // names are any bytes
	return C.dlaunch_status(e.Code)
}

func null(name string) error { return status.Errorf(status.Argument, "%s is NULL", name) }

// structSize checks a struct that the caller fills.
func structSize(name string, given C.uint32_t, first uintptr) error {
	if uintptr(given) < first {
		return status.Errorf(status.Argument, "%s.struct_size is %d; sizeof of the struct, %d or more, is wanted", name, given, first)
	}
	return nil
}
