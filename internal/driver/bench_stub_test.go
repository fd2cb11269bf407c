package driver

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"
)

// benchStub opens bench/stub/libcuda.c with its context current on this thread.
func benchStub(t *testing.T) (*API, uintptr) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	output, err := exec.Command("gcc", "-O2", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", path, "../../bench/stub/libcuda.c").CombinedOutput()
	require.NoError(t, err, "%s", output)
	api, err := OpenCUDA([]string{path})
	require.NoError(t, err)
	library, err := purego.Dlopen(path, purego.RTLD_NOW)
	require.NoError(t, err)

	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	context, r := api.PrimaryContextRetain(0)
	require.Equal(t, ResultSuccess, r)
	require.Equal(t, ResultSuccess, api.ContextSetCurrent(context))
	return api, library
}

func TestBenchStubTellsParametersByName(t *testing.T) {
	api, _ := benchStub(t)
	library, r := api.LibraryLoad([]byte(".version 8.0"), nil)
	require.Equal(t, ResultSuccess, r)
	type parameter struct{ offset, size uint64 }
	for name, want := range map[string][]parameter{
		"empty":                     nil,
		"args_2":                    {{0, 8}, {8, 8}},
		"args_0":                    nil,
		"args":                      nil,
		"args_":                     nil,
		"scalar_i32":                {{0, 4}},
		"saxpy_f32_ptr_ptr_i64":     {{0, 4}, {8, 8}, {16, 8}, {24, 8}},
		"mixed_u8_f64_bool_b16":     {{0, 1}, {8, 8}, {16, 1}, {18, 2}},
		"b128_bool_b128":            {{0, 16}, {16, 1}, {32, 16}},
		"i32_args_2_i32":            {{0, 4}, {8, 8}, {16, 8}, {24, 4}},
		"__i7_i_ii32_i32x_f24_i-32": nil,
	} {
		kernel, r := api.LibraryKernel(library, name)
		require.Equal(t, ResultSuccess, r)
		again, _ := api.LibraryKernel(library, name)
		require.Equal(t, kernel, again)
		named, r := api.KernelName(kernel)
		require.Equal(t, ResultSuccess, r)
		require.Equal(t, name, named)
		var got []parameter
		for {
			offset, size, r := api.KernelParam(kernel, len(got))
			if r == ResultInvalidValue {
				break
			}
			require.Equal(t, ResultSuccess, r)
			got = append(got, parameter{offset, size})
		}
		require.Equal(t, want, got, name)
	}
	require.Equal(t, ResultSuccess, api.LibraryUnload(library))
}

// launchConfig is CUlaunchConfig.
type launchConfig struct {
	grid, block   [3]uint32
	shared        uint32
	stream        uintptr
	attributes    uintptr
	numAttributes uint32
}

// stubLaunch is stub_launch of bench/stub/libcuda.c.
type stubLaunch struct {
	config     launchConfig
	function   uintptr
	size       uint64
	parameters [64]byte // and more
}

func TestBenchStubNotesLaunches(t *testing.T) {
	api, library := benchStub(t)
	count := function{symbol(t, library, "stub_launch_count")}
	address, _, _ := purego.SyscallN(symbol(t, library, "stub_last_launch"))
	last := *(**stubLaunch)(unsafe.Pointer(&address))

	// What C reads lies in the stub's own memory: Go's would have to be pinned.
	memory, r := api.MemHostAlloc(4096)
	require.Equal(t, ResultSuccess, r)
	given := *(**struct {
		config     launchConfig
		size       uint64
		extra      [5]uintptr
		parameters [12]byte
	})(unsafe.Pointer(&memory))
	given.config = launchConfig{grid: [3]uint32{7, 8, 9}, block: [3]uint32{32, 2, 1}, shared: 99, stream: 2}
	copy(given.parameters[:], "twelve bytes")
	given.size = 12
	given.extra = [5]uintptr{1, uintptr(unsafe.Pointer(&given.parameters)), 2, uintptr(unsafe.Pointer(&given.size)), 0}
	launch := function{api.LaunchKernelEx}
	config, extra := uintptr(unsafe.Pointer(&given.config)), uintptr(unsafe.Pointer(&given.extra))

	require.Equal(t, ResultSuccess, launch.call(config, 0x5550, 0, extra))
	require.Equal(t, Result(1), count.call())
	require.Equal(t, given.config, last.config)
	require.Equal(t, uintptr(0x5550), last.function)
	require.Equal(t, uint64(12), last.size)
	require.Equal(t, "twelve bytes", string(last.parameters[:12]))

	require.Equal(t, ResultSuccess, launch.call(config, 0x5550, extra, 0), "an array of pointers")
	require.Equal(t, Result(2), count.call())
	require.Zero(t, last.size)

	require.Equal(t, ResultInvalidValue, launch.call(config, 0x5550, extra, extra), "both")
	require.Equal(t, ResultSuccess, api.ContextSetCurrent(0))
	require.Equal(t, ResultInvalidContext, launch.call(config, 0x5550, 0, extra), "stream 2 without a context")
	require.Equal(t, Result(2), count.call())
}

func TestBenchStubMemoryIsTheHosts(t *testing.T) {
	api, _ := benchStub(t)
	host, r := api.MemHostAlloc(16)
	require.Equal(t, ResultSuccess, r)
	device, r := api.MemAlloc(16)
	require.Equal(t, ResultSuccess, r)
	require.Zero(t, device%256)
	bytes := *(**[16]byte)(unsafe.Pointer(&host))
	copy(bytes[:], "sixteen bytes it")
	require.Equal(t, ResultSuccess, api.CopyHostToDevice(device, host, 16, 0))
	clear(bytes[:])
	require.Equal(t, ResultSuccess, api.CopyDeviceToHost(host, device, 16, 0))
	require.Equal(t, "sixteen bytes it", string(bytes[:]))
	_, r = api.MemAlloc(1<<64 - 1)
	require.Equal(t, ResultOutOfMemory, r)
	require.Equal(t, ResultSuccess, api.MemFree(device))
	require.Equal(t, ResultSuccess, api.MemHostFree(host))
}
