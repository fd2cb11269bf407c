package launch_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec/exectest"
	"dlaunch/launch"
)

// fake is a driver whose device memory is Go memory and whose launches are kept
// by exectest: what launch does with a driver can be looked at.
type fake struct {
	mu                  sync.Mutex
	blocks              map[driver.Address][]byte
	pinner              runtime.Pinner
	context             atomic.Uint64
	capturing           bool
	graph               fakeGraph
	retained            [2]bool      // the devices' contexts
	elsewhere           bool         // another thread captures ...
	lost                bool         // ... which what is not relaxed ends
	mode                atomic.Int32 // the thread's stream capture mode
	unloaded            []driver.Library
	dynamic             int32         // what KernelMaxDynamicShared is now
	set                 [][2]int32    // attributes and values that were set
	sets                driver.Result // what setting answers
	clusters            int32         // whether the devices launch them
	lacksClusters       bool          // the driver's functions for their occupancy
	old                 bool          // the driver cannot tell a CUkernel
	tells               bool          // ... or tells an unloaded one from others
	loaded              []driver.Function
	configured, cluster []uint32      // what occupancy was asked about
	loads               driver.Result // what getting a kernel answers
	counts              driver.Result // what counting kernels answers
	log                 string        // what the compiler logs then
	logTo               []byte
	allocates           driver.Result
	noPools             bool
	syncs               driver.Result
	events              driver.Result // what asking for an event answers
	pinned              []uintptr     // page-locked memory
	lacksPinned         bool
	copiesBack          func(block []byte) // sees what comes back from the device
	copiesBackLeft      int                // before one fails; 0: none does
	waits               driver.Result      // what a stream that is to wait answers
	streams             driver.Stream      // how many were created
	copiesIn            int                // copies to the device
	ordered             []string           // what was done about the order of streams
	captured            driver.Stream      // the one that becomes a graph; 0: as capturing says
	gone                []uint64           // what giveBack heard
	params              [][2]uint64        // offset and size of each parameter; nil: the driver cannot tell

	foreign driver.Context     // of streams that the fake did not make
	symbols map[string]uint64  // sizes of those that a library has; they lie in symbol memory
	symbol  [2]driver.Address  // where that is, for each device
	linked  []driver.LinkInput // what was linked last, to this:
	cubin   []byte
	options []driver.JITOption // of the last load or link, logs left out
}

const fakeSharedOptIn = 232448

// newEngine gives an engine over a fake with two devices.
func newEngine(t *testing.T) (*launch.Engine, *fake) {
	f := &fake{blocks: map[driver.Address][]byte{}, dynamic: 49152}
	t.Cleanup(f.pinner.Unpin)
	return launch.New(func() (launch.Driver, error) {
		return launch.Driver{API: f.api(), DeviceType: 2}, nil
	}, f.giveBack), f
}

