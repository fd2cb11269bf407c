package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

func imageFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile("../testdata/linking/" + name)
	require.NoError(t, err)
	return content
}

func TestContents(t *testing.T) {
	for name, want := range map[string]struct {
		architectures string
		globals       string
		unread        bool
	}{
		"caller.ptx":   {"compute_75", "_ZN6shapes5sidesE", false},
		"callee.ptx":   {"compute_75", "calls", false},
		"caller.cubin": {"sm_90", "_ZN6shapes5sidesE", false},
		"callee.cubin": {"sm_90", "calls", false},
		"whole.fatbin": {"sm_90 compute_75", "scale", true},
		"callee.ltoir": {"", "", true},
		"callee.o":     {"", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			im, err := examine(imageFile(t, name), name, 13000)
			require.NoError(t, err)
			c := contentsOf(im)
			require.Equal(t, want.architectures, strings.Join(c.architectures, " "))
			require.Equal(t, want.globals, strings.Join(c.globals, " "))
			require.Equal(t, want.unread, c.unread)
			require.Equal(t, strings.HasPrefix(name, "caller"), len(c.carried) == 1)
		})
	}
}

func TestWhereLTOIRIs(t *testing.T) {
	lto := imageFile(t, "callee.ltoir")
	member := fatbin(lto)
	binary.LittleEndian.PutUint16(member[fatbinHeaderBytes:], memberLTOIR)
	for name, c := range map[string]struct {
		image []byte
		holds bool
	}{
		"itself": {lto, true}, "a fatbin of it": {member, true}, "an archive": {archive(lto), true},
		"an archive of a fatbin": {archive(imageFile(t, "callee.o"), member), true},
		"a cubin":                {imageFile(t, "callee.cubin"), false}, "a fatbin of none": {imageFile(t, "whole.fatbin"), false},
		"an archive of none": {imageFile(t, "libcallee.a"), false}, "an object of none": {imageFile(t, "callee.o"), false},
	} {
		require.Equal(t, c.holds, holdsLTOIR(c.image), name)
	}
	require.True(t, (&image{kind: driver.LinkFatbin, bytes: member}).needsLinking())
	require.False(t, (&image{kind: driver.LinkFatbin, bytes: imageFile(t, "whole.fatbin")}).needsLinking())
}

// archive puts files together as ar does.
func archive(files ...[]byte) []byte {
	all := bytes.Clone(archiveMagic)
	for _, file := range files {
		header := []byte(strings.Repeat(" ", archiveHeaderBytes))
		copy(header[48:], strconv.Itoa(len(file)))
		copy(header[58:], "`\n")
		all = append(append(all, header...), file...)
		if len(file)%2 == 1 {
			all = append(all, '\n')
		}
	}
	return all
}

// Real images are taken, whatever compilers leave in them.
func TestRealImagesAreWhole(t *testing.T) {
	for _, pattern := range []string{"../testdata/linking/*.*", "../testdata/kernels/*.cubin", "../testdata/kernels/*.ptx"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			switch filepath.Ext(path) {
			case ".cu", ".sh", ".md":
				continue
			}
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			_, err = examine(content, path, 13000)
			require.NoError(t, err, path)
		}
	}
}

func TestDamagedImages(t *testing.T) {
	cubin, fat := imageFile(t, "caller.cubin"), imageFile(t, "whole.fatbin")
	word := binary.LittleEndian
	sections := word.Uint64(cubin[40:])
	header := func(kind uint32) uint64 { // of the first section of a kind
		for i := range elfSections(cubin) {
			if at := sections + 64*uint64(i); word.Uint32(cubin[at+4:]) == kind {
				return at
			}
		}
		t.Fatalf("no section of kind %d", kind)
		return 0
	}
	symbols, relocations := header(sectionSymbols), header(sectionAddend)
	aSymbol, aRelocation := word.Uint64(cubin[symbols+24:])+symbolBytes, word.Uint64(cubin[relocations+24:])
	names := sections + 64*uint64(word.Uint32(cubin[symbols+40:]))
	for name, c := range map[string]struct {
		image  []byte
		damage func(image []byte)
		said   string
	}{
		"a symbol's name":            {cubin, func(i []byte) { word.PutUint32(i[aSymbol:], 1<<30) }, `a symbol in its section ".symtab" points outside`},
		"a symbol's section":         {cubin, func(i []byte) { word.PutUint16(i[aSymbol+6:], 500) }, "a symbol in"},
		"the table of names":         {cubin, func(i []byte) { word.PutUint32(i[symbols+40:], 500) }, "the table of names in"},
		"names without end":          {cubin, func(i []byte) { word.PutUint64(i[names+32:], word.Uint64(i[names+32:])-1) }, "the table of names in"},
		"a relocation's place":       {cubin, func(i []byte) { word.PutUint64(i[aRelocation:], 1<<20) }, "a relocation in its section"},
		"a relocation's symbol":      {cubin, func(i []byte) { word.PutUint32(i[aRelocation+12:], 5000) }, "a relocation in its section"},
		"a relocation's symbols":     {cubin, func(i []byte) { word.PutUint32(i[relocations+40:], 500) }, "the section in its section"},
		"what is relocated":          {cubin, func(i []byte) { word.PutUint32(i[relocations+44:], 500) }, "the section in its section"},
		"a member's size":            {fat, func(i []byte) { word.PutUint64(i[fatbinHeaderBytes+8:], 1<<40) }, "after 0 members, a header does not fit"},
		"a member's header":          {fat, func(i []byte) { word.PutUint32(i[fatbinHeaderBytes+4:], 8) }, "after 0 members, a header does not fit"},
		"a member's compressed size": {fat, func(i []byte) { word.PutUint32(i[fatbinHeaderBytes+16:], 1<<30) }, "are said to be compressed"},
		"a cubin in a fatbin":        {fatbin(cubin), func(i []byte) { word.PutUint64(i[fatbinHeaderBytes+64+40:], 1<<40) }, "the cubin in the fatbin is truncated"},
		"an archive's header":        {imageFile(t, "libcallee.a"), func(i []byte) { i[8+58] = 'x' }, "the archive is damaged: at byte 8"},
		"an archive's size":          {imageFile(t, "libcallee.a"), func(i []byte) { i[8+48] = 'x' }, "the archive is damaged: at byte 8"},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := bytes.Clone(c.image)
			c.damage(damaged)
			_, err := examine(damaged, name, 13000)
			var e *status.Error
			require.True(t, errors.As(err, &e), "%v", err)
			require.Equal(t, status.Image, e.Code)
			require.Contains(t, e.Message, c.said)
		})
	}
}
