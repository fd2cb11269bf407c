package launch

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
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
		"whole.fatbin": {"sm_90 compute_75", "scale", false},
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
