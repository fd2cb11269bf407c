package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The C contract: programs in testdata/, compiled against include/dlaunch.h and
// the library that `make build` leaves, each run as a process of its own. No Go
// code of dlaunch runs in this test's process.

type paths struct{ root, include, build, library, kernels string }

func projectPaths(t *testing.T) paths {
	t.Helper()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	p := paths{root: root, include: filepath.Join(root, "include"), build: filepath.Join(root, "build"), kernels: filepath.Join(root, "testdata", "kernels")}
	p.library = filepath.Join(p.build, "libdlaunch.so")
	built, err := os.Stat(p.library)
	require.NoError(t, err, "the library is tested as it was built: run `make build` first")
	for _, folder := range []string{"capi", "include", "internal", "launch", "handles", "dlpack"} {
		requireOlder(t, filepath.Join(root, folder), built.ModTime())
	}
	return p
}

// requireOlder fails where a source of the library was changed after it was built.
func requireOlder(t *testing.T, folder string, built time.Time) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() == "testdata":
			return fs.SkipDir
		case entry.IsDir() || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := entry.Info()
		if err == nil && source.ModTime().After(built) {
			return fmt.Errorf("%s was changed after the library was built: run `make build`", path)
		}
		return err
	}))
}

type compiler struct {
	name    string
	command []string
}

var strict = []string{"-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"}

var compilers = []compiler{
	{"C99", []string{"gcc", "-std=c99"}},
	{"C11", []string{"gcc", "-std=c11"}},
	{"C++17", []string{"g++", "-x", "c++", "-std=c++17"}},
}

// compile runs the compiler with strict warnings and gives what it made.
func (c compiler) compile(t *testing.T, output string, args ...string) {
	t.Helper()
	all := append(append(append([]string{}, c.command[1:]...), strict...), args...)
	made, err := exec.Command(c.command[0], append(all, "-o", output)...).CombinedOutput()
	require.NoError(t, err, "%s %s: %s", c.command[0], strings.Join(all, " "), made)
}

// program compiles testdata/NAME.c and links it with the library.
func program(t *testing.T, p paths, c compiler, name string, more ...string) string {
	t.Helper()
	output := filepath.Join(t.TempDir(), name)
	args := append(more, "-I"+p.include, filepath.Join("testdata", name+".c"), "-x", "none",
		"-L"+p.build, "-ldlaunch", "-Wl,-rpath,"+p.build, "-pthread")
	c.compile(t, output, args...)
	return output
}

// run ends a program that hangs, and shows what it said if it fails.
func run(t *testing.T, environment []string, command ...string) string {
	t.Helper()
	limit, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(limit, command[0], command[1:]...)
	c.Env = append(os.Environ(), environment...)
	var output, complaints bytes.Buffer
	c.Stdout, c.Stderr = &output, &complaints
	c.WaitDelay = time.Second
	err := c.Run()
	if errors.Is(limit.Err(), context.DeadlineExceeded) {
		require.Fail(t, "hangs", "%s: %s%s", command, output.String(), complaints.String())
	}
	require.NoError(t, err, "%s: %s%s", command, output.String(), complaints.String())
	return output.String()
}

// programs are all of testdata but those that have tests of their own.
func programs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.c")
	require.NoError(t, err)
	var names []string
	for _, f := range files {
		switch name := strings.TrimSuffix(filepath.Base(f), ".c"); name {
		case "header", "layout", "no_driver", "panic", "graphs":
		default:
			names = append(names, name)
		}
	}
	require.NotEmpty(t, names)
	return names
}

func TestPrograms(t *testing.T) {
	p := projectPaths(t)
	for _, name := range programs(t) {
		for _, c := range compilers {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				run(t, []string{"DLAUNCH_DRIVER=sim"}, program(t, p, c, name), p.kernels, p.library)
			})
		}
	}
}

