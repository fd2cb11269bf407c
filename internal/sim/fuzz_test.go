package sim

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

// FuzzLoad decodes what it is given: whatever it is, the simulator says what is
// wrong or has its kernels.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("../../testdata/kernels/*.ptx")
	require.NoError(f, err)
	require.NotEmpty(f, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, c := range instructionCases {
		f.Add(snippet(c.body))
	}
	s, err := New(Options{})
	require.NoError(f, err)
	api := s.API()
	f.Fuzz(func(t *testing.T, text []byte) {
		library, result := api.LibraryLoad(text, nil)
		if result == driver.ResultSuccess {
			require.Zero(t, api.LibraryUnload(library))
		}
	})
}
