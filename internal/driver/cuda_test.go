package driver

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// What libcuda_stub.c gives.
const (
	anAddress = 0xfedcba9876543210
	aSize     = 0x0123456789abcdef
)

// call is one function of API: how it is called, what must arrive in C, and what
// must come back.
type call struct {
	do       func(a *API) []any // the last is the Result
	function string
	args     []uint64
	text     string
	back     []any
}

func one(r Result) []any                       { return []any{r} }
func two[A any](v A, r Result) []any           { return []any{v, r} }
func three[A, B any](v A, w B, r Result) []any { return []any{v, w, r} }
func answered(call func(a *API) Result) func(*API) []any {
	return func(a *API) []any { return one(call(a)) }
}

// calls has each function of API under its name there.
var calls = map[string]call{
	"DeviceAttribute": {func(a *API) []any { return two(a.DeviceAttribute(75, 1)) }, "cuDeviceGetAttribute", []uint64{75, 1}, "", []any{int32(-7)}},

	"PrimaryContextRetain": {func(a *API) []any { return two(a.PrimaryContextRetain(2)) }, "cuDevicePrimaryCtxRetain", []uint64{2}, "", []any{Context(anAddress)}},
	"ContextCurrent":       {func(a *API) []any { return two(a.ContextCurrent()) }, "cuCtxGetCurrent", []uint64{}, "", []any{Context(anAddress)}},
	"ContextSetCurrent":    {answered(func(a *API) Result { return a.ContextSetCurrent(anAddress) }), "cuCtxSetCurrent", []uint64{anAddress}, "", nil},
	"ContextDevice":        {func(a *API) []any { return two(a.ContextDevice()) }, "cuCtxGetDevice", []uint64{}, "", []any{Device(2)}},
	"ContextSynchronize":   {answered(func(a *API) Result { return a.ContextSynchronize() }), "cuCtxSynchronize", []uint64{}, "", nil},

	"LibraryLoad": {func(a *API) []any {
		return two(a.LibraryLoad([]byte(".version 8.0"), []JITOption{{ID: 5, Value: anAddress}, {ID: 6, Value: 4096}}))
	}, "cuLibraryLoadData", []uint64{2, 5, anAddress, 6, 4096, 0, 0, 0}, ".version 8.0", []any{Library(anAddress)}},
	"LibraryLink": {func(a *API) []any {
		return three(a.LibraryLink([]LinkInput{{LinkPTX, []byte("PTX"), "a.ptx"}, {LinkArchive, []byte("!<arch>\n"), "b.a"}}, []JITOption{{ID: 5, Value: 77}, {ID: 0, Value: 32}}))
	}, "cuLibraryLoadData", []uint64{0, 0, 0, 0, 0, 0, 0, 0}, "2 0=32 1,4,a.ptx,0 4,8,b.a,10", []any{Library(anAddress), []byte("2 0=32 1,4,a.ptx,0 4,8,b.a,10")}},
	"LibraryUnload":      {answered(func(a *API) Result { return a.LibraryUnload(anAddress) }), "cuLibraryUnload", []uint64{anAddress}, "", nil},
	"LibraryKernel":      {func(a *API) []any { return two(a.LibraryKernel(anAddress, "saxpy")) }, "cuLibraryGetKernel", []uint64{anAddress}, "saxpy", []any{Kernel(5)}},
	"LibraryKernelCount": {func(a *API) []any { return two(a.LibraryKernelCount(anAddress)) }, "cuLibraryGetKernelCount", []uint64{anAddress}, "", []any{4}},
	"LibraryKernels": {func(a *API) []any { return two(a.LibraryKernels(anAddress, 3)) }, "cuLibraryEnumerateKernels", []uint64{3, anAddress}, "",
		[]any{[]Kernel{anAddress, anAddress + 1, anAddress + 2}}},
	"LibraryGlobal":      {func(a *API) []any { return three(a.LibraryGlobal(anAddress, "table")) }, "cuLibraryGetGlobal", []uint64{anAddress}, "table", []any{Address(anAddress), uint64(aSize)}},
	"KernelName":         {func(a *API) []any { return two(a.KernelName(anAddress)) }, "cuKernelGetName", []uint64{anAddress}, "", []any{"saxpy"}},
	"KernelParam":        {func(a *API) []any { return three(a.KernelParam(anAddress, 9)) }, "cuKernelGetParamInfo", []uint64{anAddress, 9}, "", []any{uint64(aSize), uint64(24)}},
	"KernelAttribute":    {func(a *API) []any { return two(a.KernelAttribute(8, anAddress, 1)) }, "cuKernelGetAttribute", []uint64{8, anAddress, 1}, "", []any{int32(-7)}},
	"KernelSetAttribute": {answered(func(a *API) Result { return a.KernelSetAttribute(9, -1, anAddress, 1) }), "cuKernelSetAttribute", []uint64{9, 1<<64 - 1, anAddress, 1}, "", nil},

	"StreamPriorityRange": {func(a *API) []any { return three(a.StreamPriorityRange()) }, "cuCtxGetStreamPriorityRange", []uint64{}, "", []any{int32(1), int32(-5)}},
	"KernelFunction":      {func(a *API) []any { return two(a.KernelFunction(anAddress)) }, "cuKernelGetFunction", []uint64{anAddress}, "", []any{Function(anAddress)}},
	"KernelLibrary":       {func(a *API) []any { return two(a.KernelLibrary(anAddress)) }, "cuKernelGetLibrary", []uint64{anAddress}, "", []any{Library(anAddress)}},

	"FunctionModule":       {func(a *API) []any { return two(a.FunctionModule(anAddress)) }, "cuFuncGetModule", []uint64{anAddress}, "", []any{Module(anAddress)}},
	"FunctionName":         {func(a *API) []any { return two(a.FunctionName(anAddress)) }, "cuFuncGetName", []uint64{anAddress}, "", []any{"saxpy"}},
	"FunctionParam":        {func(a *API) []any { return three(a.FunctionParam(anAddress, 9)) }, "cuFuncGetParamInfo", []uint64{anAddress, 9}, "", []any{uint64(aSize), uint64(24)}},
	"FunctionLoad":         {answered(func(a *API) Result { return a.FunctionLoad(anAddress) }), "cuFuncLoad", []uint64{anAddress}, "", nil},
	"FunctionAttribute":    {func(a *API) []any { return two(a.FunctionAttribute(8, anAddress)) }, "cuFuncGetAttribute", []uint64{8, anAddress}, "", []any{int32(-7)}},
	"FunctionSetAttribute": {answered(func(a *API) Result { return a.FunctionSetAttribute(9, -1, anAddress) }), "cuFuncSetAttribute", []uint64{anAddress, 9, 1<<64 - 1}, "", nil},

	"MaxActiveBlocks": {func(a *API) []any { return two(a.MaxActiveBlocks(anAddress, 128, aSize)) }, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
		[]uint64{anAddress, 128, aSize}, "", []any{int32(-7)}},
	"AvailableShared": {func(a *API) []any { return two(a.AvailableShared(anAddress, 2, 128)) }, "cuOccupancyAvailableDynamicSMemPerBlock",
		[]uint64{anAddress, 2, 128}, "", []any{uint64(aSize)}},
	"MaxClusterSize":    {func(a *API) []any { return two(a.MaxClusterSize(anAddress, 77)) }, "cuOccupancyMaxPotentialClusterSize", []uint64{anAddress, 77}, "", []any{int32(-7)}},
	"MaxActiveClusters": {func(a *API) []any { return two(a.MaxActiveClusters(anAddress, 77)) }, "cuOccupancyMaxActiveClusters", []uint64{anAddress, 77}, "", []any{int32(-7)}},

	"StreamCreate":      {func(a *API) []any { return two(a.StreamCreate(1, -5)) }, "cuStreamCreateWithPriority", []uint64{1, 1<<64 - 5}, "", []any{Stream(anAddress)}},
	"StreamDestroy":     {answered(func(a *API) Result { return a.StreamDestroy(anAddress) }), "cuStreamDestroy_v2", []uint64{anAddress}, "", nil},
	"StreamSynchronize": {answered(func(a *API) Result { return a.StreamSynchronize(2) }), "cuStreamSynchronize", []uint64{2}, "", nil},
	"StreamQuery":       {answered(func(a *API) Result { return a.StreamQuery(1) }), "cuStreamQuery", []uint64{1}, "", nil},
	"StreamContext":     {func(a *API) []any { return two(a.StreamContext(anAddress)) }, "cuStreamGetCtx", []uint64{anAddress}, "", []any{Context(anAddress)}},
	"StreamCapturing":   {func(a *API) []any { return two(a.StreamCapturing(anAddress)) }, "cuStreamIsCapturing", []uint64{anAddress}, "", []any{true}},
	"StreamWaitEvent":   {answered(func(a *API) Result { return a.StreamWaitEvent(1, anAddress) }), "cuStreamWaitEvent", []uint64{1, anAddress, 0}, "", nil},
	"EventCreate":       {func(a *API) []any { return two(a.EventCreate(2)) }, "cuEventCreate", []uint64{2}, "", []any{Event(anAddress)}},
	"EventRecord":       {answered(func(a *API) Result { return a.EventRecord(anAddress, 1) }), "cuEventRecord", []uint64{anAddress, 1}, "", nil},
	"EventQuery":        {answered(func(a *API) Result { return a.EventQuery(anAddress) }), "cuEventQuery", []uint64{anAddress}, "", nil},
	"EventSynchronize":  {answered(func(a *API) Result { return a.EventSynchronize(anAddress) }), "cuEventSynchronize", []uint64{anAddress}, "", nil},
	"EventDestroy":      {answered(func(a *API) Result { return a.EventDestroy(anAddress) }), "cuEventDestroy_v2", []uint64{anAddress}, "", nil},
	"EventElapsed":      {func(a *API) []any { return two(a.EventElapsed(anAddress, 77)) }, "cuEventElapsedTime", []uint64{anAddress, 77}, "", []any{float32(1.5)}},

	"MemAlloc":         {func(a *API) []any { return two(a.MemAlloc(aSize)) }, "cuMemAlloc_v2", []uint64{aSize}, "", []any{Address(anAddress)}},
	"MemFree":          {answered(func(a *API) Result { return a.MemFree(anAddress) }), "cuMemFree_v2", []uint64{anAddress}, "", nil},
	"MemAllocAsync":    {func(a *API) []any { return two(a.MemAllocAsync(aSize, 2)) }, "cuMemAllocAsync", []uint64{aSize, 2}, "", []any{Address(anAddress)}},
	"MemFreeAsync":     {answered(func(a *API) Result { return a.MemFreeAsync(anAddress, 2) }), "cuMemFreeAsync", []uint64{anAddress, 2}, "", nil},
	"MemHostAlloc":     {func(a *API) []any { return two(a.MemHostAlloc(aSize)) }, "cuMemHostAlloc", []uint64{aSize, 0}, "", []any{uintptr(anAddress)}},
	"MemHostFree":      {answered(func(a *API) Result { return a.MemHostFree(anAddress) }), "cuMemFreeHost", []uint64{anAddress}, "", nil},
	"MemInfo":          {func(a *API) []any { return three(a.MemInfo()) }, "cuMemGetInfo_v2", []uint64{}, "", []any{uint64(aSize), uint64(anAddress)}},
	"CopyHostToDevice": {answered(func(a *API) Result { return a.CopyHostToDevice(anAddress, 0x7000, aSize, 2) }), "cuMemcpyHtoDAsync_v2", []uint64{anAddress, 0x7000, aSize, 2}, "", nil},
	"CopyDeviceToHost": {answered(func(a *API) Result { return a.CopyDeviceToHost(0x7000, anAddress, aSize, 2) }), "cuMemcpyDtoHAsync_v2", []uint64{0x7000, anAddress, aSize, 2}, "", nil},

	"StreamCaptureGraph":    {func(a *API) []any { return two(a.StreamCaptureGraph(0x7001)) }, "cuStreamGetCaptureInfo_v2", []uint64{0x7001, 0, 0, 0}, "", []any{Graph(anAddress)}},
	"UserObjectCreate":      {func(a *API) []any { return two(a.UserObjectCreate(0x7000, anAddress)) }, "cuUserObjectCreate", []uint64{0x7000, anAddress, 1, 1}, "", []any{UserObject(anAddress)}},
	"UserObjectRelease":     {answered(func(a *API) Result { return a.UserObjectRelease(anAddress) }), "cuUserObjectRelease", []uint64{anAddress, 1}, "", nil},
	"GraphRetainUserObject": {answered(func(a *API) Result { return a.GraphRetainUserObject(0x7000, anAddress) }), "cuGraphRetainUserObject", []uint64{0x7000, anAddress, 1, 1}, "", nil},

	"StreamBeginCapture": {answered(func(a *API) Result { return a.StreamBeginCapture(anAddress, 2) }), "cuStreamBeginCapture_v2", []uint64{anAddress, 2}, "", nil},
	"StreamEndCapture":   {func(a *API) []any { return two(a.StreamEndCapture(0x7000)) }, "cuStreamEndCapture", []uint64{0x7000}, "", []any{Graph(anAddress)}},
	"GraphInstantiate":   {func(a *API) []any { return two(a.GraphInstantiate(0x7000)) }, "cuGraphInstantiateWithFlags", []uint64{0x7000, 0}, "", []any{GraphExec(anAddress)}},
	"GraphLaunch":        {answered(func(a *API) Result { return a.GraphLaunch(0x7000, anAddress) }), "cuGraphLaunch", []uint64{0x7000, anAddress}, "", nil},
	"GraphDestroy":       {answered(func(a *API) Result { return a.GraphDestroy(anAddress) }), "cuGraphDestroy", []uint64{anAddress}, "", nil},
	"GraphExecDestroy":   {answered(func(a *API) Result { return a.GraphExecDestroy(anAddress) }), "cuGraphExecDestroy", []uint64{anAddress}, "", nil},

	"CaptureMode": {func(a *API) []any { return two(a.CaptureMode(2)) }, "cuThreadExchangeStreamCaptureMode", []uint64{2}, "", []any{int32(1)}},
}

