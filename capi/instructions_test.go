package main_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What launches execute, counted by callgrind: bench/instructions.c, over a driver
// that does nothing.

// tolerated is what another release of gcc, or other flags of a distribution's, may change.
const tolerated = 0.02

// launchesCounted is LAUNCHES of instructions.c.
const launchesCounted = 100

// executed is what one thread did between two moments.
type executed struct {
	instructions int            // in libdlaunch.so and what it calls, but for the driver
	driver       map[string]int // calls of the driver's functions by libdlaunch.so
	others       map[string]int // calls of libc's and the loader's
	functions    []string       // of libdlaunch.so
}

// callgrind runs a command with the driver that does nothing, and gives what its main
// thread did up to each mark. Go's signals for preemption would confuse callgrind.
func callgrind(t *testing.T, stub string, environment, marks []string, command ...string) []executed {
	t.Helper()
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("valgrind is not installed; .ci/run installs it")
	}
	out := filepath.Join(t.TempDir(), "out")
	environment = append(environment, "DLAUNCH_DRIVER=cuda", "LD_LIBRARY_PATH="+filepath.Dir(stub), "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1")
	arguments := append([]string{valgrind, "--quiet", "--tool=callgrind", "--separate-threads=yes", "--callgrind-out-file=" + out}, marks...)
	run(t, environment, append(arguments, command...)...)
	var parts []executed
	for {
		text, err := os.ReadFile(fmt.Sprintf("%s.%d-01", out, len(parts)+1))
		if os.IsNotExist(err) {
			return parts
		}
		require.NoError(t, err)
		parts = append(parts, readCallgrind(t, string(text)))
	}
}

// count runs bench/instructions.c, and gives what the launches of each case did, and
// what came before the second: loading, and a first launch.
func count(t *testing.T, p paths, cases int) (launches []executed, before executed) {
	t.Helper()
	stub := buildBenchStub(t, p)
	client := filepath.Join(t.TempDir(), "instructions")
	compilers[1].compile(t, client, "-I"+p.include, filepath.Join(p.root, "bench", "instructions.c"),
		"-L"+p.build, "-ldlaunch", "-Wl,-rpath,"+p.build, "-L"+filepath.Dir(stub), "-l:libcuda.so.1")
	parts := callgrind(t, stub, nil, []string{"--dump-before=measured", "--dump-after=measured"}, client)
	require.Len(t, parts, 2*cases)
	for i := 1; i < len(parts); i += 2 {
		launches = append(launches, parts[i])
	}
	return launches, parts[2]
}

var (
	name = regexp.MustCompile(`^(c?)(ob|fn)=\((\d+)\)(?: (.*))?$`)
	cost = regexp.MustCompile(`^[+\-*]?\d* (\d+)$`)
)

// readCallgrind reads one part of callgrind's output. A name is spelled once, and a
// number afterwards; the line after `calls=` is what the called function took.
func readCallgrind(t *testing.T, text string) executed {
	t.Helper()
	found := executed{driver: map[string]int{}, others: map[string]int{}}
	names, now := map[string]string{}, map[string]string{}
	calls, ran := 0, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := name.FindStringSubmatch(line); m != nil {
			if m[4] != "" {
				names[m[2]+m[3]] = m[4]
			}
			now[m[1]+m[2]] = names[m[2]+m[3]]
		} else if rest, is := strings.CutPrefix(line, "calls="); is {
			var err error
			calls, err = strconv.Atoi(strings.Fields(rest)[0])
			require.NoError(t, err, line)
		} else if m := cost.FindStringSubmatch(line); m != nil {
			instructions, err := strconv.Atoi(m[1])
			require.NoError(t, err, line)
			called := now["ob"]
			if now["cob"] != "" {
				called = now["cob"]
			}
			switch isOurs := strings.Contains(now["ob"], "libdlaunch.so"); {
			case !isOurs:
			case calls == 0:
				found.instructions += instructions
				ran[now["fn"]] = true
			case strings.Contains(called, "libcuda.so"):
				found.driver[now["cfn"]] += calls
			case called != now["ob"]:
				found.instructions += instructions
				found.others[now["cfn"]] += calls
			}
			calls, now["cob"] = 0, ""
		}
	}
	for function := range maps.Keys(ran) {
		found.functions = append(found.functions, function)
	}
	return found
}

const instructionsFile = "bench/instructions.txt"

