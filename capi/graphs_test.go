package main_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// buildBenchStub compiles the libcuda.so.1 whose launches do nothing.
func buildBenchStub(t *testing.T, p paths) string {
	t.Helper()
	return buildDriver(t, filepath.Join(p.root, "bench", "stub", "libcuda.c"))
}

func buildDriver(t *testing.T, source string) string {
	t.Helper()
	stub := filepath.Join(t.TempDir(), "libcuda.so.1")
	made, err := exec.Command("gcc", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", stub).CombinedOutput()
	require.NoError(t, err, "%s", made)
	return stub
}

// testdata/graphs.c with a libcuda whose graphs hold user objects and nothing else;
// also under ASan, which sees a hold that is used too late.
func TestGraphs(t *testing.T) {
	p := projectPaths(t)
	stub := buildBenchStub(t, p)
	environment := []string{"DLAUNCH_DRIVER=cuda", "LD_LIBRARY_PATH=" + filepath.Dir(stub), "ASAN_OPTIONS=detect_leaks=0"}
	for _, c := range compilers {
		t.Run(c.name, func(t *testing.T) { run(t, environment, program(t, p, c, "graphs"), p.kernels, p.library) })
	}
	t.Run("ASan", func(t *testing.T) {
		client := program(t, p, compilers[1], "graphs", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
		run(t, environment, client, p.kernels, p.library)
	})
}
