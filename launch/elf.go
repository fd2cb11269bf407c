package launch

import (
	"bytes"
	"encoding/binary"

	"dlaunch/internal/status"
)

var elfMagic = []byte("\x7fELF")

// What is read of the ELF format; CUDA's own are of cubins.
const (
	elfHeaderBytes = 64
	relocatable    = 1   // ET_REL
	executable     = 2   // ET_EXEC
	machineCUDA    = 190 // EM_CUDA

	sectionSymbols    = 2 // SHT_SYMTAB
	sectionNothing    = 8 // SHT_NOBITS
	symbolBytes       = 24
	firstReserved     = 0xff00 // SHN_LORESERVE: such a symbol is of no section
	symbolObject      = 1      // STT_OBJECT
	symbolCUDAObject  = 13     // what ptxas makes of variables that are linked later
	sectionRelocation = 9      // SHT_REL, entries of 16 bytes
	sectionAddend     = 4      // SHT_RELA, of 24
)

func elfType(image []byte) uint16    { return binary.LittleEndian.Uint16(image[16:]) }
func elfMachine(image []byte) uint16 { return binary.LittleEndian.Uint16(image[18:]) }

// isHostObject tells an object of a host compiler from a cubin.
func isHostObject(image []byte) bool {
	return len(image) >= elfHeaderBytes && bytes.HasPrefix(image, elfMagic) && elfMachine(image) != machineCUDA && elfType(image) == relocatable
}

// examineELF checks that the section and program tables, and all that they point
// to, lie within the image.
func examineELF(what string, image []byte) error {
	if len(image) < elfHeaderBytes {
		return truncated(what, len(image), elfHeaderBytes)
	}
	const class64, littleEndian = 2, 1
	if image[4] != class64 || image[5] != littleEndian {
		return status.Errorf(status.Image, "the image is an ELF file, but not a 64-bit little-endian one, as cubins are")
	}
	if machine := elfMachine(image); machine != machineCUDA && !isHostObject(image) {
		return status.Errorf(status.Image, "the image is an ELF file for machine %d; a cubin has %d (EM_CUDA): is it a host library?", machine, machineCUDA)
	}
	word := binary.LittleEndian
	for _, table := range []struct {
		at, each, count uint64
		offset, size    uint64 // of those fields in an entry
		holdsNothing    uint32 // the type whose size is not in the file
	}{
		{word.Uint64(image[40:]), uint64(word.Uint16(image[58:])), uint64(word.Uint16(image[60:])), 24, 32, sectionNothing},
		{word.Uint64(image[32:]), uint64(word.Uint16(image[54:])), uint64(word.Uint16(image[56:])), 8, 32, 0}, // segments: file size
	} {
		end := table.at + table.each*table.count
		if end < table.at || end > uint64(len(image)) {
			return truncated(what, len(image), end)
		}
		if table.count > 0 && table.each < table.size+8 {
			return status.Errorf(status.Image, "the %s's headers are %d bytes each; at least %d are wanted", what, table.each, table.size+8)
		}
		for i := range table.count {
			entry := image[table.at+i*table.each:]
			typeAt := 4
			if table.offset == 8 {
				typeAt = 0
			}
			offset, size := word.Uint64(entry[table.offset:]), word.Uint64(entry[table.size:])
			if t := word.Uint32(entry[typeAt:]); t == table.holdsNothing {
				continue
			}
			if offset+size < offset || offset+size > uint64(len(image)) {
				return truncated(what, len(image), offset+size)
			}
		}
	}
	return examineTables(what, elfSections(image))
}