// With the client under ASan, so that what dlaunch writes or keeps of its
// memory is seen. Go's own memory is none of ASan's business.
func TestAddressSanitizer(t *testing.T) {
	p := projectPaths(t)
	for _, name := range []string{"launch", "nulls", "bad_images", "bad_launches", "handles", "ownership", "events", "contexts", "kernels", "arrays", "binding", "linking", "many"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := program(t, p, compilers[1], name, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
			run(t, []string{"DLAUNCH_DRIVER=sim", "ASAN_OPTIONS=detect_leaks=0"}, client, p.kernels, p.library)
		})
	}
}

// Valgrind finds the C memory that dlaunch loses, and bad frees. It cannot follow
// goroutine stacks, so what it says of values and addresses there means nothing.
func TestValgrind(t *testing.T) {
	p := projectPaths(t)
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("valgrind is not installed; .ci/run installs it")
	}
	for _, name := range []string{"launch", "handles", "bad_launches", "ownership", "events", "contexts", "arrays", "binding", "linking", "many"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := program(t, p, compilers[1], name, "-g")
			run(t, []string{"DLAUNCH_DRIVER=sim"}, valgrind, "--quiet", "--error-exitcode=9", "--undef-value-errors=no", "--suppressions=testdata/valgrind.supp",
				"--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite", client, p.kernels, p.library)
		})
	}
}

// A Go panic never passes an export: the library here is built with bugs in it (panic_provoked.go).
func TestPanic(t *testing.T) {
	p := projectPaths(t)
	p.build = t.TempDir()
	p.library = filepath.Join(p.build, "libdlaunch.so")
	made, err := exec.Command("go", "build", "-buildmode=c-shared", "-tags=dlaunch_panic", "-ldflags=-s -w", "-o", p.library, ".").CombinedOutput()
	require.NoError(t, err, "%s", made)
	run(t, []string{"DLAUNCH_DRIVER=sim"}, program(t, p, compilers[1], "panic"))
}

// The C example, as README shows it, and what it prints.
func TestExample(t *testing.T) {
	p := projectPaths(t)
	source := filepath.Join(p.root, "examples", "saxpy.c")
	expected, err := os.ReadFile(source + ".txt")
	require.NoError(t, err)
	example := filepath.Join(t.TempDir(), "saxpy")
	compilers[0].compile(t, example, "-I"+p.include, source, "-L"+p.build, "-ldlaunch", "-Wl,-rpath,"+p.build)
	t.Chdir(p.root)
	require.Equal(t, strings.ReplaceAll(string(expected), "DRIVER", "sim"), run(t, []string{"DLAUNCH_DRIVER=sim"}, example))
}

func python() string {
	if chosen := os.Getenv("PYTHON"); chosen != "" {
		return chosen
	}
	return "python3"
}

// The wheel needs nothing but a Python: no NumPy, and no other file of ours.
func TestWheel(t *testing.T) {
	p := projectPaths(t)
	wheels, err := filepath.Glob(filepath.Join(p.build, "dlaunch-*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1, "run `make build` first")
	folder := t.TempDir()
	run(t, nil, python(), "-m", "zipfile", "-e", wheels[0], folder)
	script := `import sys, array
sys.path.insert(0, sys.argv[1])
import dlaunch
assert dlaunch.__file__.startswith(sys.argv[1])
with dlaunch.load(sys.argv[2]) as library:
    x = dlaunch.to_device(array.array("f", [1, 2, 3]))
    y = dlaunch.to_device(array.array("f", [10, 20, 30]))
    library.kernel(sys.argv[3])[1, 32](2.0, x, y)
    assert list(y.copy_to_host()) == [12, 24, 36]
    assert list(y[::2].copy_to_host()) == [12, 36]
assert not any(name.split(".")[0] == "numpy" for name in sys.modules)
x.close(); y.close()`
	run(t, []string{"DLAUNCH_DRIVER=sim", "DLAUNCH_LIBRARY="}, python(), "-I", "-S", "-c", script,
		folder, filepath.Join(p.kernels, "saxpy.ptx"), "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
}
