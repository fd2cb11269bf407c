package driver

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
)

func openLinker(t *testing.T) *JITLinker {
	t.Helper()
	path := buildLibrary(t, "nvjitlink_stub.c", "libnvJitLink.so.13")
	linker, err := OpenJITLinker([]string{"libnvJitLink.so.99", path})
	require.NoError(t, err)
	require.Equal(t, path, linker.Path)
	return linker
}

func failsWith(t *testing.T, err error, code status.Code, parts ...string) {
	t.Helper()
	var e *status.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code)
	for _, part := range parts {
		require.Contains(t, e.Message, part)
	}
}

func TestJITLinker(t *testing.T) {
	linker := openLinker(t)
	inputs := []LinkInput{{LinkLTOIR, []byte{0xed, 7}, "a"}, {LinkPTX, []byte("PTX\x00\x00"), "b"}, {LinkCubin, []byte("cub"), "c"},
		{LinkFatbin, []byte("fat"), "d"}, {LinkObject, []byte("obj"), "e"}, {LinkArchive, []byte("arc"), "f"}}
	image, log, err := linker.Link(inputs, []string{"-lto", "-arch=sm_90"})
	require.NoError(t, err)
	require.Equal(t, "-lto -arch=sm_90 3,2,a,7 2,4,b,0 1,3,c,98 4,3,d,116 5,3,e,106 6,3,f,99 ", string(image))
	require.Equal(t, "a note", log)

	image, _, err = linker.Link(inputs[:1], []string{"-ptx"})
	require.NoError(t, err)
	require.Equal(t, "-ptx 3,2,a,7 ", string(image))
}

func TestJITLinkerRefusals(t *testing.T) {
	linker := openLinker(t)
	_, _, err := linker.Link(nil, []string{"-lto", "-frob"})
	failsWith(t, err, status.Image, "nvJitLinkCreate: UNRECOGNIZED_OPTION (1): -lto -frob")
	_, log, err := linker.Link([]LinkInput{{LinkLTOIR, []byte{1}, "bad"}}, nil)
	failsWith(t, err, status.Image, "nvJitLinkAddData: INVALID_INPUT (3): bad\nbad input")
	require.Equal(t, "bad input", log)
	_, log, err = linker.Link([]LinkInput{{LinkLTOIR, []byte{1}, "unresolved"}}, nil)
	failsWith(t, err, status.Image, "nvJitLinkComplete: NVVM_COMPILE (5)", "a note")
	require.Equal(t, "a note", log)
}

func TestNoJITLinker(t *testing.T) {
	_, err := OpenJITLinker([]string{"libnvJitLink.so.99", filepath.Join(t.TempDir(), "none.so")})
	failsWith(t, err, status.Unsupported, "tried libnvJitLink.so.99, /", "pip install nvidia-nvjitlink")
	_, err = OpenJITLinker([]string{writeFile(t, "no library")})
	failsWith(t, err, status.Unsupported, "is there, but cannot be loaded")
	_, err = OpenJITLinker([]string{buildLibrary(t, "nvjitlink_stub.c", "old.so", "-DWITHOUT_PTX")})
	failsWith(t, err, status.Unsupported, "lacks nvJitLinkGetLinkedPtxSize: nvJitLink 12.3 or newer is needed")
	require.Equal(t, []string{"libnvJitLink.so.13", "libnvJitLink.so.12"}, JITLinkerNames(13010))
	require.Equal(t, []string{"libnvJitLink.so.12"}, JITLinkerNames(12000))
}
