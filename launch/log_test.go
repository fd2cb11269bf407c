package launch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

var f32 = dlpack.DataType{Code: dlpack.Float, Bits: 32, Lanes: 1}

// logged gives an engine that logs into the lines that it gives too.
func logged(t *testing.T, json, launches bool) (*launch.Engine, *fake, func() []string) {
	e, f := newEngine(t)
	var lines []string
	at := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC) }
	launch.LogInto(e, json, launches, at, func(line []byte) { lines = append(lines, string(line)) })
	t.Cleanup(func() { exec.ClearAttention(exec.Tracing) })
	return e, f, func() []string {
		taken := lines
		lines = nil
		return taken
	}
}

// traced launches as the gate does while launches are logged.
func traced(e *launch.Engine, k handles.Handle, cfg *exec.Config, args ...exec.Arg) error {
	return e.Launch(k, cfg, args, exec.Fault{Reason: exec.Attention, Argument: -1, Found: int64(exec.Tracing)})
}

const stamp = "2026-01-02T03:04:05.000006Z dlaunch: "

func TestLogOfHandles(t *testing.T) {
	e, f, lines := logged(t, false, false)
	k := getKernel(t, e, "saxpy")
	const library = handles.Handle(1<<48 | 1<<24)
	made := fmt.Sprintf("library %d %q", library, fmt.Sprintf("%d bytes", len(saxpyPTX)))
	require.Equal(t, []string{
		stamp + "create " + made + "\n",
		stamp + fmt.Sprintf("create kernel %d \"saxpy\", holds %d\n", k, library),
	}, lines())
	require.NoError(t, e.Annotate(k, "app.py:12"))
	require.NoError(t, e.Close(library, handles.Library))
	require.NoError(t, e.Close(k, handles.Kernel))
	require.Equal(t, []string{
		stamp + fmt.Sprintf("origin kernel %d \"saxpy\", made at \"app.py:12\"\n", k),
		stamp + "close " + made + fmt.Sprintf(", held by %d\n", k),
		stamp + fmt.Sprintf("close kernel %d \"saxpy\"\n", k),
		stamp + fmt.Sprintf("destroy kernel %d \"saxpy\"\n", k),
		stamp + "destroy " + made + "\n",
	}, lines())

	// An array is destroyed when its memory is given back, and not when it is closed.
	a, err := e.CreateArray(0, f32, []int64{4})
	require.NoError(t, err)
	untyped := getKernel(t, e, "saxpy")
	args := []exec.Arg{float(1), {Kind: exec.ArgHandle, Value: uint64(a)}, {}, {Kind: exec.ArgInt}}
	require.NoError(t, run(e, untyped, config(), args...))
	lines()
	f.events = driver.ResultNotReady
	require.NoError(t, e.Close(a, handles.Array))
	array := fmt.Sprintf("array %d \"f32[4] on device 0\"", a)
	require.Equal(t, []string{stamp + "close " + array + "\n"}, lines())
	require.Contains(t, e.Report(), `"open":false`)
	require.Contains(t, e.Report(), `"bytes":16,"in_use":true`)
	f.events = driver.ResultSuccess
	require.NoError(t, e.Drain())
	require.Equal(t, []string{stamp + "destroy " + array + ", 16 bytes\n"}, lines())
	require.NotContains(t, e.Report(), "in_use")
	require.Zero(t, f.alive())
}

func TestLogOfLaunches(t *testing.T) {
	e, _, lines := logged(t, false, true)
	k := getKernel(t, e, saxpyPrototype)
	device := func() exec.Arg { return tensorArg(t, make([]float32, 4), cudaDevice, []int64{4}, nil) }
	cfg := config()
	cfg.Grid, cfg.SharedBytes = [3]uint32{4, 2, 1}, 64
	require.NoError(t, traced(e, k, cfg, float(1), device(), device())) // limits are filled
	lines()
	begins := stamp + fmt.Sprintf("launch kernel %d \"saxpy\", grid 4x2x1, block 32x0x0, shared 64, stream 2", k)
	cfg.Stream = 2
	require.NoError(t, traced(e, k, cfg, float(1), device(), device()))
	require.Equal(t, []string{begins + ", device 0, 3 arguments, fast\n"}, lines())

	host := tensorArg(t, make([]float32, 4), cpuDevice, []int64{4}, nil)
	require.NoError(t, traced(e, k, cfg, float(1), device(), host))
	require.Equal(t, []string{begins + ", device 0, 3 arguments, host tensor\n"}, lines())

	err := traced(e, k, cfg, float(1))
	require.Error(t, err)
	require.Equal(t, []string{begins + fmt.Sprintf(", 1 arguments, refused, failed: %q\n", err)}, lines())
	require.Error(t, traced(e, k, nil))
	require.Len(t, lines(), 1)
	require.Contains(t, e.Report(), `"logged":5`)
}

