package launch_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// FuzzImages loads what it is given on a driver that takes anything: what is
// refused is refused in words, and what is not is there.
func FuzzImages(f *testing.F) {
	fatbin := []byte{0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	for _, seed := range [][]byte{[]byte(saxpyPTX), cubin(), fatbin, append(fatbin[:24:24], fatbin...), []byte(".version 8.0\x00"), nil} {
		f.Add(seed)
	}
	for _, file := range []string{"linking/caller.cubin", "linking/whole.fatbin", "linking/callee.o", "kernels/saxpy_carried.cubin"} {
		image, err := os.ReadFile(filepath.Join("../testdata", file))
		require.NoError(f, err)
		f.Add(image)
	}
	f.Fuzz(func(t *testing.T, image []byte) {
		e, _ := newEngine(t)
		lib, err := e.Load(image, launch.LibraryOptions{})
		if err == nil {
			require.NoError(t, e.Close(lib, handles.Library))
			return
		}
		var said *status.Error
		require.True(t, errors.As(err, &said))
		require.NotEmpty(t, said.Message)
		require.Contains(t, []status.Code{status.Image, status.NotFound}, said.Code, said.Message)
	})
}
