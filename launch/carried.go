package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"dlaunch/internal/ptx"
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

// carriedBy finds them. The image has been examined; what cannot be read all the
// same is passed over, for the driver to judge.
func carriedBy(image []byte) carried {
	c := carried{}
	if bytes.Contains(image, []byte(carriedPrefix)) {
		c.read(image)
	}
	return c
}

func (c carried) read(image []byte) {
	switch {
	case bytes.HasPrefix(image, elfMagic):
		cubinVariables(image, carriedPrefix, c.add)
	case bytes.HasPrefix(image, fatbinMagic):
		fatbinMembers(image, c.read)
	case ptx.IsPTX(image):
		for name, text := range ptx.Bytes(bytes.TrimRight(image, "\x00"), carriedPrefix) {
			c.add(name, []byte(text))
		}
	}
}

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

// within gives a part of an image, if that has it all.
func within(image []byte, offset, size uint64) ([]byte, bool) {
	if end := offset + size; end < offset || end > uint64(len(image)) {
		return nil, false
	}
	return image[offset : offset+size], true
}

// cubinVariables gives the initial values of the variables whose names begin
// with prefix: those of .nv.global.init, .nv.constant3 and their like.
func cubinVariables(image []byte, prefix string, found func(name string, value []byte)) {
	const symbolTable, holdsNothing, symbolBytes = 2, 8, 24
	sections := cubinSections(image)
	for _, table := range sections {
		if table.kind != symbolTable || uint64(table.link) >= uint64(len(sections)) {
			continue
		}
		names := sections[table.link].bytes
		for symbols := table.bytes; len(symbols) >= symbolBytes; symbols = symbols[symbolBytes:] {
			at, index := binary.LittleEndian.Uint32(symbols), int(binary.LittleEndian.Uint16(symbols[6:]))
			if uint64(at) >= uint64(len(names)) || index >= len(sections) || !bytes.HasPrefix(names[at:], []byte(prefix)) {
				continue
			}
			name, _, ended := bytes.Cut(names[at:], []byte{0})
			holder := sections[index]
			offset, size := binary.LittleEndian.Uint64(symbols[8:]), binary.LittleEndian.Uint64(symbols[16:])
			value, whole := within(holder.bytes, offset-holder.address, size)
			if ended && whole && holder.kind != holdsNothing && utf8.Valid(name) {
				found(string(name), value)
			}
		}
	}
}

type section struct {
	kind, link uint32
	address    uint64 // 0 in what compilers make
	bytes      []byte // none where they are not within the image
}

func cubinSections(image []byte) []section {
	const headerBytes = 64
	word := binary.LittleEndian
	if len(image) < elfHeaderBytes {
		return nil
	}
	each, count := uint64(word.Uint16(image[58:])), uint64(word.Uint16(image[60:]))
	table, whole := within(image, word.Uint64(image[40:]), each*count)
	if !whole || each < headerBytes {
		return nil
	}
	sections := make([]section, 0, count)
	for ; len(table) > 0; table = table[each:] {
		content, _ := within(image, word.Uint64(table[24:]), word.Uint64(table[32:]))
		sections = append(sections, section{word.Uint32(table[4:]), word.Uint32(table[40:]), word.Uint64(table[16:]), content})
	}
	return sections
}

// fatbinMembers gives the images in a fatbin: each after a header that has its
// own size at 4 and the member's at 8. A compressed one comes as it is, and
// looks like no image.
func fatbinMembers(image []byte, found func(member []byte)) {
	const leastHeader = 16
	word := binary.LittleEndian
	if len(image) < fatbinHeaderBytes {
		return
	}
	rest, whole := within(image, uint64(word.Uint16(image[6:])), word.Uint64(image[8:]))
	for whole && len(rest) >= leastHeader {
		header, size := uint64(word.Uint32(rest[4:])), word.Uint64(rest[8:])
		var member []byte
		if member, whole = within(rest, header, size); !whole || header < leastHeader {
			return
		}
		if !bytes.HasPrefix(member, fatbinMagic) { // one within another is not looked into
			found(member)
		}
		rest = rest[header+size:]
	}
}
