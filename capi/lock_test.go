package main_test

import (
	"path/filepath"
	"testing"
)

// testdata/lock.py with a libcuda that says who launches, and whose launches wait: its
// functions, each in a process of its own.
func TestInterpretersLock(t *testing.T) {
	p := projectPaths(t)
	stub := buildDriver(t, filepath.Join(p.root, "capi", "testdata", "libcuda", "waiting.c"))
	environment := []string{
		"DLAUNCH_DRIVER=cuda", "LD_LIBRARY_PATH=" + filepath.Dir(stub),
		"PYTHONPATH=" + filepath.Join(p.root, "python", "src"), "DLAUNCH_LIBRARY=" + p.library,
	}
	for _, name := range []string{"keeps", "waits", "fails", "per_thread", "held", "threads"} {
		t.Run(name, func(t *testing.T) {
			run(t, environment, python(), filepath.Join(p.root, "capi", "testdata", "lock.py"), name)
		})
	}
}