func TestLogAsJSON(t *testing.T) {
	e, _, lines := logged(t, true, true)
	a, err := e.CreateArray(1, f32, []int64{2, 2})
	require.NoError(t, err)
	k := getKernel(t, e, "saxpy")
	require.NoError(t, traced(e, k, config(), float(1), exec.Arg{}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
	taken := lines()
	var array, launched map[string]any
	require.NoError(t, json.Unmarshal([]byte(taken[0]), &array))
	require.Equal(t, map[string]any{"time": "2026-01-02T03:04:05.000006Z", "event": "create", "kind": "array",
		"handle": float64(a), "label": "f32[2 2] on device 1", "bytes": 16.0}, array)
	require.NoError(t, json.Unmarshal([]byte(taken[3]), &launched))
	require.Equal(t, map[string]any{"time": "2026-01-02T03:04:05.000006Z", "event": "launch", "kernel": float64(k), "label": "saxpy",
		"grid": []any{4.0, 0.0, 0.0}, "block": []any{32.0, 0.0, 0.0}, "shared": 0.0, "stream": 0.0, "device": 0.0, "arguments": 4.0,
		"path": "first on a device"}, launched)
}

func TestLogValuesThatAreNone(t *testing.T) {
	for _, value := range []string{"lifecycles", "Launch", "launch:", "launch:json:", ":", ":json", "1", "launch json"} {
		e, _ := newEngine(t)
		refused(t, e.Log(value), status.Argument, fmt.Sprintf("DLAUNCH_LOG is %q; off, lifecycle or launch is wanted", value))
	}
	e, _ := newEngine(t)
	refused(t, e.Log("lifecycle:/nowhere/log"), status.Argument, `"/nowhere/log" cannot be opened: no such file`, "nothing is logged")
	for _, value := range []string{"", "off"} {
		require.NoError(t, e.Log(value))
	}
}

// Lines of many threads are whole, and a file that cannot be written harms no call.
func TestLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a:log")
	e, _ := newEngine(t)
	require.NoError(t, e.Log("lifecycle:json:"+path))
	const threads, each = 8, 200
	var wait sync.WaitGroup
	for range threads {
		wait.Go(func() {
			for range each {
				h, err := e.CreateEvent(0, 0)
				if err == nil {
					err = e.Close(h, handles.Event)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	count := map[string]int{}
	for line := range bytes.Lines(text) {
		var one struct{ Event, Kind string }
		require.NoError(t, json.Unmarshal(line, &one))
		count[one.Event+" "+one.Kind]++
	}
	require.Equal(t, map[string]int{"create event": threads * each, "close event": threads * each, "destroy event": threads * each}, count)

	full, _ := newEngine(t)
	require.NoError(t, full.Log("lifecycle:/dev/full"))
	for range 3 {
		_, err := full.CreateEvent(0, 0)
		require.NoError(t, err)
	}
}

func TestLeaks(t *testing.T) {
	for value, wanted := range map[string]launch.LeakMode{"": 0, "off": launch.LeaksIgnored, "report": launch.LeaksReported, "error": launch.LeaksFail} {
		mode, err := launch.ParseLeakMode(value)
		require.NoError(t, err)
		require.Equal(t, wanted, mode)
	}
	_, err := launch.ParseLeakMode("yes")
	refused(t, err, status.Argument, `DLAUNCH_LEAK is "yes"; off, report or error is wanted`)

	e, _ := newEngine(t)
	require.Empty(t, e.Leaks())
	a, err := e.CreateArray(0, f32, []int64{4})
	require.NoError(t, err)
	library := load(t, e)
	k, err := e.GetKernel(library, "saxpy")
	require.NoError(t, err)
	require.NoError(t, e.Annotate(a, "app.py:7"))
	lines := strings.Split(e.Leaks(), "\n")
	require.Equal(t, []string{
		"3 handles are open at exit, with 16 bytes of device memory (DLAUNCH_LEAK):",
		fmt.Sprintf(`  array %d "f32[4] on device 0", 16 bytes, made at "app.py:7"`, a),
	}, lines[:2])
	require.Len(t, lines, 4)
	require.NoError(t, e.Disown(k))
	require.NoError(t, e.Close(library, handles.Library)) // the kernel holds it: not the user's any more
	require.Equal(t, "1 handle is open at exit, with 16 bytes of device memory (DLAUNCH_LEAK):\n"+lines[1], e.Leaks())
	require.NoError(t, e.Close(a, handles.Array))
	require.Empty(t, e.Leaks())
	refused(t, e.Disown(a), status.Handle, "closed")
	refused(t, e.Annotate(a, ""), status.Handle, "closed")
}