func TestEveryFunctionReachesItsOwn(t *testing.T) {
	api, stub := openStub(t)
	require.Empty(t, api.Missing)
	for name, c := range calls {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread() // the stub's notes are the thread's
			defer runtime.UnlockOSThread()
			stub.answer(ResultSuccess)
			got := c.do(api)
			noted := stub.last()
			require.Equal(t, c.function, noted.name())
			require.Equal(t, c.args, noted.arguments())
			if c.text != "" {
				require.Equal(t, c.text, noted.pointedTo())
			}
			require.Equal(t, append(append([]any{}, c.back...), ResultSuccess), got)

			stub.answer(ResultIllegalAddress)
			got = c.do(api)
			require.Equal(t, ResultIllegalAddress, got[len(got)-1])
		})
	}
}

func TestEveryFunctionIsThere(t *testing.T) {
	api, _ := openStub(t)
	value := reflect.ValueOf(*api)
	for i := range value.NumField() {
		name, field := value.Type().Field(i).Name, value.Field(i)
		switch field.Kind() {
		case reflect.Func:
			require.False(t, field.IsNil(), name)
			if name != "DeviceCount" { // OpenCUDA's own tests have it
				require.Contains(t, calls, name)
			}
		case reflect.Uintptr:
			require.NotZero(t, field.Uint(), name)
		}
	}
	n, r := api.DeviceCount()
	require.Equal(t, ResultSuccess, r)
	require.Equal(t, 3, n)
}

