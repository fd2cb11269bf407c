package launch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// watched gives an engine over a fake whose driver calls are noted as
// "function@current context".
func watched(t *testing.T) (*launch.Engine, *fake, *[]string) {
	_, f := newEngine(t)
	api := f.api()
	var seen []string
	fields := reflect.ValueOf(api).Elem()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if field.Kind() != reflect.Func || field.IsNil() {
			continue
		}
		name, whole := fields.Type().Field(i).Name, reflect.ValueOf(field.Interface())
		field.Set(reflect.MakeFunc(field.Type(), func(args []reflect.Value) []reflect.Value {
			seen = append(seen, fmt.Sprintf("%s@%d", name, f.context.Load()))
			return whole.Call(args)
		}))
	}
	return launch.New(func() (launch.Driver, error) {
		return launch.Driver{API: api, DeviceType: 2}, nil
	}, f.giveBack), f, &seen
}

// where gives the contexts that were current in calls of the functions.
func where(seen []string, functions ...string) map[string]bool {
	contexts := map[string]bool{}
	for _, call := range seen {
		for _, function := range functions {
			var context string
			if n, _ := fmt.Sscanf(call, function+"@%s", &context); n == 1 {
				contexts[function+"@"+context] = true
			}
		}
	}
	return contexts
}

// What goes before and after a launch runs in the context whose stream the launch is
// on: 100 and 101 are primary contexts, 200 and 201 others of the same devices.
func TestStagingIsWhereTheLaunchIs(t *testing.T) {
	moves := []string{"MemAllocAsync", "CopyHostToDevice", "CopyDeviceToHost", "StreamSynchronize", "MemFreeAsync", "StreamCapturing"}
	for _, c := range []struct {
		name            string
		current, stream uint64
		wanted          int
	}{
		{"no context", 0, 0, 100},
		{"the primary one", 100, 1, 100},
		{"another of the device, legacy stream", 200, 1, 200},
		{"another of the device, per-thread stream", 200, 2, 200},
		{"another device's", 201, 0, 100},
		{"another library's stream", 0, 0x7000, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f, seen := watched(t)
			k := getKernel(t, e, saxpyPrototype)
			f.foreign = 200
			f.context.Store(c.current)
			*seen = nil
			cfg := config()
			cfg.Stream = c.stream
			x, y := make([]float32, 4), make([]float32, 4)
			require.NoError(t, run(e, k, cfg, float(1), tensorArg(t, x, cpuDevice, []int64{4}, nil), tensorArg(t, y, cpuDevice, []int64{4}, nil)))
			wanted := map[string]bool{}
			for _, move := range moves {
				wanted[fmt.Sprintf("%s@%d", move, c.wanted)] = true
			}
			require.Equal(t, wanted, where(*seen, moves...))
			require.Equal(t, c.current, f.context.Load())
			require.Zero(t, f.alive())
		})
	}
}

func TestWorkOnStreamsInAnotherContext(t *testing.T) {
	e, f, seen := watched(t)
	a, err := e.CreateArray(0, f32, []int64{4})
	require.NoError(t, err)
	s, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	ev, err := e.CreateEvent(0, 0)
	require.NoError(t, err)
	f.context.Store(200)
	host := make([]float32, 4)
	for _, c := range []struct {
		do     func() error
		wanted string
	}{
		{func() error { return e.Copy(a, uintptr(addressOf(host)), 16, 0, true) }, "CopyHostToDevice@200"},
		{func() error { return e.Copy(a, uintptr(addressOf(host)), 16, uint64(s), true) }, "CopyHostToDevice@100"},
		{func() error { return e.SynchronizeStream(2) }, "StreamSynchronize@200"},
		{func() error { _, err := e.QueryStream(0); return err }, "StreamQuery@200"},
		{func() error { _, err := e.QueryStream(uint64(s)); return err }, "StreamQuery@100"},
		{func() error { return e.WaitEvent(ev, 0) }, "StreamWaitEvent@200"},
		{func() error { return e.RecordEvent(ev, uint64(s)) }, "EventRecord@100"},
		{func() error { return e.Synchronize(0) }, "ContextSynchronize@100"},
		{func() error { return e.Synchronize(0) }, "ContextSynchronize@200"},
	} {
		*seen = nil
		require.NoError(t, c.do())
		require.Contains(t, *seen, c.wanted)
		require.EqualValues(t, 200, f.context.Load())
	}
	*seen = nil
	refused(t, e.RecordEvent(ev, 0), status.Argument, "the current context is not the primary one of device 0")
	require.Empty(t, where(*seen, "EventRecord"))
	require.NoError(t, e.Synchronize(1))
	require.NotContains(t, *seen, "ContextSynchronize@200", "it is device 0's")
}

