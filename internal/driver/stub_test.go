package driver

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// buildStub compiles a variant of testdata/libcuda_stub.c, and gives its path.
func buildStub(t *testing.T, defines ...string) string {
	t.Helper()
	return buildLibrary(t, "libcuda_stub.c", "libcuda.so.1", defines...)
}

func buildLibrary(t *testing.T, source, name string, defines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args := append([]string{"-Wall", "-Werror", "-shared", "-fPIC", "-o", path, "testdata/" + source}, defines...)
	output, err := exec.Command("gcc", args...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// openStub opens a variant as OpenCUDA does, and gives what looks into it.
func openStub(t *testing.T, defines ...string) (*API, *stub) {
	t.Helper()
	path := buildStub(t, defines...)
	api, err := OpenCUDA([]string{path})
	require.NoError(t, err)
	require.Equal(t, path, api.Path)
	library, err := purego.Dlopen(path, purego.RTLD_NOW)
	require.NoError(t, err)
	return api, &stub{symbol(t, library, "stub_note"), symbol(t, library, "stub_answer_with")}
}

func symbol(t *testing.T, library uintptr, name string) uintptr {
	t.Helper()
	address, err := purego.Dlsym(library, name)
	require.NoError(t, err)
	return address
}

// stub is the side of libcuda_stub.c that tests see. It is the calling thread's.
type stub struct{ note, answerWith uintptr }

// note is struct note in libcuda_stub.c.
type note struct {
	function *byte
	numArgs  uint64
	args     [8]uint64
	text     [64]byte
}

func (s *stub) last() *note {
	address, _, _ := purego.SyscallN(s.note)
	return *(**note)(unsafe.Pointer(&address))
}

func (n *note) name() string        { return goString(n.function) }
func (n *note) arguments() []uint64 { return append([]uint64{}, n.args[:n.numArgs]...) }
func (n *note) pointedTo() string   { return goString(&n.text[0]) }

func (s *stub) answer(r Result) { purego.SyscallN(s.answerWith, uintptr(r)) }

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