func TestMissingOptionalFunctions(t *testing.T) {
	api, _ := openStub(t, "-DWITHOUT_OPTIONAL", "-DVERSION=12000")
	require.ElementsMatch(t, []string{
		"cuFuncGetAttribute (2.2)", "cuFuncGetModule (11.0)", "cuFuncGetName (12.3)", "cuFuncGetParamInfo (12.4)", "cuFuncLoad (12.4)", "cuFuncSetAttribute (9.0)",
		"cuKernelGetFunction (12.0)", "cuKernelGetLibrary (12.5)",
		"cuOccupancyAvailableDynamicSMemPerBlock (10.2)", "cuOccupancyMaxActiveBlocksPerMultiprocessor (6.5)",
		"cuOccupancyMaxActiveClusters (11.7)", "cuOccupancyMaxPotentialClusterSize (11.7)", "cuKernelGetName (12.3)", "cuKernelGetParamInfo (12.4)", "cuLibraryEnumerateKernels (12.4)",
		"cuLibraryGetKernelCount (12.4)", "cuLinkAddData_v2 (6.5)", "cuLinkComplete (5.5)", "cuLinkCreate_v2 (6.5)", "cuLinkDestroy (5.5)", "cuMemFreeHost (2.0)", "cuMemGetInfo_v2 (3.2)", "cuMemHostAlloc (2.2)",
		"cuThreadExchangeStreamCaptureMode (10.1)", "cuStreamGetCaptureInfo_v2 (11.3)", "cuUserObjectCreate (11.3)",
		"cuUserObjectRelease (11.3)", "cuGraphRetainUserObject (11.3)",
		"cuStreamBeginCapture_v2 (10.1)", "cuStreamEndCapture (10.0)", "cuGraphInstantiateWithFlags (11.4)", "cuGraphLaunch (10.0)",
		"cuGraphDestroy (10.0)", "cuGraphExecDestroy (10.0)",
	}, api.Missing)
	for _, entry := range api.Missing {
		function, _, _ := strings.Cut(entry, " ")
		for name, c := range calls {
			if c.function == function {
				got := c.do(api)
				require.Equal(t, ResultNotSupported, got[len(got)-1], name)
			}
		}
	}
}