// A closed array waits for the stream that it was launched on, whichever context is
// current when it is closed.
func TestFencesAreWhereTheLaunchWas(t *testing.T) {
	e, f, seen := watched(t)
	k := getKernel(t, e, "saxpy")
	s, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	for _, stream := range []uint64{0, 1, uint64(s)} {
		a, err := e.CreateArray(0, f32, []int64{4})
		require.NoError(t, err)
		cfg := config()
		cfg.Stream = stream
		require.NoError(t, run(e, k, cfg, float(1), exec.Arg{Kind: exec.ArgHandle, Value: uint64(a)}, exec.Arg{}, exec.Arg{Kind: exec.ArgInt}))
		f.context.Store(200)
		*seen = nil
		require.NoError(t, e.Close(a, handles.Array))
		require.Equal(t, map[string]bool{"EventCreate@100": true, "EventRecord@100": true}, where(*seen, "EventCreate", "EventRecord"))
		f.context.Store(0)
	}
	require.Zero(t, f.alive())
}

func TestEnteringADevice(t *testing.T) {
	e, f := newEngine(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f.context.Store(200)
	outer, err := e.EnterDevice(1)
	require.NoError(t, err)
	require.EqualValues(t, 101, f.context.Load())
	inner, err := e.EnterDevice(0)
	require.NoError(t, err)
	require.EqualValues(t, 100, f.context.Load())
	f.syncs = driver.ResultIllegalAddress
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	require.Error(t, e.Synchronize(0))
	require.NoError(t, e.LeaveDevice(inner), "also from a poisoned one")
	require.EqualValues(t, 101, f.context.Load())
	require.NoError(t, e.LeaveDevice(outer))
	require.EqualValues(t, 200, f.context.Load())
	refused(t, e.LeaveDevice(0x1234), status.Argument, "former is 0x1234")
	_, err = e.EnterDevice(2)
	refused(t, err, status.Argument, "device 2 does not exist")
	require.EqualValues(t, 200, f.context.Load())
}

func TestPriorities(t *testing.T) {
	e, _ := newEngine(t)
	least, greatest, err := e.StreamPriorities(1)
	require.NoError(t, err)
	require.Equal(t, [2]int32{0, -5}, [2]int32{least, greatest})
	for _, priority := range []int32{0, -1, -5} {
		_, err := e.CreateStreamWithPriority(0, launch.StreamNonBlocking, priority)
		require.NoError(t, err)
	}
	for _, priority := range []int32{1, -6} {
		_, err := e.CreateStreamWithPriority(1, 0, priority)
		refused(t, err, status.Argument, fmt.Sprintf("priority is %d; device 1 has 0 (least) to -5 (greatest)", priority))
	}
}

// everything is an engine with one thing of each kind, and values that its methods
// can be called with.
func everything(t *testing.T, folder string) (*launch.Engine, *fake, *[]string, map[reflect.Type][]any) {
	e, f, seen := watched(t)
	k := getKernel(t, e, saxpyPrototype)
	a, err := e.CreateArray(0, f32, []int64{4})
	require.NoError(t, err)
	s, err := e.CreateStream(0, 0)
	require.NoError(t, err)
	ev, err := e.CreateEvent(0, 0)
	require.NoError(t, err)
	require.NoError(t, e.RecordEvent(ev, 0))
	host := make([]byte, 4096)
	f.pinner.Pin(&host[0])
	tensor := tensorArg(t, make([]float32, 4), cpuDevice, []int64{4}, nil)
	values := map[reflect.Type][]any{}
	for _, v := range []any{
		handles.Handle(1<<48 | 1<<24), k, a, s, ev,
		handles.Library, handles.Kernel, handles.Array, handles.Stream, handles.Event,
		0, 1, int32(1), uint32(0), uint64(0), uint64(16), uint64(s), uintptr(unsafe.Pointer(&host[0])), true, false,
		"saxpy", saxpyPrototype, filepath.Join(folder, "saxpy.ptx"), []byte(saxpyPTX),
		launch.LibraryOptions{}, f32, []int64{4}, func(uint64) error { return nil },
		config(), []exec.Arg{float(1), tensor, tensor}, exec.Fault{Reason: exec.NoLimits, Argument: -1},
		&dlpack.View{Type: f32, Device: dlpack.Device{Type: dlpack.CUDA}, Shape: []int64{4}, Address: 4096, Size: 4},
	} {
		values[reflect.TypeOf(v)] = append(values[reflect.TypeOf(v)], v)
	}
	return e, f, seen, values
}

// eachCall calls every method of an engine in every way, each on a fresh one that
// prepare has seen, and looks afterwards.
func eachCall(t *testing.T, prepare func(e *launch.Engine, f *fake), look func(call string, failed bool, f *fake, seen []string)) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "saxpy.ptx"), []byte(saxpyPTX), 0o600))
	ofEngine := reflect.TypeFor[*launch.Engine]()
	for i := range ofEngine.NumMethod() {
		method := ofEngine.Method(i)
		if slices.Contains([]string{"Log", "EnterDevice", "LeaveDevice"}, method.Name) {
			continue // what they are for
		}
		var types []reflect.Type
		for j := 1; j < method.Type.NumIn(); j++ {
			types = append(types, method.Type.In(j))
		}
		_, _, _, values := everything(t, folder)
		var calls [][]int // which of its values each argument is
		count := func(at reflect.Type) int { return max(1, len(values[at])) }
		total := 1
		for _, at := range types {
			total *= count(at)
		}
		for n := range total {
			var call []int
			for _, at := range types {
				call = append(call, n%count(at))
				n /= count(at)
			}
			calls = append(calls, call)
		}
		for _, call := range calls {
			e, f, seen, values := everything(t, folder)
			prepare(e, f)
			*seen = nil
			args := []reflect.Value{reflect.ValueOf(e)}
			for j, at := range types {
				if values[at] == nil {
					args = append(args, reflect.Zero(at)) // a type that a new method brought
				} else {
					args = append(args, reflect.ValueOf(values[at][call[j]]))
				}
			}
			failed := false
			func() {
				defer func() { failed = recover() != nil || failed }()
				for _, out := range method.Func.Call(args) {
					if err, is := out.Interface().(error); is && err != nil {
						failed = true
					}
				}
			}()
			look(fmt.Sprintf("%s%v", method.Name, args[1:]), failed, f, *seen)
		}
	}
}

