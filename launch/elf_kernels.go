package launch

import (
	"encoding/binary"
	"slices"
	"strings"

	"dlaunch/internal/status"
)

// wantedKinds gives what a cubin's section of a name can be, nil if that is not
// known: in most cases one kind in a complete program, another in code to be linked.
func wantedKinds(name string) []uint32 {
	for _, known := range []struct {
		beginning string // longer ones first
		kinds     []uint32
	}{
		{".text.", []uint32{sectionContent}},
		{".shstrtab", []uint32{sectionTexts}},
		{".strtab", []uint32{sectionTexts}},
		{".symtab", []uint32{sectionSymbols}},
		{".rela.", []uint32{sectionAddend}},
		{".rel.", []uint32{sectionRelocation}},
		{".note.", []uint32{sectionNote}},
		{".nv.info", []uint32{sectionInfo}},
		{".nv.compat", []uint32{sectionCompat}},
		{".nv.callgraph", []uint32{sectionCalls}},
		{".nv.prototype", []uint32{sectionPrototypes}},
		{".nv.global.init", []uint32{sectionContent, sectionInitial}},
		{".nv.global", []uint32{sectionNothing, sectionGlobal}},
		{".nv.shared.", []uint32{sectionNothing, sectionShared, sectionReserved}},
		{".nv.constant", []uint32{sectionContent, sectionConstant0 + bank(name)}},
	} {
		if strings.HasPrefix(name, known.beginning) {
			return known.kinds
		}
	}
	return nil
}

// bank gives the number in .nv.constant2.NAME.
func bank(name string) uint32 {
	number := uint32(0)
	for _, digit := range strings.TrimPrefix(name, ".nv.constant") {
		if digit < '0' || digit > '9' {
			break
		}
		number = 10*number + uint32(digit-'0')
	}
	return number
}

// kinds checks that sections are what their names say.
func (f *elfFile) kinds() error {
	for i := range f.sections {
		s := &f.sections[i]
		wanted := wantedKinds(s.name)
		if wanted != nil && !slices.Contains(wanted, s.kind) {
			return f.damaged(s, "is of kind %#x; %#x is wanted", s.kind, wanted[0])
		}
		if wanted == nil && s.flags&ofMercury == 0 && (entryBytes(s.kind) > 0 || s.isRecords()) {
			return f.damaged(s, "is of kind %#x, which has another name", s.kind)
		}
	}
	return nil
}

// isRecords tells the sections that are read by their names.
func (s *section) isRecords() bool {
	return s.kind == sectionNote || s.kind == sectionInfo || s.kind == sectionCompat
}

// function gives NAME where a section is of one function: .text.NAME,
// .nv.info.NAME, .nv.constant0.NAME, .nv.shared.NAME.
func (s *section) function() (name string, told bool) {
	for _, beginning := range []string{".text.", ".nv.info.", ".nv.shared."} {
		if name, told = strings.CutPrefix(s.name, beginning); told {
			return name, true
		}
	}
	if rest, constant := strings.CutPrefix(s.name, ".nv.constant"); constant {
		_, name, told = strings.Cut(rest, ".")
	}
	return name, told
}

// ofFunctions checks that the sections of a function tell which it is: code by
// its symbol, the others by the section of its code.
func (f *elfFile) ofFunctions() error {
	for i := range f.sections {
		s := &f.sections[i]
		name, told := s.function()
		if !told || s.info == 0 && strings.HasPrefix(s.name, ".nv.shared.") { // reserved for all
			continue
		}
		if strings.HasPrefix(s.name, ".text.") {
			const symbolMask = 0xffffff // above is the number of registers, before CUDA 13
			symbol := f.symbol(s.info & symbolMask)
			if symbol == nil || int(binary.LittleEndian.Uint16(symbol[6:])) != i || symbol[4]&15 != symbolFunction {
				return f.damaged(s, "is said to be symbol %d, which is no function in it", s.info&symbolMask)
			}
			continue
		}
		if code := f.at(s.info); code == nil || code.name != ".text."+name {
			return f.damaged(s, "is said to be of section %d, which is not %q", s.info, ".text."+name)
		}
	}
	return nil
}

// symbol gives an entry of the table of symbols, nil if there is none.
func (f *elfFile) symbol(number uint32) []byte {
	for i := range f.sections {
		if s := &f.sections[i]; s.kind == sectionSymbols && uint64(number) < s.size/symbolBytes {
			return s.bytes[uint64(number)*symbolBytes:][:symbolBytes]
		}
	}
	return nil
}

// named gives a section by its name, nil if there is none.
func (f *elfFile) named(name string) *section {
	number, there := f.numbers[name]
	if !there {
		return nil
	}
	return &f.sections[number]
}

// kernels checks that each has its code, its attributes and its parameters.
func (f *elfFile) kernels() error {
	return f.entries(sectionSymbols, func(s *section, entry []byte) error {
		number := binary.LittleEndian.Uint16(entry[6:])
		if entry[4]&15 != symbolFunction || entry[5]&symbolIsKernel == 0 || number == 0 || number >= firstReserved {
			return nil
		}
		name := textAt(f.sections[s.link].bytes, binary.LittleEndian.Uint32(entry))
		for _, beginning := range []string{".text.", ".nv.info.", ".nv.constant0."} {
			its := f.named(beginning + name)
			if its == nil || beginning == ".text." && its != f.at(uint32(number)) {
				return status.Errorf(status.Image, "the %s is damaged: its kernel %q has no section %q", f.what, name, beginning+name)
			}
		}
		return nil
	})
}

// calls checks the pairs of symbols that say who calls whom, and the symbols with
// the name of what they are called like.
func (f *elfFile) calls() error {
	const firstSpecial = 0xfffffff0 // calls by pointer, of unknown functions ...
	word := binary.LittleEndian
	err := f.entries(sectionCalls, func(s *section, entry []byte) error {
		caller, called := uint64(word.Uint32(entry)), uint64(word.Uint32(entry[4:]))
		if caller >= f.symbols || called >= f.symbols && called < firstSpecial {
			return f.damaged(s, "says that symbol %d calls %d; there are %d", caller, called, f.symbols)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f.entries(sectionPrototypes, func(s *section, entry []byte) error {
		names := f.at(f.at(s.link).link)
		if uint64(word.Uint32(entry)) >= f.symbols || uint64(word.Uint32(entry[4:])) >= names.size {
			return f.damaged(s, "has a symbol or a name that is not there")
		}
		return nil
	})
}
