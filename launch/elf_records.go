package launch

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// notes checks that the records of a note fill it: two sizes, a kind, and what has
// these sizes, each up to a multiple of four bytes.
func (f *elfFile) notes() error {
	const toolKind = 2000 // what made the cubin
	word := binary.LittleEndian
	for i := range f.sections {
		s := &f.sections[i]
		for rest := s.bytes; s.kind == sectionNote && len(rest) > 0; {
			if len(rest) < 12 {
				return f.damaged(s, "ends in %d bytes that are no record", len(rest))
			}
			owner, size := uint64(word.Uint32(rest)), uint64(word.Uint32(rest[4:]))
			record := 12 + (owner+3)&^3 + (size+3)&^3
			if record > uint64(len(rest)) {
				return f.damaged(s, "has a record of %d bytes in the last %d", record, len(rest))
			}
			if bytes.Equal(rest[12:12+owner], []byte("NVIDIA Corp\x00")) && word.Uint32(rest[8:]) == toolKind && !isToolNote(rest[12+(owner+3)&^3:][:size]) {
				return f.damaged(s, "has a record of texts, which lie outside")
			}
			rest = rest[record:]
		}
	}
	return nil
}

// isToolNote says whether a version, five places of texts, and the texts are that.
func isToolNote(record []byte) bool {
	const texts = 24
	if len(record) <= texts || record[len(record)-1] != 0 {
		return false
	}
	for at := 4; at < texts; at += 4 {
		if uint64(binary.LittleEndian.Uint32(record[at:])) >= uint64(len(record)-texts) {
			return false
		}
	}
	return true
}

// What the value of an attribute is, where that is known.
const (
	valueSymbol       = iota + 1 // a symbol, and a number
	valueSymbols                 // any number of them
	valueInstructions            // places in the function's code
	valueParameters              // a symbol, and where its parameters lie in constant bank 0
	valueParameter               // the number of one, its place and its size
	valueNumber                  // something of four bytes
)

// attributeValue gives that of the EIATTR_ attributes in .nv.info.
func attributeValue(attribute byte) int {
	switch attribute {
	case 0x11, 0x12, 0x23, 0x2f: // FRAME_SIZE, MIN_STACK_SIZE, MAX_STACK_SIZE, REGCOUNT
		return valueSymbol
	case 0x0f: // EXTERNS
		return valueSymbols
	case 0x1c, 0x1d, 0x28, 0x31: // EXIT, S2RCTAID, COOP_GROUP, INT_WARP_WIDE_INSTR_OFFSETS
		return valueInstructions
	case 0x0a: // PARAM_CBANK
		return valueParameters
	case 0x17: // KPARAM_INFO
		return valueParameter
	case 0x1e, 0x36, 0x37: // CRS_STACK_SIZE, SW_WAR, CUDA_API_VERSION
		return valueNumber
	}
	return 0
}

// attributes checks that the records of .nv.info and .nv.compat fill them: a form,
// an attribute and two bytes, which form 4 says to be the size of the value behind.
func (f *elfFile) attributes() error {
	const formSized = 4
	for i := range f.sections {
		s := &f.sections[i]
		if s.kind != sectionInfo && s.kind != sectionCompat {
			continue
		}
		for rest := s.bytes; len(rest) > 0; {
			if len(rest) < 4 || rest[0] == 0 || rest[0] > formSized {
				return f.damaged(s, "has at byte %d no attribute", len(s.bytes)-len(rest))
			}
			attribute, value := rest[1], []byte(nil)
			size := uint64(binary.LittleEndian.Uint16(rest[2:]))
			if rest[0] == formSized {
				var whole bool
				if value, whole = within(rest, 4, size); !whole {
					return f.damaged(s, "has attribute %#x of %d bytes in the last %d", attribute, size, len(rest))
				}
			}
			rest = rest[4+len(value):]
			if s.kind == sectionInfo && value != nil && !f.isValue(attributeValue(attribute), value, s) {
				return f.damaged(s, "has attribute %#x, whose value % x cannot be", attribute, value[:min(16, len(value))])
			}
		}
	}
	return nil
}

// isValue says whether bytes are a value of an attribute of s.
func (f *elfFile) isValue(kind int, value []byte, s *section) bool {
	words := make([]uint64, 0, len(value)/4)
	for rest := value; len(rest) >= 4; rest = rest[4:] {
		words = append(words, uint64(binary.LittleEndian.Uint32(rest)))
	}
	const mostParameters, mostParameterBytes = 32764, 32764
	noSymbol := func(word uint64) bool { return word >= f.symbols }
	switch kind {
	case valueSymbol:
		return len(value) == 8 && !noSymbol(words[0])
	case valueSymbols:
		return len(value)%4 == 0 && !slices.ContainsFunc(words, noSymbol)
	case valueInstructions:
		code := f.at(s.info)
		return len(value)%4 == 0 && !slices.ContainsFunc(words, func(at uint64) bool { return at >= code.size })
	case valueParameters:
		_, name, _ := strings.Cut(s.name, ".nv.info.")
		bank := f.named(".nv.constant0." + name)
		return len(value) == 8 && !noSymbol(words[0]) && bank != nil && words[1]&0xffff+words[1]>>16 <= bank.size
	case valueParameter:
		return len(value) == 12 && words[1]&0xffff < mostParameters && words[1]>>16 <= mostParameterBytes
	case valueNumber:
		return len(value) == 4
	}
	return true
}
