package launch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"dlaunch/internal/status"
)

// elfFile is a cubin, or a host's object, that is examined.
type elfFile struct {
	what     string // for messages
	bytes    []byte
	sections []section
	numbers  map[string]int // of sections, by their names
	symbols  uint64         // how many it has
}

// examineELF checks that the headers, and all tables that sections are known to
// hold, point to what is there. What code does is not looked at.
func examineELF(what string, image []byte) error {
	if err := identifyELF(what, image); err != nil {
		return err
	}
	at, count, _ := sectionTable(image)
	if count > (uint64(len(image))-min(at, uint64(len(image))))/sectionHeaderBytes {
		return truncated(what, len(image), at+count*sectionHeaderBytes)
	}
	f := &elfFile{what: what, bytes: image, sections: elfSections(image), numbers: map[string]int{}}
	for i := range f.sections {
		f.numbers[f.sections[i].name] = i
	}
	checks := []func() error{f.layout, f.segments, f.names, f.links, f.tables, f.symbolTables, f.relocations, f.notes}
	if elfMachine(image) == machineCUDA {
		checks = append(checks, f.kinds, f.ofFunctions, f.calls, f.attributes, f.kernels, f.loaded)
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func identifyELF(what string, image []byte) error {
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
	for _, header := range []struct {
		of                string
		bytes, want, some uint16
	}{
		{"section", word.Uint16(image[58:]), sectionHeaderBytes, uint16(min(1, word.Uint64(image[40:])))},
		{"program", word.Uint16(image[54:]), segmentBytes, word.Uint16(image[56:])},
	} {
		if header.some != 0 && header.bytes != header.want {
			return status.Errorf(status.Image, "the %s is damaged: its %s headers are %d bytes each; %d are wanted", what, header.of, header.bytes, header.want)
		}
	}
	return nil
}

// damaged says what is wrong in a section.
func (f *elfFile) damaged(s *section, format string, values ...any) error {
	return status.Errorf(status.Image, "the %s is damaged: its section %q %s", f.what, s.name, fmt.Sprintf(format, values...))
}

// part is a range of the file that belongs to one thing.
type part struct {
	name     string
	from, to uint64
}

// layout checks that the headers and the sections lie in the file, one after
// another.
func (f *elfFile) layout() error {
	at, count, _ := sectionTable(f.bytes)
	parts := []part{{"ELF header", 0, elfHeaderBytes}, {"table of sections", at, at + count*sectionHeaderBytes}}
	if at, count := f.segmentTable(); count > 0 {
		parts = append(parts, part{"table of segments", at, at + count*segmentBytes})
	}
	for i := range f.sections {
		s := &f.sections[i]
		if s.align&(s.align-1) != 0 {
			return f.damaged(s, "is aligned to %d bytes, which is no power of two", s.align)
		}
		if !s.inFile() || s.size == 0 {
			continue
		}
		if s.bytes == nil {
			return truncated(f.what, len(f.bytes), s.offset+s.size)
		}
		if s.align > 1 && s.offset%s.align != 0 {
			return f.damaged(s, "begins at byte %d, which its alignment %d does not divide", s.offset, s.align)
		}
		if s.flags&ofMercury == 0 {
			parts = append(parts, part{fmt.Sprintf("section %q", s.name), s.offset, s.offset + s.size})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	for i, p := range parts[1:] {
		if before := parts[i]; p.from < before.to {
			return status.Errorf(status.Image, "the %s is damaged: its %s begins at byte %d, within its %s", f.what, p.name, p.from, before.name)
		}
	}
	return nil
}

func (f *elfFile) segmentTable() (at, count uint64) {
	return binary.LittleEndian.Uint64(f.bytes[32:]), uint64(binary.LittleEndian.Uint16(f.bytes[56:]))
}

// segments checks that each lies in the file, and begins where something does.
func (f *elfFile) segments() error {
	at, count := f.segmentTable()
	table, whole := within(f.bytes, at, count*segmentBytes)
	if !whole {
		return truncated(f.what, len(f.bytes), at+count*segmentBytes)
	}
	room := uint64(0) // that sections which are not in the file have in memory
	for i := range f.sections {
		if !f.sections[i].inFile() {
			room += f.sections[i].size + f.sections[i].align
		}
	}
	word := binary.LittleEndian
	for number := 0; len(table) > 0; number++ {
		offset, inFile, inMemory := word.Uint64(table[8:]), word.Uint64(table[32:]), word.Uint64(table[40:])
		if _, whole := within(f.bytes, offset, inFile); !whole {
			return truncated(f.what, len(f.bytes), offset+inFile)
		}
		begins := offset == at || slices.ContainsFunc(f.sections, func(s section) bool { return s.offset == offset })
		if inFile > inMemory || inMemory-inFile > room || !begins {
			return status.Errorf(status.Image, "the %s is damaged: its segment %d has %d bytes from %d on, %d in memory, which is no part of it",
				f.what, number, inFile, offset, inMemory)
		}
		table = table[segmentBytes:]
	}
	return nil
}

// loaded checks that what a complete program has at run time is in its segments.
func (f *elfFile) loaded() error {
	const load, allocated = 1, 2 // PT_LOAD, SHF_ALLOC
	if elfType(f.bytes) != executable {
		return nil
	}
	word := binary.LittleEndian
	at, count := f.segmentTable()
	table := f.bytes[at:][:count*segmentBytes]
	for i := range f.sections {
		s := &f.sections[i]
		inside := !s.inFile() || s.flags&allocated == 0 || s.flags&ofMercury != 0
		for rest := table; len(rest) > 0 && !inside; rest = rest[segmentBytes:] {
			from, size := word.Uint64(rest[8:]), word.Uint64(rest[32:])
			inside = word.Uint32(rest) == load && s.offset >= from && s.offset+s.size <= from+size
		}
		if !inside {
			return f.damaged(s, "is in none of the segments that are loaded")
		}
	}
	return nil
}

// names checks that every section has one.
func (f *elfFile) names() error {
	at, _, namesAt := sectionTable(f.bytes)
	if uint64(namesAt) >= uint64(len(f.sections)) {
		return status.Errorf(status.Image, "the %s is damaged: it has %d sections, whose names are said to be in number %d", f.what, len(f.sections), namesAt)
	}
	texts := &f.sections[namesAt]
	if !texts.isTexts() {
		return f.damaged(texts, "holds no names, though sections have theirs there")
	}
	for i := range f.sections {
		if name := binary.LittleEndian.Uint32(f.bytes[at+uint64(i)*sectionHeaderBytes:]); uint64(name) >= texts.size {
			return status.Errorf(status.Image, "the %s is damaged: the name of its section %d lies outside of %q", f.what, i, texts.name)
		}
	}
	return nil
}

func (s *section) isTexts() bool {
	return s.kind == sectionTexts && len(s.bytes) > 0 && s.bytes[len(s.bytes)-1] == 0
}
