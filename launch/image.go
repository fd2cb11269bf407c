package launch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
	"dlaunch/internal/status"
	"dlaunch/launch/spelling"
)

// The beginnings of what a driver loads. PTX is text; the rest:
var (
	elfMagic    = []byte("\x7fELF")
	fatbinMagic = []byte{0x50, 0xed, 0x55, 0xba} // 0xba55ed50, as fatbinary writes it
)

const (
	elfHeaderBytes    = 64
	fatbinHeaderBytes = 16
)

// examine refuses what is no image, and what ends before its own headers say: the
// driver is told no length, and would read past the end. PTX is described.
func examine(image []byte, version int) (*ptx.Image, error) {
	switch {
	case len(image) == 0:
		return nil, status.Errorf(status.Image, "the image is empty; PTX text, a cubin or a fatbin is wanted")
	case bytes.HasPrefix(image, elfMagic):
		return nil, examineELF(image)
	case bytes.HasPrefix(image, fatbinMagic):
		return nil, examineFatbin(image)
	case bytes.IndexByte(bytes.TrimRight(image, "\x00"), 0) >= 0 || !bytes.Contains(image, []byte(".version")):
		return nil, status.Errorf(status.Image, "the image begins with %s: that is no PTX text (which has a .version), cubin (ELF) or fatbin", beginning(image))
	}
	described, err := ptx.Inspect(bytes.TrimRight(image, "\x00"))
	if err != nil {
		return nil, err
	}
	needed, known := driver.MinimumDriver(described.Version.Major, described.Version.Minor)
	if known && needed > version || !known && described.Version.Major > version/1000 {
		return nil, tooNew(described, needed, known, version)
	}
	return described, nil
}

func tooNew(image *ptx.Image, needed int, known bool, version int) error {
	wanted := "a newer driver"
	if known {
		wanted = "driver " + driver.VersionText(needed) + " or newer"
	}
	err := status.Errorf(status.Image, "the image is PTX %d.%d, which needs %s; this driver is %s: compile for an older PTX version, or to a cubin",
		image.Version.Major, image.Version.Minor, wanted, driver.VersionText(version))
	err.Driver = int32(driver.ResultUnsupportedPTXVersion)
	return err
}

func beginning(image []byte) string {
	const most = 16
	if len(image) > most {
		return fmt.Sprintf("%q…", image[:most])
	}
	return fmt.Sprintf("%q", image)
}

func truncated(what string, has int, needs uint64) error {
	return status.Errorf(status.Image, "the %s is truncated: it has %d bytes, its headers need %d", what, has, needs)
}

// examineELF checks that the section and program tables, and all that they point
// to, lie within the image.
func examineELF(image []byte) error {
	if len(image) < elfHeaderBytes {
		return truncated("cubin", len(image), elfHeaderBytes)
	}
	const class64, littleEndian = 2, 1
	if image[4] != class64 || image[5] != littleEndian {
		return status.Errorf(status.Image, "the image is an ELF file, but not a 64-bit little-endian one, as cubins are")
	}
	const machineCUDA = 190
	word := binary.LittleEndian
	if machine := word.Uint16(image[18:]); machine != machineCUDA {
		return status.Errorf(status.Image, "the image is an ELF file for machine %d; a cubin has %d (EM_CUDA): is it a host library or object?", machine, machineCUDA)
	}
	for _, table := range []struct {
		at, each, count uint64
		offset, size    uint64 // of those fields in an entry
		holdsNothing    uint32 // the type whose size is not in the file
	}{
		{word.Uint64(image[40:]), uint64(word.Uint16(image[58:])), uint64(word.Uint16(image[60:])), 24, 32, 8}, // sections; SHT_NOBITS
		{word.Uint64(image[32:]), uint64(word.Uint16(image[54:])), uint64(word.Uint16(image[56:])), 8, 32, 0},  // segments: file size
	} {
		end := table.at + table.each*table.count
		if end < table.at || end > uint64(len(image)) {
			return truncated("cubin", len(image), end)
		}
		if table.count > 0 && table.each < table.size+8 {
			return status.Errorf(status.Image, "the cubin's headers are %d bytes each; at least %d are wanted", table.each, table.size+8)
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
				return truncated("cubin", len(image), offset+size)
			}
		}
	}
	return nil
}

// examineFatbin follows the chain of headers that a fatbin is: each says how long
// it and its body are.
func examineFatbin(image []byte) error {
	for at := uint64(0); at < uint64(len(image)); {
		rest := image[at:]
		if at > 0 && !bytes.HasPrefix(rest, fatbinMagic) {
			return nil // padding, or what else a file has behind it
		}
		if len(rest) < fatbinHeaderBytes {
			return truncated("fatbin", len(image), at+fatbinHeaderBytes)
		}
		header := uint64(binary.LittleEndian.Uint16(rest[6:]))
		body := binary.LittleEndian.Uint64(rest[8:])
		end := at + header + body
		if header < fatbinHeaderBytes || end < body || end > uint64(len(image)) {
			return truncated("fatbin", len(image), end)
		}
		at = end
	}
	return nil
}

// imageError words why an image does not load: the compiler's log if there is
// one, else the architectures.
func (e *Engine) imageError(lib *library, image []byte, d *device, r driver.Result) error {
	log := lib.log.text()
	switch {
	case r.Sticky():
		return e.failure("cuLibraryLoadData", r)
	case r == driver.ResultOutOfMemory:
		return driverError("cuLibraryLoadData", r)
	}
	err := driverError("the image does not load", r)
	err.Code = status.Image
	if r == driver.ResultNotSupported {
		err.Code = status.Unsupported
	}
	if log != "" {
		err.Message += "\n" + log
		return err
	}
	err.Message += fmt.Sprintf("; the device is sm_%d%d", d.limits.computeMajor, d.limits.computeMinor)
	if lib.image != nil {
		err.Message += fmt.Sprintf(", the PTX %d.%d is for %s", lib.image.Version.Major, lib.image.Version.Minor, lib.image.Target)
	} else if arch := cubinArchitecture(image); arch != 0 {
		err.Message += fmt.Sprintf(", the cubin is for sm_%d", arch)
	}
	return err
}

// cubinArchitecture reads the SM number from a cubin's ELF flags: the low byte,
// or in the newer ABI (CUDA 13) the second; 0 when it is neither.
func cubinArchitecture(image []byte) uint32 {
	if len(image) < elfHeaderBytes || !bytes.HasPrefix(image, elfMagic) {
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

// nearest lists the names that are most like the one asked for.
func nearest(asked string, names []string) string {
	if len(names) == 0 {
		return "the image has no kernel"
	}
	const most = 4
	asked = strings.ToLower(asked)
	unlike := func(name string) int {
		name = strings.ToLower(name)
		if asked != "" && strings.Contains(name, asked) {
			return 0
		}
		return spelling.Distance(asked, name)
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(unlike(a), unlike(b)) })
	said := "there are "
	if unlike(sorted[0]) <= 1+len(asked)/3 && asked != "" {
		said = "the nearest are "
	}
	if len(names) == 1 {
		said = "there is only "
	}
	var list []string
	for _, name := range sorted[:min(most, len(sorted))] {
		list = append(list, fmt.Sprintf("%q", name))
	}
	if len(names) > most {
		list = append(list, fmt.Sprintf("… (%d kernels)", len(names)))
	}
	return said + strings.Join(list, ", ")
}
