package main

import (
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// allowed are the libraries that a glibc system always has; from 2.34 on only
// the first is needed.
var allowed = []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}

// library is what the dynamic section of a shared library says.
type library struct {
	functions []string // NAME of each NAME@@DLAUNCH_1, sorted; other names with their version
	needed    []string
	soname    string
	glibc     version // the newest that a needed symbol asks for
	size      int64
}

type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) newer(than version) bool {
	return v.major > than.major || v.major == than.major && v.minor > than.minor
}

// parseVersion reads 2.34; of 2.2.5 the third number decides nothing.
func parseVersion(text string) (version, error) {
	parts := strings.Split(text, ".")
	if len(parts) >= 2 {
		major, errMajor := strconv.Atoi(parts[0])
		minor, errMinor := strconv.Atoi(parts[1])
		if errMajor == nil && errMinor == nil && major > 0 && minor >= 0 {
			return version{major, minor}, nil
		}
	}
	return version{}, fmt.Errorf("%q is no released glibc; something like 2.34 is", text)
}

func inspect(path string) (library, error) {
	file, err := elf.Open(path)
	if err != nil {
		return library{}, err
	}
	defer file.Close()
	info, err := os.Stat(path)
	if err != nil {
		return library{}, err
	}
	found := library{size: info.Size()}
	if found.functions, err = defined(file); err != nil {
		return library{}, err
	}
	if found.needed, err = file.ImportedLibraries(); err != nil {
		return library{}, err
	}
	names, err := file.DynString(elf.DT_SONAME)
	if err != nil {
		return library{}, err
	}
	found.soname = strings.Join(names, " ")
	found.glibc, err = glibcFloor(file)
	return found, err
}

// defined lists what `nm -D --defined-only` shows.
func defined(file *elf.File) ([]string, error) {
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range symbols {
		switch {
		case s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS: // needed; the version's own name
		case s.Version == "DLAUNCH_1" && elf.ST_TYPE(s.Info) == elf.STT_FUNC:
			names = append(names, s.Name)
		default:
			names = append(names, fmt.Sprintf("%s@%s", s.Name, s.Version))
		}
	}
	slices.Sort(names)
	return names, nil
}

func glibcFloor(file *elf.File) (version, error) {
	needs, err := file.DynamicVersionNeeds()
	if err != nil {
		return version{}, err
	}
	var floor version
	for _, need := range needs {
		for _, dep := range need.Needs {
			text, isGlibc := strings.CutPrefix(dep.Dep, "GLIBC_")
			if !isGlibc {
				continue
			}
			v, err := parseVersion(text)
			if err != nil {
				return version{}, fmt.Errorf("%s wants %s: %w", need.Name, dep.Dep, err)
			}
			if v.newer(floor) {
				floor = v
			}
		}
	}
	return floor, nil
}

// check holds a library against what is promised of it. oldest is the glibc that
// it must run on, or the zero version.
func (l library) check(oldest version) error {
	if l.soname != soname {
		return fmt.Errorf("soname is %q, %q wanted", l.soname, soname)
	}
	for _, name := range l.needed {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("needs %s; only %s are on every machine", name, strings.Join(allowed, ", "))
		}
	}
	if l.size > maxSize {
		return fmt.Errorf("%d bytes, at most %d wanted", l.size, maxSize)
	}
	if l.glibc == (version{}) {
		return fmt.Errorf("no glibc version found among what it needs: built against another C library?")
	}
	if oldest != (version{}) && l.glibc.newer(oldest) {
		return fmt.Errorf("needs glibc %s, must run on %s: build on a system that has %[2]s", l.glibc, oldest)
	}
	return nil
}
