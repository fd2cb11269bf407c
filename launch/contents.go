package launch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
	"dlaunch/internal/status"
)

// contents is what images say of themselves, as far as they can be read.
type contents struct {
	texts         []*ptx.Image // their PTX
	machine       bool         // there is more than PTX text
	architectures []string     // "sm_90" of machine code, "compute_75" of PTX, "lto_90" of LTO IR
	globals       []string     // variables
	known         map[string]bool
	unread        bool // a part of it is IR, or in an object: there may be more variables
	carried       carried
}

// contentsOf reads images that were examined. What cannot be read all the same is
// passed over, for the driver to judge.
func contentsOf(images ...*image) *contents {
	c := newContents()
	for _, im := range images {
		if im.text == nil {
			c.machine = true
			c.read(im.bytes)
			continue
		}
		c.texts = append(c.texts, im.text)
		c.readPTX(im.bytes, im.text)
	}
	return c
}

func newContents() *contents { return &contents{known: map[string]bool{}, carried: carried{}} }

func (c *contents) read(image []byte) {
	switch kindOf(image) {
	case driver.LinkPTX:
		if described, err := ptx.Inspect(bytes.TrimRight(image, "\x00")); err == nil {
			c.readPTX(image, described)
		}
	case driver.LinkCubin:
		if sm := cubinArchitecture(image); sm != 0 {
			c.addArchitecture(fmt.Sprintf("sm_%d", sm))
		}
		for _, v := range cubinVariables(image) {
			c.addGlobal(v.name)
			if v.value != nil && strings.HasPrefix(v.name, carriedPrefix) {
				c.carried.add(v.name, v.value)
			}
		}
	case driver.LinkFatbin:
		for _, m := range fatbinMembers(image) {
			c.readMember(m)
		}
	default:
		c.unread = true
	}
}

func (c *contents) readMember(m member) {
	prefix, known := map[uint16]string{memberPTX: "compute_", memberCubin: "sm_", memberLTOIR: "lto_"}[m.kind]
	if known {
		c.addArchitecture(fmt.Sprintf("%s%d", prefix, m.architecture))
	}
	content, _ := m.content()
	if !known || content == nil || m.kind == memberLTOIR || bytes.HasPrefix(content, fatbinMagic) {
		c.unread = true
		return
	}
	inner := newContents() // whose architecture is the member's
	inner.carried = c.carried
	inner.read(content)
	for _, name := range inner.globals {
		c.addGlobal(name)
	}
}

func (c *contents) readPTX(image []byte, described *ptx.Image) {
	c.addArchitecture(strings.Replace(described.Target, "sm_", "compute_", 1))
	for _, name := range described.Globals {
		c.addGlobal(name)
	}
	if bytes.Contains(image, []byte(carriedPrefix)) {
		for name, text := range ptx.Bytes(bytes.TrimRight(image, "\x00"), carriedPrefix) {
			c.carried.add(name, []byte(text))
		}
	}
}

func (c *contents) addArchitecture(name string) {
	if name != "" && !slices.Contains(c.architectures, name) {
		c.architectures = append(c.architectures, name)
	}
}

// addGlobal leaves out what compilers name for themselves.
func (c *contents) addGlobal(name string) {
	if c.known[name] || strings.HasPrefix(name, "$") || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "__nv_") || strings.HasPrefix(name, carriedPrefix) {
		return
	}
	c.known[name] = true
	c.globals = append(c.globals, name)
}

// entry gives what the PTX declares of a kernel, nil if it is unknown.
func (c *contents) entry(name string) *ptx.Entry {
	for _, text := range c.texts {
		for i := range text.Entries {
			if text.Entries[i].Name == name {
				return &text.Entries[i]
			}
		}
	}
	return nil
}

// entryNames are the kernels of the PTX.
func (c *contents) entryNames() []string {
	var names []string
	for _, text := range c.texts {
		for i := range text.Entries {
			if name := text.Entries[i].Name; !slices.Contains(names, name) { // a weak one may be in several
				names = append(names, name)
			}
		}
	}
	return names
}

// cubinArchitecture reads the SM number from a cubin's ELF flags: the low byte,
// or in the newer ABI (CUDA 13) the second; 0 when it is neither.
func cubinArchitecture(image []byte) uint32 {
	if len(image) < elfHeaderBytes {
		return 0
	}
	flags := binary.LittleEndian.Uint32(image[48:])
	for _, arch := range []uint32{flags & 0xff, flags >> 8 & 0xff} {
		if arch >= 50 && arch <= 130 {
			return arch
		}
	}
	return 0
}

// Architectures tells what a library has code for, with blanks between.
func (e *Engine) Architectures(h handles.Handle) (string, error) {
	entry, err := e.table.Get(h, handles.Library)
	if err != nil {
		return "", err
	}
	return strings.Join(entry.Value.(*library).architectures, " "), nil
}

// GlobalName gives the symbol of variable index.
func (e *Engine) GlobalName(h handles.Handle, index int) (string, error) {
	entry, err := e.table.Get(h, handles.Library)
	if err != nil {
		return "", err
	}
	lib := entry.Value.(*library)
	if lib.unread {
		return "", status.Errorf(status.Unsupported, "a part of %s is LTO IR, or of a kind that is not known, so that its variables cannot be listed; the driver finds them by name", lib.label)
	}
	if index >= len(lib.globals) {
		return "", status.Errorf(status.NotFound, "the library has %d variables; there is none with index %d", len(lib.globals), index)
	}
	return lib.globals[index], nil
}