func (f *fake) api() *driver.API {
	const ok = driver.ResultSuccess
	attributes := map[int32]int32{1: 1024, 2: 1024, 3: 1024, 4: 64, 5: 1<<31 - 1, 6: 65535, 7: 65535, 8: 49152, 97: fakeSharedOptIn, 75: 9, 76: 0, 16: 100}
	return &driver.API{
		Kind: "cuda", Version: 13000, LaunchKernelEx: exectest.Record(), StreamIsCapturing: exectest.IsCapturing(),
		DeviceCount: func() (int, driver.Result) { return 2, ok },
		DeviceAttribute: func(id int32, _ driver.Device) (int32, driver.Result) {
			if id == driver.DeviceClusterLaunch {
				return f.clusters, ok
			}
			value, known := attributes[id]
			if !known {
				return 0, driver.ResultInvalidValue
			}
			return value, ok
		},
		PrimaryContextRetain: func(d driver.Device) (driver.Context, driver.Result) {
			f.retained[d] = true
			return driver.Context(100 + d), ok
		},
		ContextCurrent:     func() (driver.Context, driver.Result) { return driver.Context(f.context.Load()), ok },
		ContextSetCurrent:  func(c driver.Context) driver.Result { f.context.Store(uint64(c)); return ok },
		ContextDevice:      f.contextDevice,
		ContextSynchronize: func() driver.Result { f.order("synchronize context %d", f.context.Load()); return f.syncs },
		LibraryLoad: func(_ []byte, options []driver.JITOption) (driver.Library, driver.Result) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.take(options)
			return 7, ok
		},
		LibraryLink: func(inputs []driver.LinkInput, options []driver.JITOption) (driver.Library, []byte, driver.Result) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.take(options)
			f.linked = inputs
			return 7, f.cubin, ok
		},
		LibraryUnload: func(l driver.Library) driver.Result {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.unloaded = append(f.unloaded, l)
			return f.unsafe(ok)
		},
		LibraryKernel: func(_ driver.Library, name string) (driver.Kernel, driver.Result) {
			if f.loads != ok {
				copy(f.logTo, f.log)
				return 0, f.loads
			}
			switch name {
			case "saxpy":
				return 0x2000, ok
			case "sample":
				return sampleKernel, ok
			}
			return 0, driver.ResultNotFound
		},
		LibraryGlobal: func(_ driver.Library, name string) (driver.Address, uint64, driver.Result) {
			size, there := f.symbols[name]
			if !there {
				return 0, 0, driver.ResultNotFound
			}
			return f.symbol[f.context.Load()%100], size, ok
		},
		LibraryKernelCount: func(l driver.Library) (int, driver.Result) {
			if l == driver.Library(placeOf(itsImage)) {
				panic("the driver dies of it")
			}
			return 1, f.counts
		},
		LibraryKernels: func(l driver.Library, n int) ([]driver.Kernel, driver.Result) {
			if l != 7 {
				return []driver.Kernel{foreignKernel()}, ok
			}
			return make([]driver.Kernel, n), ok
		},
		KernelName: func(driver.Kernel) (string, driver.Result) { return "saxpy", ok },
		KernelParam: func(_ driver.Kernel, i int) (uint64, uint64, driver.Result) {
			if f.params == nil {
				return 0, 0, driver.ResultNotSupported
			}
			if i >= len(f.params) {
				return 0, 0, driver.ResultInvalidValue
			}
			return f.params[i][0], f.params[i][1], ok
		},
		KernelAttribute: func(id int32, _ driver.Kernel, _ driver.Device) (int32, driver.Result) {
			return f.attribute(id)
		},
		KernelSetAttribute: func(id, value int32, _ driver.Kernel, _ driver.Device) driver.Result {
			return f.setAttribute(id, value)
		},
		KernelFunction: func(k driver.Kernel) (driver.Function, driver.Result) {
			if k == sampleKernel {
				return sampleFunction(), ok
			}
			return driver.Function(k) + 1, ok
		},
		KernelLibrary:  f.kernelLibrary,
		FunctionModule: functionModule,
		FunctionName:   func(driver.Function) (string, driver.Result) { return "saxpy", ok },
		FunctionParam: func(_ driver.Function, i int) (uint64, uint64, driver.Result) {
			if i >= len(saxpySlots) {
				return 0, 0, driver.ResultInvalidValue
			}
			return saxpySlots[i][0], saxpySlots[i][1], ok
		},
		FunctionLoad:         func(g driver.Function) driver.Result { f.loaded = append(f.loaded, g); return ok },
		FunctionAttribute:    func(id int32, _ driver.Function) (int32, driver.Result) { return f.attribute(id) },
		FunctionSetAttribute: func(id, value int32, _ driver.Function) driver.Result { return f.setAttribute(id, value) },
		MaxActiveBlocks:      f.maxActiveBlocks,
		AvailableShared: func(_ driver.Function, blocks, block int32) (uint64, driver.Result) {
			if blocks*block > 2048 {
				return 0, driver.ResultInvalidValue
			}
			return uint64(100*blocks + block), ok
		},
		MaxClusterSize:    f.clustersOf,
		MaxActiveClusters: f.clustersOf,
		StreamCreate: func(uint32, int32) (driver.Stream, driver.Result) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.streams++
			return 0x4fff + f.streams, ok
		},
		StreamDestroy:     func(driver.Stream) driver.Result { return ok },
		StreamSynchronize: func(driver.Stream) driver.Result { return f.unsafe(f.syncs) },
		EventCreate:       func(uint32) (driver.Event, driver.Result) { return 9, ok },
		EventSynchronize:  func(driver.Event) driver.Result { return f.unsafe(f.syncs) },
		EventElapsed:      func(_, _ driver.Event) (float32, driver.Result) { return 1.5, f.unsafe(f.events) },
		StreamWaitEvent:   func(s driver.Stream, _ driver.Event) driver.Result { f.order("wait on %#x", s); return f.waits },
		EventRecord:       func(_ driver.Event, s driver.Stream) driver.Result { f.order("record on %#x", s); return ok },
		EventQuery:        func(driver.Event) driver.Result { return f.unsafe(f.events) },
		EventDestroy:      func(driver.Event) driver.Result { return ok },
		StreamCapturing: func(s driver.Stream) (bool, driver.Result) {
			return f.capturing || f.graph.captures(s) || f.captured != 0 && s == f.captured, ok
		},
		MemAlloc: f.alloc,
		MemFree:  f.free,
		MemAllocAsync: func(n uint64, s driver.Stream) (driver.Address, driver.Result) {
			f.unsafe(ok)
			f.graph.note("alloc", s)
			if f.noPools {
				return 0, driver.ResultNotSupported
			}
			return f.alloc(n)
		},
		MemFreeAsync: func(a driver.Address, s driver.Stream) driver.Result {
			f.unsafe(ok)
			f.graph.note("free", s)
			return f.free(a)
		},
		MemHostAlloc: func(n uint64) (uintptr, driver.Result) {
			if f.lacksPinned {
				return 0, driver.ResultNotSupported
			}
			address, r := f.alloc(n)
			f.mu.Lock()
			defer f.mu.Unlock()
			f.pinned = append(f.pinned, uintptr(address))
			return uintptr(address), r
		},
		MemHostFree: func(host uintptr) driver.Result {
			f.mu.Lock()
			f.pinned = slices.DeleteFunc(f.pinned, func(p uintptr) bool { return p == host })
			f.mu.Unlock()
			return f.free(driver.Address(host))
		},
		MemInfo: func() (uint64, uint64, driver.Result) { return 1000, 2000, ok },
		CopyHostToDevice: func(dst driver.Address, src uintptr, n uint64, _ driver.Stream) driver.Result {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.copiesIn++
			copy(bytesAt(uint64(dst), n), bytesAt(uint64(src), n))
			return ok
		},
		CopyDeviceToHost: func(dst uintptr, src driver.Address, n uint64, _ driver.Stream) driver.Result {
			f.mu.Lock()
			defer f.mu.Unlock()
			copy(bytesAt(uint64(dst), n), bytesAt(uint64(src), n))
			if f.copiesBack != nil {
				f.copiesBack(bytesAt(uint64(dst), n))
			}
			if f.copiesBackLeft--; f.copiesBackLeft == 0 {
				return driver.ResultInvalidValue
			}
			return ok
		},
		CaptureMode:        func(mode int32) (int32, driver.Result) { return f.mode.Swap(mode), ok },
		StreamCaptureGraph: f.graph.of, UserObjectCreate: f.graph.create, UserObjectRelease: f.graph.release, GraphRetainUserObject: f.graph.retain,
		StreamBeginCapture: f.graph.begin, StreamEndCapture: f.graph.finish, GraphInstantiate: f.graph.instantiate, GraphLaunch: f.graph.launch,
		GraphDestroy:     func(driver.Graph) driver.Result { return f.graph.letGo() },
		GraphExecDestroy: func(driver.GraphExec) driver.Result { return f.graph.letGo() },

		StreamPriorityRange: func() (int32, int32, driver.Result) { return 0, -5, ok },
		StreamQuery:         func(driver.Stream) driver.Result { return f.unsafe(f.syncs) },
		StreamContext:       f.streamContext,
	}
}

