package launch

import "encoding/binary"

// entryBytes is the size of an entry where a section is a table, else 0.
func entryBytes(kind uint32) uint64 {
	switch kind {
	case sectionSymbols, sectionAddend:
		return 24
	case sectionRelocation:
		return 16
	case sectionCalls, sectionPrototypes:
		return 8
	}
	return 0
}

// links checks that sections which are about others name some that are there.
func (f *elfFile) links() error {
	const infoLink = 0x40 // SHF_INFO_LINK
	for i := range f.sections {
		s := &f.sections[i]
		isSection := s.flags&infoLink != 0 || s.kind == sectionInfo // which has no flag in older files
		if f.at(s.link) == nil || isSection && f.at(s.info) == nil {
			return f.damaged(s, "is about sections %d and %d; there are %d", s.link, s.info, len(f.sections))
		}
		if s.name == ".nv.info" && s.info != 0 {
			return f.damaged(s, "is said to be of section %d; it is of all", s.info)
		}
	}
	return nil
}

// tables checks that they have whole entries, and which other sections they are about.
func (f *elfFile) tables() error {
	for i := range f.sections {
		s := &f.sections[i]
		each := entryBytes(s.kind)
		if each == 0 {
			continue
		}
		if s.each != each || s.size%each != 0 {
			return f.damaged(s, "has %d bytes in entries of %d; entries of %d are wanted", s.size, s.each, each)
		}
		about, wanted := f.at(s.link), uint32(sectionSymbols)
		if s.kind == sectionSymbols {
			wanted = sectionTexts
			f.symbols += s.size / each
		}
		if about == nil || about.kind != wanted || wanted == sectionTexts && !about.isTexts() {
			return f.damaged(s, "is about section %d, which is no table of %s", s.link, map[uint32]string{sectionSymbols: "symbols", sectionTexts: "names"}[wanted])
		}
	}
	return nil
}

// at gives a section by its number, nil if there is none.
func (f *elfFile) at(number uint32) *section {
	if uint64(number) >= uint64(len(f.sections)) {
		return nil
	}
	return &f.sections[number]
}

// entries calls check with each entry of every section of a kind.
func (f *elfFile) entries(kind uint32, check func(s *section, entry []byte) error) error {
	for i := range f.sections {
		s := &f.sections[i]
		if s.kind != kind {
			continue
		}
		for rest, each := s.bytes, entryBytes(kind); len(rest) > 0; rest = rest[each:] {
			if err := check(s, rest); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *elfFile) symbolTables() error {
	word := binary.LittleEndian
	return f.entries(sectionSymbols, func(s *section, entry []byte) error {
		name, number := word.Uint32(entry), word.Uint16(entry[6:])
		if uint64(name) >= f.sections[s.link].size {
			return f.damaged(s, "has a symbol whose name lies outside")
		}
		if number == 0 || number >= firstReserved {
			return nil
		}
		holder := f.at(uint32(number))
		if holder == nil {
			return f.damaged(s, "has a symbol in section %d; there are %d", number, len(f.sections))
		}
		at, size := word.Uint64(entry[8:])-holder.address, word.Uint64(entry[16:])
		if holder.inFile() && (at+size < at || at+size > holder.size) {
			return f.damaged(s, "has a symbol (%q) that lies outside of section %q", textAt(f.sections[s.link].bytes, name), holder.name)
		}
		return nil
	})
}

func (f *elfFile) relocations() error {
	const (
		mostKinds   = 128 // CUDA 13.4 has some 120, hosts fewer
		executed    = 4   // SHF_EXECINSTR
		instruction = 8   // bytes; since sm_70 twice as many
	)
	device := elfMachine(f.bytes) == machineCUDA
	word := binary.LittleEndian
	check := func(s *section, entry []byte) error {
		target := f.at(s.info)
		at, kind, symbol := word.Uint64(entry), word.Uint32(entry[8:]), word.Uint32(entry[12:])
		switch {
		case target == nil || at-target.address >= target.size:
			return f.damaged(s, "has a relocation of what is not there")
		case device && target.flags&executed != 0 && at%instruction != 0, device && target.size-(at-target.address) < 4:
			return f.damaged(s, "has a relocation at %d, where no instruction or number begins", at)
		case uint64(symbol) >= f.sections[s.link].size/symbolBytes:
			return f.damaged(s, "has a relocation by symbol %d, which is not there", symbol)
		case kind >= mostKinds:
			return f.damaged(s, "has a relocation of kind %d, which is not known", kind)
		}
		return nil
	}
	if err := f.entries(sectionRelocation, check); err != nil {
		return err
	}
	return f.entries(sectionAddend, check)
}