// Where nothing is captured, or the capture has failed, the graph means nothing.
func TestCapturesWithoutAGraph(t *testing.T) {
	api, _ := openStub(t)
	for _, stream := range []Stream{0x7000, 0x7002} { // the stub's status: none, invalidated
		graph, r := api.StreamCaptureGraph(stream)
		require.Equal(t, ResultSuccess, r)
		require.Zero(t, graph)
	}
}

func TestNoKernelsAreListedWithoutAsking(t *testing.T) {
	api, stub := openStub(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stub.answer(ResultIllegalAddress) // to whoever asks
	kernels, r := api.LibraryKernels(anAddress, 0)
	require.Equal(t, ResultSuccess, r)
	require.Empty(t, kernels)
}

// Memory handed to C must stay where it is while other goroutines make the
// collector run and stacks move.
func TestMemoryHandedToCStays(t *testing.T) {
	api, _ := openStub(t)
	const workers, rounds = 4, 300
	var wait sync.WaitGroup
	for worker := range workers {
		wait.Go(func() {
			for i := range rounds {
				name := strings.Repeat("k", worker*rounds+i)
				kernel, r := api.LibraryKernel(anAddress, name)
				if r != ResultSuccess || int(kernel) != len(name) {
					t.Errorf("a name of %d bytes arrived with %d: %v", len(name), kernel, r)
				}
				offset, size, r := api.KernelParam(anAddress, grow(i%50))
				if r != ResultSuccess || offset != aSize || size != 24 {
					t.Errorf("KernelParam gave %d, %d, %v", offset, size, r)
				}
				if i%20 == 0 {
					runtime.GC()
				}
			}
		})
	}
	wait.Wait()
}

// grow uses stack, so that the goroutine's moves.
func grow(depth int) int {
	var room [256]byte
	if depth == 0 {
		return int(room[0])
	}
	return grow(depth-1) + int(room[depth])
}
