package launch

import (
	"bytes"
	"encoding/binary"
	"slices"
)

var elfMagic = []byte("\x7fELF")

// What is read of the ELF format.
const (
	elfHeaderBytes     = 64
	sectionHeaderBytes = 64
	segmentBytes       = 56
	symbolBytes        = 24

	relocatable = 1   // ET_REL
	executable  = 2   // ET_EXEC
	machineCUDA = 190 // EM_CUDA

	firstReserved    = 0xff00 // SHN_LORESERVE: such a symbol is of no section
	manySections     = 0xffff // SHN_XINDEX: the first section's header has the number
	symbolObject     = 1      // STT_OBJECT
	symbolFunction   = 2      // STT_FUNC
	symbolCUDAObject = 13     // what ptxas makes of variables that are linked later
	symbolIsKernel   = 0x10   // STO_CUDA_ENTRY, in st_other
)

// Kinds of sections; from 0x70000000 on CUDA's own, in cubins.
const (
	sectionUnused     = 0
	sectionContent    = 1 // SHT_PROGBITS
	sectionSymbols    = 2
	sectionTexts      = 3
	sectionAddend     = 4 // SHT_RELA, relocations of 24 bytes
	sectionNote       = 7
	sectionNothing    = 8 // SHT_NOBITS
	sectionRelocation = 9 // SHT_REL, of 16
	sectionInfo       = 0x70000000
	sectionCalls      = 0x70000001
	sectionPrototypes = 0x70000002
	sectionGlobal     = 0x70000007 // like sectionNothing
	sectionInitial    = 0x70000008
	sectionShared     = 0x7000000a // like sectionNothing
	sectionReserved   = 0x70000015 // like sectionNothing
	sectionConstant0  = 0x70000064 // of bank 0; the other banks' follow
	sectionCompat     = 0x70000086

	// ofMercury is a flag of the second form that code has from sm_100 on, whose
	// sections share bytes with others.
	ofMercury = 0x10000000
)

func elfType(image []byte) uint16    { return binary.LittleEndian.Uint16(image[16:]) }
func elfMachine(image []byte) uint16 { return binary.LittleEndian.Uint16(image[18:]) }

// isHostObject tells an object of a host compiler from a cubin.
func isHostObject(image []byte) bool {
	return len(image) >= elfHeaderBytes && bytes.HasPrefix(image, elfMagic) && elfMachine(image) != machineCUDA && elfType(image) == relocatable
}

type section struct {
	name             string
	kind, link, info uint32
	flags            uint64
	address          uint64 // 0 in what compilers make
	offset, size     uint64
	align, each      uint64
	bytes            []byte // none where they are not within the image
}

// inFile says whether a section has its bytes in the file.
func (s *section) inFile() bool {
	return !slices.Contains([]uint32{sectionUnused, sectionNothing, sectionGlobal, sectionShared, sectionReserved}, s.kind)
}

// sectionTable tells where the section headers are, and which of them has the names.
func sectionTable(image []byte) (at, count uint64, names uint32) {
	word := binary.LittleEndian
	at, count, names = word.Uint64(image[40:]), uint64(word.Uint16(image[60:])), uint32(word.Uint16(image[62:]))
	if first, whole := within(image, at, sectionHeaderBytes); whole && at > 0 {
		if count == 0 {
			count = word.Uint64(first[32:])
		}
		if names == manySections {
			names = word.Uint32(first[40:])
		}
	}
	return at, count, names
}

func elfSections(image []byte) []section {
	word := binary.LittleEndian
	if len(image) < elfHeaderBytes || word.Uint16(image[58:]) != sectionHeaderBytes {
		return nil
	}
	at, count, namesAt := sectionTable(image)
	if count > uint64(len(image))/sectionHeaderBytes {
		return nil
	}
	table, whole := within(image, at, sectionHeaderBytes*count)
	if !whole {
		return nil
	}
	sections, names := make([]section, 0, count), make([]uint32, 0, count)
	for ; len(table) > 0; table = table[sectionHeaderBytes:] {
		s := section{
			kind: word.Uint32(table[4:]), flags: word.Uint64(table[8:]), address: word.Uint64(table[16:]),
			offset: word.Uint64(table[24:]), size: word.Uint64(table[32:]), link: word.Uint32(table[40:]), info: word.Uint32(table[44:]),
			align: word.Uint64(table[48:]), each: word.Uint64(table[56:]),
		}
		if s.kind != sectionNothing {
			s.bytes, _ = within(image, s.offset, s.size)
		}
		sections, names = append(sections, s), append(names, word.Uint32(table))
	}
	if uint64(namesAt) < count {
		for i := range sections {
			sections[i].name = textAt(sections[namesAt].bytes, names[i])
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
