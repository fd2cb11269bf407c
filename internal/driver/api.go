// Package driver is the CUDA driver API as a Go struct of typed functions. Cuda
// fills it from libcuda.so.1, found at run time; the simulator fills the same
// struct with its own functions. Names and codes of results live here too, so
// that an error can be worded with no driver at all.
//
// It knows no tensors, handles or prototypes.
package driver

// The driver's own handles, as numbers: a Go pointer never stands for them.
type (
	Device  int32
	Context uintptr
	Library uintptr
	Kernel  uintptr // a CUkernel, or a CUfunction where the driver takes either
	Stream  uint64  // 0 and 1 legacy default stream, 2 per-thread default stream
	Event   uintptr
	Address uint64 // a CUdeviceptr

	Graph      uintptr
	GraphExec  uintptr
	UserObject uintptr
	Function   uintptr // a CUfunction: a kernel in one context
	Module     uintptr
)

// JITOption is one CUjit_option and its value: a scalar, or the address of
// memory that outlives the library's first kernel lookup (the driver writes its
// logs that late: seen with driver 580).
type JITOption struct {
	ID    int32
	Value uint64
}

// API is one driver. Every function is present: one that this driver lacks
// answers ResultNotSupported and costs nothing to call. Functions that need a
// current context say so; callers pin the OS thread around them.
type API struct {
	Kind    string // "cuda" or "sim"
	Path    string // the library that was opened, or "" for the simulator
	Version int    // cuDriverGetVersion: 1000*major + 10*minor
	Reason  string // why this driver was chosen, for dlaunch_driver_info

	// Missing lists optional driver functions that were not found, with the
	// version that brings each: "cuKernelGetParamInfo (12.4)".
	Missing []string

	DeviceCount     func() (int, Result)
	DeviceAttribute func(attribute int32, device Device) (int32, Result)

	PrimaryContextRetain func(device Device) (Context, Result)
	ContextCurrent       func() (Context, Result)
	ContextSetCurrent    func(context Context) Result
	ContextDevice        func() (Device, Result) // of the current context
	ContextSynchronize   func() Result           // the current context

	LibraryLoad        func(image []byte, options []JITOption) (Library, Result)               // PTX gets its NUL here
	LibraryLink        func(inputs []LinkInput, options []JITOption) (Library, []byte, Result) // and the cubin; none of the simulator
	LibraryUnload      func(library Library) Result
	LibraryKernel      func(library Library, name string) (Kernel, Result)
	LibraryKernelCount func(library Library) (int, Result)             // 12.4
	LibraryKernels     func(library Library, n int) ([]Kernel, Result) // 12.4
	LibraryGlobal      func(library Library, name string) (Address, uint64, Result)
	KernelName         func(kernel Kernel) (string, Result)                           // 12.3
	KernelParam        func(kernel Kernel, index int) (offset, size uint64, r Result) // 12.4; ResultInvalidValue past the end; needs a current context
	KernelAttribute    func(attribute int32, kernel Kernel, device Device) (int32, Result)
	KernelSetAttribute func(attribute, value int32, kernel Kernel, device Device) Result
	KernelFunction     func(kernel Kernel) (Function, Result) // in the current context
	KernelLibrary      func(kernel Kernel) (Library, Result)  // 12.5

	FunctionModule       func(function Function) (Module, Result)
	FunctionName         func(function Function) (string, Result)                           // 12.3
	FunctionParam        func(function Function, index int) (offset, size uint64, r Result) // 12.4, as KernelParam
	FunctionLoad         func(function Function) Result                                     // 12.4
	FunctionAttribute    func(attribute int32, function Function) (int32, Result)
	FunctionSetAttribute func(attribute, value int32, function Function) Result

	// Occupancy needs the function's context to be current; config is the address of
	// a CUlaunchConfig.
	MaxActiveBlocks   func(function Function, block int32, shared uint64) (int32, Result)
	AvailableShared   func(function Function, blocks, block int32) (uint64, Result)
	MaxClusterSize    func(function Function, config uintptr) (int32, Result)
	MaxActiveClusters func(function Function, config uintptr) (int32, Result)

	StreamCreate func(flags uint32, priority int32) (Stream, Result) // in the current context
	// StreamPriorityRange is of the current context's device: lower numbers go first.
	StreamPriorityRange func() (least, greatest int32, r Result)

	StreamDestroy     func(stream Stream) Result
	StreamSynchronize func(stream Stream) Result
	StreamQuery       func(stream Stream) Result
	StreamContext     func(stream Stream) (Context, Result)
	StreamCapturing   func(stream Stream) (bool, Result)
	StreamWaitEvent   func(stream Stream, event Event) Result
	EventCreate       func(flags uint32) (Event, Result)
	EventRecord       func(event Event, stream Stream) Result
	EventQuery        func(event Event) Result
	EventSynchronize  func(event Event) Result
	EventDestroy      func(event Event) Result
	EventElapsed      func(start, end Event) (float32, Result)

	MemAlloc         func(bytes uint64) (Address, Result)
	MemFree          func(address Address) Result
	MemAllocAsync    func(bytes uint64, stream Stream) (Address, Result)
	MemFreeAsync     func(address Address, stream Stream) Result
	MemHostAlloc     func(bytes uint64) (uintptr, Result) // page-locked host memory
	MemHostFree      func(host uintptr) Result
	MemInfo          func() (free, total uint64, r Result)                              // of the current context's device
	CopyHostToDevice func(dst Address, src uintptr, bytes uint64, stream Stream) Result // asynchronous
	CopyDeviceToHost func(dst uintptr, src Address, bytes uint64, stream Stream) Result // asynchronous

	// CaptureMode exchanges the thread's stream capture mode (CaptureRelaxed) and
	// gives the former one.
	CaptureMode func(mode int32) (int32, Result)

	// A user object calls destroy, a C function of one pointer, with data on a
	// thread of the driver's, when nothing refers to it any more: neither a graph
	// nor what was instantiated from one.
	StreamCaptureGraph    func(stream Stream) (Graph, Result)              // 0 if there is no capture that works; 11.3
	UserObjectCreate      func(data, destroy uintptr) (UserObject, Result) // with one reference; 11.3
	UserObjectRelease     func(object UserObject) Result                   // drops the reference; 11.3
	GraphRetainUserObject func(graph Graph, object UserObject) Result      // moves the reference to the graph; 11.3

	// A GraphExec may be destroyed while it runs. The caller keeps launches of one apart.
	StreamBeginCapture func(stream Stream, mode int32) Result     // modes as in CaptureMode; 10.1
	StreamEndCapture   func(stream Stream) (Graph, Result)        // 0 if the capture has failed
	GraphInstantiate   func(graph Graph) (GraphExec, Result)      // 11.4
	GraphLaunch        func(exec GraphExec, stream Stream) Result // default streams are the current context's
	GraphDestroy       func(graph Graph) Result
	GraphExecDestroy   func(exec GraphExec) Result

	// What the executor calls from C: addresses of C functions with the
	// signatures of cuLaunchKernelEx, cuCtxGetCurrent, cuCtxSetCurrent,
	// cuCtxGetDevice, cuStreamGetCtx, cuStreamIsCapturing and cuPointerGetAttributes.
	// The simulator leaves them 0, and capi puts in its own.
	LaunchKernelEx, CtxGetCurrent, CtxSetCurrent, CtxGetDevice, StreamGetCtx, StreamIsCapturing, PointerGetAttributes uintptr
}

