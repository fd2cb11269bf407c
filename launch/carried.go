package launch

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// carriedPrefix begins the names of the variables that DLAUNCH_PROTOTYPE
// (dlaunch_device.cuh) makes; the kernel's name follows.
const carriedPrefix = "dlaunch_prototype_"

// mostCarried bounds a prototype's text, which is copied out of the image.
const mostCarried = 1 << 16

// carried holds the prototypes that an image carries, by kernel. The members of
// a fatbin may carry several for one kernel, which is at fault only if they differ.
type carried map[string][]string

func (c carried) add(variable string, value []byte) {
	value, _, _ = bytes.Cut(value, []byte{0})
	if len(value) > mostCarried || !utf8.Valid(value) {
		return
	}
	kernel, text := strings.TrimPrefix(variable, carriedPrefix), string(value)
	if !slices.Contains(c[kernel], text) {
		c[kernel] = append(c[kernel], text)
	}
}

// prototype gives a kernel's, nil if the image has none.
func (c carried) prototype(kernel string) (*prototype.Prototype, error) {
	texts := c[kernel]
	if len(texts) == 0 {
		return nil, nil
	}
	if len(texts) > 1 {
		return nil, status.Errorf(status.Prototype, "kernel %q: the image carries prototypes that differ: %q and %q; give one", kernel, texts[0], texts[1])
	}
	proto, err := prototype.Parse(texts[0])
	if err == nil {
		err = proto.Agree(kernel)
	}
	if err != nil {
		return nil, carriedError(kernel, err)
	}
	return proto, nil
}

// carriedError says whose the prototype is that an error is about.
func carriedError(kernel string, err error) error {
	var e *status.Error
	if !errors.As(err, &e) || e.Code != status.Prototype && e.Code != status.Unsupported {
		return err // the driver's, of the kernel
	}
	said := *e
	said.Message = fmt.Sprintf("kernel %q: the prototype that the image carries (DLAUNCH_PROTOTYPE) cannot be used; give one, or correct it: %s", kernel, e.Message)
	return &said
}
