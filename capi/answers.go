package main

/*
#include <stddef.h>
#include "dlaunch.h"
*/
import "C"

import (
	"unicode/utf8"
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/status"
)

// ask answers a question about what a handle stands for: the handle's fault comes
// before a NULL out.
func ask[T any](function string, h handles.Handle, kind handles.Kind, out *T, err *C.dlaunch_error, answer func(h handles.Handle) (T, error)) C.dlaunch_status {
	return guard(function, err, func() error {
		if err := engine.Check(h, kind); err != nil {
			return err
		}
		if out == nil {
			return null("out")
		}
		value, err := answer(h)
		return put(out, value, err)
	})
}

// askText answers one whose answer is a string.
func askText(function string, buf *C.char, size C.size_t, needed *C.size_t, err *C.dlaunch_error, answer func() (string, error)) C.dlaunch_status {
	return guard(function, err, func() error {
		text, err := answer()
		if err != nil {
			return err
		}
		return putString(buf, size, needed, text)
	})
}

// put writes an out parameter, on success only.
func put[T any](out *T, value T, err error) error {
	if err == nil {
		*out = value
	}
	return err
}

// both gives the first error of two.
func both(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// truth is yes or no in C.
func truth(is bool) C.int32_t {
	if is {
		return 1
	}
	return 0
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