// Whatever is called, and whatever comes of it: the thread's context and capture
// mode are what they were.
func TestEveryCallLeavesTheContext(t *testing.T) {
	for _, current := range []uint64{0, 100, 101, 200} {
		worked := map[string]bool{}
		eachCall(t, func(_ *launch.Engine, f *fake) { f.context.Store(current) }, func(call string, failed bool, f *fake, seen []string) {
			require.Equal(t, current, f.context.Load(), call)
			require.Zero(t, f.mode.Load(), call)
			if !failed && len(seen) > 0 {
				name, _, _ := strings.Cut(call, "[")
				worked[name] = true
			}
		})
		require.Greater(t, len(worked), 15, "calls that used the driver and went well")
	}
}

// After a fault nothing asks the driver to do anything.
func TestAfterPoisonTheDriverIsLeftAlone(t *testing.T) {
	t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
	harmless := []string{"DeviceCount", "ContextCurrent", "ContextDevice"}
	eachCall(t, func(e *launch.Engine, f *fake) {
		f.syncs = driver.ResultIllegalAddress
		require.Error(t, e.Synchronize(0))
		exec.ClearAttention(exec.Poisoned) // it is the next engine's too
	}, func(call string, _ bool, _ *fake, seen []string) {
		for _, function := range seen {
			name, _, _ := strings.Cut(function, "@")
			require.Contains(t, harmless, name, call)
		}
	})
}