// examineTables checks what symbols and relocations point to.
func examineTables(what string, sections []section) error {
	damaged := func(in section, points string) error {
		return status.Errorf(status.Image, "the %s is damaged: %s in its section %q points outside", what, points, in.name)
	}
	for _, s := range sections {
		switch s.kind {
		case sectionSymbols:
			if uint64(s.link) >= uint64(len(sections)) || !endsInNUL(sections[s.link].bytes) {
				return damaged(s, "the table of names")
			}
			names := uint64(len(sections[s.link].bytes))
			for symbols := s.bytes; len(symbols) >= symbolBytes; symbols = symbols[symbolBytes:] {
				name, index := binary.LittleEndian.Uint32(symbols), binary.LittleEndian.Uint16(symbols[6:])
				if uint64(name) >= names || int(index) >= len(sections) && index < firstReserved {
					return damaged(s, "a symbol")
				}
			}
		case sectionRelocation, sectionAddend:
			each := map[uint32]int{sectionRelocation: 16, sectionAddend: 24}[s.kind]
			if uint64(s.link) >= uint64(len(sections)) || uint64(s.info) >= uint64(len(sections)) {
				return damaged(s, "the section")
			}
			symbols, room := uint64(len(sections[s.link].bytes)/symbolBytes), sections[s.info].size
			for entries := s.bytes; len(entries) >= each; entries = entries[each:] {
				at, symbol := binary.LittleEndian.Uint64(entries), binary.LittleEndian.Uint64(entries[8:])>>32
				if symbol >= symbols || at-sections[s.info].address >= room {
					return damaged(s, "a relocation")
				}
			}
		}
	}
	return nil
}

func endsInNUL(text []byte) bool { return len(text) > 0 && text[len(text)-1] == 0 }

type section struct {
	name             string
	kind, link, info uint32
	address          uint64 // 0 in what compilers make
	size             uint64
	bytes            []byte // none where they are not within the image
}

func elfSections(image []byte) []section {
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
	sections, names := make([]section, 0, count), []uint32{}
	for ; len(table) > 0; table = table[each:] {
		content, _ := within(image, word.Uint64(table[24:]), word.Uint64(table[32:]))
		sections = append(sections, section{
			kind: word.Uint32(table[4:]), link: word.Uint32(table[40:]), info: word.Uint32(table[44:]),
			address: word.Uint64(table[16:]), size: word.Uint64(table[32:]), bytes: content,
		})
		names = append(names, word.Uint32(table))
	}
	if at := int(word.Uint16(image[62:])); at < len(sections) {
		for i := range sections {
			sections[i].name = textAt(sections[at].bytes, names[i])
		}
	}
	return sections
}

// textAt gives the text that begins there, "" if there is none.
func textAt(texts []byte, at uint32) string {
	if uint64(at) >= uint64(len(texts)) {
		return ""
	}
	text, _, ended := bytes.Cut(texts[at:], []byte{0})
	if !ended {
		return ""
	}
	return string(text)
}

// within gives a part of an image, if that has it all.
func within(image []byte, offset, size uint64) ([]byte, bool) {
	if end := offset + size; end < offset || end > uint64(len(image)) {
		return nil, false
	}
	return image[offset : offset+size], true
}

// variable is one of a cubin's, with its initial value.
type variable struct {
	name  string
	value []byte // none where it begins as zeros
}

// cubinVariables gives those of .nv.global, .nv.global.init, .nv.constant3 and
// their like.
func cubinVariables(image []byte) []variable {
	var found []variable
	sections := elfSections(image)
	for _, table := range sections {
		if table.kind != sectionSymbols || uint64(table.link) >= uint64(len(sections)) {
			continue
		}
		for symbols := table.bytes; len(symbols) >= symbolBytes; symbols = symbols[symbolBytes:] {
			index, kind := int(binary.LittleEndian.Uint16(symbols[6:])), symbols[4]&15
			name := textAt(sections[table.link].bytes, binary.LittleEndian.Uint32(symbols))
			if index == 0 || index >= len(sections) || name == "" || kind != symbolObject && kind != symbolCUDAObject {
				continue
			}
			holder := sections[index]
			offset, size := binary.LittleEndian.Uint64(symbols[8:]), binary.LittleEndian.Uint64(symbols[16:])
			v := variable{name: name}
			if holder.kind != sectionNothing {
				v.value, _ = within(holder.bytes, offset-holder.address, size)
			}
			found = append(found, v)
		}
	}
	return found
}