// cases are its lines, less the comments.
func cases(t *testing.T, p paths) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, instructionsFile))
	require.NoError(t, err)
	var found [][]string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] != "#" {
			require.Len(t, fields, 3, line)
			found = append(found, fields)
		}
	}
	require.NotEmpty(t, found)
	return found
}

func TestInstructions(t *testing.T) {
	p := projectPaths(t)
	expected := cases(t, p)
	launches, _ := count(t, p, len(expected))
	for i, fields := range expected {
		want, err := strconv.ParseFloat(fields[2], 64)
		require.NoError(t, err, fields)
		got := float64(launches[i].instructions) / launchesCounted
		if math.Abs(got-want) > tolerated*want {
			t.Errorf("a launch with %s %s executes %.0f instructions, and %s says %.0f: more than %.0f %% apart.\n"+
				"If that is meant, edit the file, and say why in the commit.", fields[0], fields[1], got, instructionsFile, want, 100*tolerated)
		}
	}
}

// buildWithNames gives a folder with a libdlaunch.so that has the names of its functions.
func buildWithNames(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", filepath.Join(folder, "libdlaunch.so"), ".")
	build.Env = append(os.Environ(), "CGO_CFLAGS=-O2")
	made, err := build.CombinedOutput()
	require.NoError(t, err, "%s", made)
	return folder
}

func goFunctions(did executed) (found []string) {
	isGo := regexp.MustCompile(`^(runtime|main|dlaunch/.*)\.|^_?cgo|^x_cgo|^crosscall`)
	for _, function := range did.functions {
		if isGo.MatchString(function) {
			found = append(found, function)
		}
	}
	return found
}

// A launch calls the driver once, to launch, and with arrays of dlaunch's once more,
// for the current context, and nothing else: no allocation, no lock, no other question,
// no Go, and from C no function of another library at all. On a thread that has a
// context: for one that has none, it is set for each launch, and taken back.
func TestLaunchesDoNothingElse(t *testing.T) {
	p := projectPaths(t)
	p.build = buildWithNames(t)
	requireNoMore := func(t *testing.T, did executed, hasArrays bool) {
		calls := map[string]int{"cuLaunchKernelEx": launchesCounted}
		if hasArrays {
			calls["cuCtxGetCurrent"] = launchesCounted
		}
		require.Equal(t, calls, did.driver)
		require.Contains(t, did.functions, "dl_execute")
		require.Empty(t, goFunctions(did))
	}

	t.Run("C", func(t *testing.T) {
		counted := cases(t, p)
		launches, before := count(t, p, len(counted))
		for i, did := range launches {
			requireNoMore(t, did, counted[i][0] == "handles")
			require.Empty(t, did.others)
		}
		// What loads a kernel and launches it for the first time needs all that, and it is seen.
		require.Contains(t, before.driver, "cuLibraryLoadData")
		require.Contains(t, before.others, "calloc")
		require.Contains(t, goFunctions(before), "runtime.cgocallback.abi0")
	})

	// Python gives and takes a lock of its own. A function of libc's that nothing else calls marks the launches.
	t.Run("Python", func(t *testing.T) {
		const script = `import ctypes, os, sys
import dlaunch
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert cuda.cuInit(0) == cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
image = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry args_3(.param .u64 a, .param .u64 b, .param .u64 c)\n{\nret;\n}\n"
launch = dlaunch.load(image).kernel("args_3(a: f32[n], b: f32[n], c: i64)").configure(1, 32)
a, b = dlaunch.empty(128, "f32"), dlaunch.empty(128, "f32")
launch(a, b, 7)
os.getppid()
for _ in range(int(sys.argv[1])):
    launch(a, b, 7)
os.getppid()`
		environment := []string{"PYTHONPATH=" + filepath.Join(p.root, "python", "src"), "DLAUNCH_LIBRARY=" + filepath.Join(p.build, "libdlaunch.so")}
		parts := callgrind(t, buildBenchStub(t, p), environment, []string{"--dump-before=getppid"},
			python(), "-c", script, strconv.Itoa(launchesCounted))
		require.Len(t, parts, 2)
		requireNoMore(t, parts[1], true)
		for function := range parts[1].others {
			require.NotRegexp(t, `^(malloc|calloc|realloc|free|pthread_(mutex|rwlock|spin|cond))`, function)
		}
	})
}
