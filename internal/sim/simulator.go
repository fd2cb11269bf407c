// Package sim is a driver that runs kernels on the CPU: it fills driver.API, and
// runs PTX. It checks every access of a kernel against what the launch may
// touch, and says what was wrong.
//
// It knows no tensors' shapes, handles or prototypes: only ranges of addresses.
package sim

import (
	"sync"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// Options are what a Simulator is made with; zero means default.
type Options struct {
	Devices int // 1 by default
}

// MostDevices is how many a simulator can have.
const MostDevices = 16

// Version is that of the driver that loads the newest PTX the simulator reads.
const Version = 13050

// Simulator is one simulated driver. Its methods may be called from any thread.
type Simulator struct {
	devices int
	arena   *arena

	// running is held for reading by every launch, and for writing by whatever
	// takes memory away: as with CUDA, a free waits for the kernels that run.
	running sync.RWMutex

	mu        sync.Mutex // guards what follows
	next      uint64     // the next made-up number
	libraries map[driver.Library]*library
	kernels   map[driver.Kernel]*kernel
	streams   map[driver.Stream]driver.Context
	events    map[driver.Event]*event
	current   map[int]driver.Context // by OS thread
	capture   map[int]int32          // modes, likewise
	captures  map[driver.Stream]driver.Graph
	graphs    map[uint64]*graph // and what was instantiated
	objects   map[driver.UserObject]*held
	output    sync.Mutex // standard output, for printf
}

// New makes a simulator. It reserves addresses, not memory.
func New(options Options) (*Simulator, error) {
	if options.Devices < 0 || options.Devices > MostDevices {
		return nil, status.Errorf(status.Argument, "simulator: %d devices; 1 to %d are wanted", options.Devices, MostDevices)
	}
	arena, err := newArena()
	if err != nil {
		return nil, err
	}
	return &Simulator{
		devices: max(1, options.Devices), arena: arena, next: firstNumber,
		libraries: map[driver.Library]*library{}, kernels: map[driver.Kernel]*kernel{},
		streams: map[driver.Stream]driver.Context{}, events: map[driver.Event]*event{},
		current: map[int]driver.Context{}, capture: map[int]int32{},
		captures: map[driver.Stream]driver.Graph{}, graphs: map[uint64]*graph{}, objects: map[driver.UserObject]*held{},
	}, nil
}

// Close gives the address range back. Nothing may use the simulator any more.
func (s *Simulator) Close() error { return s.arena.release() }

// Memory gives the one range of addresses that device memory lies in.
func (s *Simulator) Memory() (base, size uint64) { return s.arena.base, s.arena.size }

// Allocation gives the device memory that an address is in: [start, start+size).
func (s *Simulator) Allocation(address uint64) (start, size uint64, found bool) {
	around, found := s.arena.around(address)
	return around.low, around.high - around.low, found
}

// Made-up numbers lie above the streams' reserved ones and below any pointer
// that a caller could confuse them with.
const (
	firstNumber  = 0x10000
	numberStride = 0x10
)

// number makes one up; s.mu is held.
func (s *Simulator) number() uint64 {
	s.next += numberStride
	return s.next
}

// API gives the driver.
func (s *Simulator) API() *driver.API {
	return &driver.API{
		Kind: "sim", Version: Version, Reason: "the simulator",
		DeviceCount:          func() (int, driver.Result) { return s.devices, driver.ResultSuccess },
		DeviceAttribute:      s.deviceAttribute,
		PrimaryContextRetain: s.primaryContextRetain, ContextCurrent: s.contextCurrent, ContextSetCurrent: s.contextSetCurrent,
		ContextDevice: s.contextDevice, ContextSynchronize: s.contextSynchronize,
		LibraryLoad: s.libraryLoad, LibraryLink: s.libraryLink, LibraryUnload: s.libraryUnload, LibraryKernel: s.libraryKernel,
		LibraryKernelCount: s.libraryKernelCount, LibraryKernels: s.libraryKernels, LibraryGlobal: s.libraryGlobal,
		KernelName: s.kernelName, KernelParam: s.kernelParam, KernelAttribute: s.kernelAttribute, KernelSetAttribute: s.kernelSetAttribute,
		KernelFunction: s.kernelFunction, KernelLibrary: s.kernelLibrary,
		FunctionModule: s.functionModule, FunctionName: s.functionName, FunctionParam: s.functionParam, FunctionLoad: s.functionLoad,
		FunctionAttribute: s.functionAttribute, FunctionSetAttribute: s.functionSetAttribute,
		MaxActiveBlocks: s.maxActiveBlocks, AvailableShared: s.availableShared, MaxClusterSize: s.noClusters, MaxActiveClusters: s.noClusters,
		StreamPriorityRange: s.streamPriorityRange, StreamCreate: s.streamCreate, StreamDestroy: s.streamDestroy, StreamSynchronize: s.streamSynchronize, StreamQuery: s.streamSynchronize,
		StreamContext: s.streamContext, StreamCapturing: s.streamCapturing, StreamWaitEvent: s.streamWaitEvent,
		EventCreate: s.eventCreate, EventRecord: s.eventRecord, EventQuery: s.eventQuery, EventSynchronize: s.eventQuery,
		EventDestroy: s.eventDestroy, EventElapsed: s.eventElapsed,
		MemAlloc: s.memAlloc, MemFree: s.memFree, MemAllocAsync: s.memAllocAsync, MemFreeAsync: s.memFreeAsync,
		MemHostAlloc: s.memHostAlloc, MemHostFree: s.memHostFree, MemInfo: s.memInfo,
		CopyHostToDevice: s.copyHostToDevice, CopyDeviceToHost: s.copyDeviceToHost,
		CaptureMode: s.captureMode, StreamCaptureGraph: s.streamCaptureGraph,
		UserObjectCreate: s.userObjectCreate, UserObjectRelease: s.userObjectRelease, GraphRetainUserObject: s.graphRetainUserObject,
		StreamBeginCapture: s.streamBeginCapture, StreamEndCapture: s.streamEndCapture, GraphInstantiate: s.graphInstantiate,
		GraphLaunch: s.graphLaunch, GraphDestroy: s.graphDestroy, GraphExecDestroy: s.graphExecDestroy,
	}
}
