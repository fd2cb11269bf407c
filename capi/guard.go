package main

/*
#cgo CFLAGS: -DDLAUNCH_OWN_DLPACK
#include <string.h>
#include "dlaunch.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"
	"unsafe"

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

// putText copies a string, cut at a character, and ends it with NUL. size is at
// least 1, and may be more than there is memory.
func putText(to *C.char, size int, text string) {
	end := min(len(text), size-1)
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	room := unsafe.Slice((*byte)(unsafe.Pointer(to)), end+1)
	copy(room, text[:end])
	room[end] = 0
}

// putString answers a "strings out" parameter list.
func putString(buf *C.char, size C.size_t, needed *C.size_t, text string) error {
	wanted := C.size_t(len(text) + 1)
	if needed != nil {
		*needed = wanted
	}
	switch {
	case buf == nil && size == 0:
		return nil
	case buf == nil:
		return null("buf")
	case size < wanted:
		return status.Errorf(status.Argument, "the buffer has %d bytes, %d are needed", size, wanted)
	}
	putText(buf, int(wanted), text)
	return nil
}

func null(name string) error { return status.Errorf(status.Argument, "%s is NULL", name) }

// structSize checks a struct that the caller fills.
func structSize(name string, given C.uint32_t, first uintptr) error {
	if uintptr(given) < first {
		return status.Errorf(status.Argument, "%s.struct_size is %d; sizeof of the struct, %d or more, is wanted", name, given, first)
	}
	return nil
}
