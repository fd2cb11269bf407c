package driver

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
)

func TestOpenCUDA(t *testing.T) {
	tests := map[string]struct {
		candidates func(t *testing.T) []string
		cause      error
		code       Result // the driver's
		says       []string
	}{
		"nowhere": {
			candidates: func(t *testing.T) []string {
				return []string{"libdlaunch-has-none.so.1", filepath.Join(t.TempDir(), "libcuda.so.1")}
			},
			cause: ErrAbsent, says: []string{"no CUDA driver", "libdlaunch-has-none.so.1, /"},
		},
		"no candidates": {candidates: func(*testing.T) []string { return nil }, cause: ErrAbsent},
		"no ELF": {
			candidates: func(t *testing.T) []string { return []string{writeFile(t, "this is no library")} },
			cause:      ErrBroken, says: []string{"cannot be loaded", "libcuda.so.1"},
		},
		"empty": {
			candidates: func(t *testing.T) []string { return []string{writeFile(t, "")} },
			cause:      ErrBroken, says: []string{"cannot be loaded"},
		},
		"needs what nobody has": {candidates: variant("-DUNRESOLVED"), cause: ErrBroken, says: []string{"cannot be loaded", "nobody_has_this"}},
		"too old":               {candidates: variant("-DVERSION=11080", "-DWITHOUT_LAUNCH"), cause: ErrBroken, says: []string{"driver 11.8; 12.0 or newer is needed"}},
		"just too old":          {candidates: variant("-DVERSION=11999"), cause: ErrBroken, says: []string{"12.0 or newer is needed"}},
		"no version":            {candidates: variant("-DWITHOUT_VERSION"), cause: ErrBroken, says: []string{"is no CUDA driver", "cuDriverGetVersion"}},
		"a toolkit's stub":      {candidates: variant("-DVERSION_ANSWER=34"), cause: ErrBroken, code: ResultStubLibrary, says: []string{"cuDriverGetVersion", "CUDA_ERROR_STUB_LIBRARY (34)", "toolkit"}},
		"lacks functions":       {candidates: variant("-DWITHOUT_LAUNCH", "-DWITHOUT_INIT"), cause: ErrBroken, says: []string{"driver 13.1", "lacks cuInit, cuLaunchKernelEx:"}},
		"no device":             {candidates: variant("-DINIT_ANSWER=100"), cause: ErrNoDevice, code: ResultNoDevice, says: []string{"cuInit", "CUDA_ERROR_NO_DEVICE (100)"}},
		"counts none":           {candidates: variant("-DDEVICES=0"), cause: ErrNoDevice, says: []string{"0 devices"}},
		"cuInit fails":          {candidates: variant("-DINIT_ANSWER=999"), cause: ErrBroken, code: ResultUnknown, says: []string{"cuInit", "CUDA_ERROR_UNKNOWN (999)"}},
		"kernel driver differs": {candidates: variant("-DINIT_ANSWER=803"), cause: ErrBroken, code: ResultSystemDriverMismatch, says: []string{"different versions"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			candidates := test.candidates(t)
			api, err := OpenCUDA(candidates)
			require.Nil(t, api)
			for _, cause := range []error{ErrAbsent, ErrNoDevice, ErrBroken} {
				require.Equal(t, cause == test.cause, errors.Is(err, cause), "%v: %v", cause, err)
			}
			var known *status.Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, status.NoDriver, known.Code)
			require.Equal(t, int32(test.code), known.Driver)
			require.Equal(t, int32(status.NoArgument), known.Argument)
			require.Equal(t, known.Message, err.Error())
			for _, words := range test.says {
				require.Contains(t, known.Message, words)
			}
		})
	}
}

// variant builds a stub when its test runs.
func variant(defines ...string) func(*testing.T) []string {
	return func(t *testing.T) []string { return []string{buildStub(t, defines...)} }
}