func (f *fake) attribute(id int32) (int32, driver.Result) {
	if id > driver.KernelClusterPolicy {
		return 0, driver.ResultInvalidValue
	}
	return map[int32]int32{0: 512, 1: 1024, 8: f.dynamic}[id], driver.ResultSuccess
}

func (f *fake) setAttribute(id, value int32) driver.Result {
	if f.sets == driver.ResultSuccess {
		f.set = append(f.set, [2]int32{id, value})
		if id == driver.KernelMaxDynamicShared {
			f.dynamic = value
		}
	}
	return f.sets
}

func (f *fake) take(options []driver.JITOption) {
	f.options = nil
	for _, o := range options {
		switch {
		case o.ID == 5: // CU_JIT_ERROR_LOG_BUFFER
			f.logTo = bytesAt(o.Value, 8192)
		case o.ID < 3 || o.ID > 6:
			f.options = append(f.options, o)
		}
	}
}

// unsafe is what the driver does in calls that it calls unsafe: while another
// thread captures, or with the stream that is captured (seen: 580).
func (f *fake) unsafe(r driver.Result) driver.Result {
	const relaxed = 2
	if f.elsewhere && f.mode.Load() != relaxed || f.capturing {
		f.lost = true
		return driver.ResultStreamCaptureUnsupported
	}
	return r
}

func (f *fake) streamContext(stream driver.Stream) (driver.Context, driver.Result) {
	if stream == 0x5000 || f.foreign == 0 {
		return 0, driver.ResultInvalidHandle
	}
	return f.foreign, driver.ResultSuccess
}

// contextDevice: 100 and 101 are the devices' primary contexts, 200 and 201 others.
func (f *fake) contextDevice() (driver.Device, driver.Result) {
	context := f.context.Load()
	if context == 0 {
		return 0, driver.ResultInvalidContext
	}
	return driver.Device(context % 100), driver.ResultSuccess
}

func (f *fake) order(format string, value any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ordered = append(f.ordered, fmt.Sprintf(format, value))
}

func (f *fake) giveBack(taken uint64) { f.gone = append(f.gone, taken) }

func bytesAt(address, n uint64) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&address))), n)
}

func (f *fake) alloc(n uint64) (driver.Address, driver.Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n == 0 {
		return 0, driver.ResultInvalidValue
	}
	if f.allocates != driver.ResultSuccess {
		return 0, f.allocates
	}
	block := make([]byte, n+16)
	f.pinner.Pin(&block[0])
	address := (driver.Address(uintptr(unsafe.Pointer(&block[0]))) + 15) &^ 15
	f.blocks[address] = block
	return address, driver.ResultSuccess
}

func (f *fake) free(a driver.Address) driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.blocks[a]; !there {
		panic("freed twice")
	}
	delete(f.blocks, a)
	return driver.ResultSuccess
}

// alive counts the blocks of device memory.
func (f *fake) alive() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.blocks) - len(f.pinned)
}