// Attributes of devices and kernels that dlaunch asks for (CUdevice_attribute
// and CUfunction_attribute in cuda.h 12.0).
const (
	DeviceMaxThreadsPerBlock     int32 = 1
	DeviceMaxBlockX              int32 = 2
	DeviceMaxBlockY              int32 = 3
	DeviceMaxBlockZ              int32 = 4
	DeviceMaxGridX               int32 = 5
	DeviceMaxGridY               int32 = 6
	DeviceMaxGridZ               int32 = 7
	DeviceMaxSharedPerBlock      int32 = 8
	DeviceWarpSize               int32 = 10
	DeviceMultiprocessors        int32 = 16
	DeviceComputeMajor           int32 = 75
	DeviceComputeMinor           int32 = 76
	DeviceCooperativeLaunch      int32 = 95
	DeviceMaxSharedPerBlockOptin int32 = 97
	DeviceClusterLaunch          int32 = 120
	KernelMaxThreadsPerBlock     int32 = 0
	KernelStaticShared           int32 = 1
	KernelMaxDynamicShared       int32 = 8
	KernelSharedCarveout         int32 = 9
	KernelClusterWidth           int32 = 11
	KernelClusterHeight          int32 = 12
	KernelClusterDepth           int32 = 13
	KernelNonPortableCluster     int32 = 14
	KernelClusterPolicy          int32 = 15
)

// Streams that always are, flags, modes and states, as cuda.h numbers them.
const (
	LegacyStream       = 1 // so is 0
	PerThreadStream    = 2 // another one on another thread; greater numbers are pointers
	StreamNonBlocking  = 1
	EventBlockingSync  = 1
	EventDisableTiming = 2
	CaptureRelaxed     = 2
	CaptureActive      = 1
)