func TestOpenCUDATakesTheFirstThatIsThere(t *testing.T) {
	newer, older := buildStub(t, "-DVERSION=13020"), buildStub(t, "-DVERSION=12040")
	api, err := OpenCUDA([]string{"/no/such/libcuda.so.1", newer, older})
	require.NoError(t, err)
	require.Equal(t, newer, api.Path)
	require.Equal(t, 13020, api.Version)
	require.Equal(t, "cuda", api.Kind)
}

func TestOpenCUDADoesNotPassOverABrokenOne(t *testing.T) {
	_, err := OpenCUDA([]string{writeFile(t, "broken"), buildStub(t)})
	require.ErrorIs(t, err, ErrBroken)
}

// foundBySearch is set in the process that TestFoundByTheLoadersSearch starts.
const foundBySearch = "DLAUNCH_TEST_FOUND_BY_SEARCH"

// The loader reads LD_LIBRARY_PATH when a process begins, so each case is one.
func TestFoundByTheLoadersSearch(t *testing.T) {
	if os.Getenv(foundBySearch) != "" {
		api, err := OpenCUDA([]string{"libcuda.so.1"})
		switch {
		case err == nil:
			t.Logf("opened %s, driver %d", api.Path, api.Version)
		case errors.Is(err, ErrAbsent):
			t.Logf("absent: %v", err)
		case errors.Is(err, ErrBroken):
			t.Logf("broken: %v", err)
		}
		return
	}
	withoutNeeded := buildStub(t)
	needs := filepath.Join(t.TempDir(), "libcuda.so.1")
	output, err := exec.Command("gcc", "-shared", "-fPIC", "-Wl,--no-as-needed", "-o", needs, "testdata/libcuda_stub.c", withoutNeeded).CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, os.Rename(withoutNeeded, withoutNeeded+".gone"))
	good := buildStub(t, "-DVERSION=12340")
	tests := map[string]struct{ library, says string }{
		"good":                 {good, "opened " + good + ", driver 12340"},
		"no ELF":               {writeFile(t, "this is no library"), "broken: "},
		"unresolved":           {buildStub(t, "-DUNRESOLVED"), "broken: "},
		"its own need is gone": {needs, "broken: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestFoundByTheLoadersSearch$", "-test.v")
			child.Env = append(os.Environ(), foundBySearch+"=1", "LD_LIBRARY_PATH="+filepath.Dir(test.library))
			output, err := child.CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), test.says)
		})
	}
}

func TestAbsent(t *testing.T) {
	here := writeFile(t, "")
	tests := map[string]struct {
		path, message string
		absent        bool
	}{
		"not found":              {"libcuda.so.1", "libcuda.so.1: cannot open shared object file: No such file or directory", true},
		"not found, in German":   {"libcuda.so.1", "libcuda.so.1: Kann die Shared-Object-Datei nicht öffnen: Datei oder Verzeichnis nicht gefunden", true},
		"found, no ELF":          {"libcuda.so.1", "/usr/lib/libcuda.so.1: file too short", false},
		"found, needs another":   {"libcuda.so.1", "libnvidia-x.so: cannot open shared object file: No such file or directory", false},
		"a path, there":          {here, here + ": file too short", false},
		"a path, not there":      {here + ".no", here + ".no: cannot open shared object file: No such file or directory", true},
		"a path, there, needing": {here, "libdxcore.so: cannot open shared object file: No such file or directory", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.absent, absent(test.path, test.message))
		})
	}
}

func TestDefaultPaths(t *testing.T) {
	paths := DefaultPaths()
	require.Equal(t, "libcuda.so.1", paths[0], "the loader's own search comes first")
	for _, path := range paths {
		require.Equal(t, "libcuda.so.1", filepath.Base(path), "libcuda.so is the toolkit's, or its stub")
	}
	paths[0] = "changed"
	require.Equal(t, "libcuda.so.1", DefaultPaths()[0], "callers share nothing")
}
