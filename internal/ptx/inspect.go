// Package ptx reads PTX text: Inspect finds what a launch must know of an image
// that a driver will compile, Parse reads all of it for the simulator.
//
// It knows no driver, no tensors and no machine that runs the program.
package ptx

import (
	"bytes"
	"strconv"
	"strings"

	"dlaunch/internal/status"
)

// Image is what an image says of itself before any body.
type Image struct {
	Version Version
	Target  string // "sm_75", "sm_90a"
	Entries []Entry
	Globals []string // .global and .const variables
}

// Entry is one kernel.
type Entry struct {
	Name       string
	Line       int
	Params     []Param
	ParamsSize uint64    // the end of the last parameter
	ReqNTID    [3]uint32 // .reqntid; zeros when not given
	MaxNTID    [3]uint32 // .maxntid
}

// IsPTX says whether an image is text that has a .version: neither a cubin nor
// a fatbin, which hold zero bytes early.
func IsPTX(image []byte) bool {
	text := bytes.TrimRight(image, "\x00")
	return bytes.IndexByte(text, 0) < 0 && bytes.Contains(text, []byte(".version"))
}

// Inspect reads version, target and entries. It passes over bodies and over
// whatever it does not know, so that a driver newer than this code decides.
func Inspect(text []byte) (*Image, error) {
	s := scanner{lexer: newLexer(string(text)), image: &Image{}}
	s.advance()
	for s.token.kind != endOfText {
		if err := s.directive(); err != nil {
			return nil, err
		}
	}
	if s.image.Version == (Version{}) {
		return nil, status.Errorf(status.Image, "PTX: there is no .version, with which every PTX text begins")
	}
	return s.image, nil
}

type scanner struct {
	*lexer
	token token
	image *Image
}

func (s *scanner) advance() { s.token = s.next() }

// take passes a token if it is the one named.
func (s *scanner) take(text string) bool {
	if s.token.is(text) {
		s.advance()
		return true
	}
	return false
}

func (s *scanner) failure(format string, args ...any) error {
	return failure(s.text, s.token.line, format, args...)
}

func (s *scanner) directive() error {
	switch {
	case s.take(".version"):
		version, ok := parseVersion(s.token.text)
		if !ok {
			return s.failure("the version %q is not a number such as 9.0", s.token.text)
		}
		s.image.Version = version
		s.advance()
	case s.take(".target"):
		if s.token.kind == word {
			s.image.Target = s.token.text
			s.advance()
		}
	case s.take(".entry"):
		return s.entry()
	case s.take(".extern"):
		_ = s.take(".global") || s.take(".const") // another text's
	case s.take(".global"), s.take(".const"):
		s.globals()
	case s.token.is("{"):
		s.skipBraces()
		s.advance()
	default:
		s.advance()
	}
	return nil
}

func parseVersion(text string) (Version, bool) {
	major, minor, dot := strings.Cut(text, ".")
	var v Version
	var errMajor, errMinor error
	v.Major, errMajor = strconv.Atoi(major)
	v.Minor, errMinor = strconv.Atoi(minor)
	return v, dot && errMajor == nil && errMinor == nil && v.Major > 0
}

func (s *scanner) entry() error {
	if s.token.kind != word {
		return s.failure("%q stands where the name of an .entry is wanted", s.token.text)
	}
	entry := Entry{Name: s.token.text, Line: s.token.line}
	s.advance()
	if s.take("(") {
		params, err := s.params()
		if err != nil {
			return err
		}
		entry.Params, entry.ParamsSize = params, place(params)
	}
	for !s.token.is("{") && !s.token.is(";") && s.token.kind != endOfText {
		switch {
		case s.take(".reqntid"):
			entry.ReqNTID = s.extents()
		case s.take(".maxntid"):
			entry.MaxNTID = s.extents()
		default:
			s.advance()
		}
	}
	s.image.Entries = append(s.image.Entries, entry)
	return nil
}

// globals notes the names in `.align 4 .b8 a[8] = {…}, b;` after the space.
func (s *scanner) globals() {
	for named := false; !s.token.is(";") && s.token.kind != endOfText; s.advance() {
		switch {
		case s.token.is("{"):
			s.skipBraces()
		case s.token.is(","):
			named = false
		case s.token.kind == word && !named:
			named = true
			s.image.Globals = append(s.image.Globals, s.token.text)
		}
	}
}

// extents reads one to three numbers; those left out are 1.
func (s *scanner) extents() [3]uint32 {
	extents := [3]uint32{1, 1, 1}
	for i := range extents {
		n, err := strconv.ParseUint(s.token.text, 0, 32)
		if err != nil {
			break
		}
		extents[i] = uint32(n)
		s.advance()
		if !s.take(",") {
			break
		}
	}
	return extents
}

// params reads a parameter list after its parenthesis.
func (s *scanner) params() ([]Param, error) {
	var params []Param
	for {
		if s.take(")") {
			return params, nil
		}
		if s.token.kind == endOfText {
			return nil, s.failure("the text ends in a parameter list")
		}
		param, err := s.param()
		if err != nil {
			return nil, err
		}
		params = append(params, param)
		if !s.take(",") && !s.token.is(")") {
			return nil, s.failure("%q stands after the parameter %s, where a comma or a parenthesis is wanted", s.token.text, param.Name)
		}
	}
}

// param reads `.param .align 8 .b8 name[24]` and `.param .u64 .ptr .global
// .align 16 name`, whose alignment is that of what it points to.
func (s *scanner) param() (Param, error) {
	p := Param{}
	vector, pointer := uint64(1), false
	for s.token.kind == dotted {
		name := s.token.text
		s.advance()
		switch {
		case name == ".align":
			align, err := strconv.ParseUint(s.token.text, 0, 32)
			if err != nil || align == 0 || align&(align-1) != 0 {
				return p, s.failure("the alignment %q is not a power of two", s.token.text)
			}
			s.advance()
			if !pointer {
				p.Align = align
			}
		case name == ".ptr":
			pointer = true
		case vectorOf(name) > 0:
			vector = vectorOf(name)
		case SizeOf(name) > 0 && p.Type == "":
			p.Type = name
		}
	}
	if p.Type == "" {
		return p, s.failure("a parameter has no type that is known")
	}
	if s.token.kind != word {
		return p, s.failure("%q stands where the name of a parameter is wanted", s.token.text)
	}
	p.Name = s.token.text
	s.advance()
	p.Size = SizeOf(p.Type) * vector
	if p.Align == 0 {
		p.Align = p.Size
	}
	count, array, err := s.dimensions()
	if err != nil {
		return p, err
	}
	p.Array = array
	if array {
		p.Size *= count
	}
	return p, nil
}

// dimensions reads `[2][3]`: the product, and whether there were any. An extent
// left out counts as 0.
func (s *scanner) dimensions() (count uint64, array bool, err error) {
	count = 1
	for s.take("[") {
		array = true
		if s.take("]") {
			count = 0
			continue
		}
		n, parseErr := strconv.ParseUint(strings.TrimSuffix(s.token.text, "U"), 0, 63)
		if parseErr != nil {
			return 0, true, s.failure("the extent %q is not a number", s.token.text)
		}
		if n > 0 && count > mostBytes/16/n {
			return 0, true, s.failure("an array of %d times %d elements is too large", count, n)
		}
		count *= n
		s.advance()
		if !s.take("]") {
			return 0, true, s.failure("%q stands where a bracket is wanted", s.token.text)
		}
	}
	return count, array, nil
}
