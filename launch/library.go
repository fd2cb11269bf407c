package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
	"dlaunch/internal/status"
)

// library is what a dlaunch_library stands for.
type library struct {
	native  driver.Library
	label   string
	image   *ptx.Image    // of PTX; nil for binaries
	unnamed driver.Result // why the driver could not name them; success otherwise
	names   []string      // of its kernels
	carried carried       // their prototypes
	log     *jitLog

	addresses []uintptr // of it and its kernels in natives, whose lock guards them
	symbols   symbols   // what is bound to them
}

// LibraryOptions are those of dlaunch_library_options.
type LibraryOptions struct {
	Lazy    bool
	Log     func(text string) // receives the compiler's log, if wanted
	Options []driver.JITOption
}

// entry gives what the PTX declares of a kernel, nil if it is unknown.
func (l *library) entry(name string) *ptx.Entry {
	if l.image == nil {
		return nil
	}
	for i := range l.image.Entries {
		if l.image.Entries[i].Name == name {
			return &l.image.Entries[i]
		}
	}
	return nil
}

// LoadFile loads an image from a file.
func (e *Engine) LoadFile(path string, options LibraryOptions) (handles.Handle, error) {
	image, err := os.ReadFile(path)
	if err != nil {
		reason := err.Error()
		if inner, ok := err.(*os.PathError); ok {
			reason = inner.Err.Error()
		}
		code := status.NotFound
		if !os.IsNotExist(err) {
			code = status.Argument
		}
		return 0, status.Errorf(code, "cannot read %q: %s", path, reason)
	}
	return e.load(image, filepath.Base(path), options)
}

// Load loads an image from memory.
func (e *Engine) Load(image []byte, options LibraryOptions) (handles.Handle, error) {
	return e.load(image, fmt.Sprintf("%d bytes", len(image)), options)
}

func (e *Engine) load(image []byte, label string, options LibraryOptions) (handles.Handle, error) {
	api, err := e.api()
	if err != nil {
		return 0, err
	}
	if err := e.poisoned(); err != nil {
		return 0, err
	}
	e.reclaim()
	e.dropRetired()
	lib := &library{label: label}
	if lib.image, err = examine(image, api.Version); err != nil {
		return 0, err
	}
	lib.carried = carriedBy(image)
	if lib.log, err = newJITLog(); err != nil {
		return 0, err
	}
	err = e.on(e.currentDevice(), func(d *device) error {
		defer func() {
			if options.Log != nil {
				options.Log(lib.log.text())
			}
		}()
		var r driver.Result
		if lib.native, r = api.LibraryLoad(image, append(lib.log.options(), options.Options...)); r != driver.ResultSuccess {
			return e.imageError(lib, image, d, r)
		}
		if options.Lazy && !e.simulated() {
			return e.nameKernels(lib)
		}
		if err := e.prove(lib, image, d); err != nil {
			api.LibraryUnload(lib.native)
			return err
		}
		return nil
	})
	if err != nil {
		lib.log.free()
		return 0, err
	}
	entry, err := e.table.Open(handles.Library, label, lib, func() { e.unloadLibrary(lib) })
	if err != nil {
		e.unloadLibrary(lib)
		return 0, err
	}
	e.natives.add(uintptr(lib.native), native{library: entry})
	return entry.Handle, nil
}

// nameKernels learns what kernels there are: from the PTX, else from the driver.
func (e *Engine) nameKernels(lib *library) error {
	if lib.image != nil {
		for i := range lib.image.Entries {
			lib.names = append(lib.names, lib.image.Entries[i].Name)
		}
		return nil
	}
	api := e.driver.API
	n, r := api.LibraryKernelCount(lib.native)
	var kernels []driver.Kernel
	if r == driver.ResultSuccess {
		kernels, r = api.LibraryKernels(lib.native, n)
	}
	for _, k := range kernels {
		name, named := api.KernelName(k)
		if r = named; r != driver.ResultSuccess {
			break
		}
		lib.names = append(lib.names, name)
	}
	if r.Sticky() {
		return e.failure("cuLibraryEnumerateKernels", r)
	}
	lib.unnamed = r // an old driver, or an error that getting a kernel will tell
	return nil
}

// kernelNames are those of the library, or why nobody knows them.
func (e *Engine) kernelNames(lib *library) ([]string, error) {
	switch lib.unnamed {
	case driver.ResultSuccess:
		return lib.names, nil
	case driver.ResultNotSupported:
		return nil, status.Errorf(status.Unsupported, "the kernels of a binary are told by driver 12.4 and newer; this one is %s", driver.VersionText(e.driver.API.Version))
	}
	return nil, driverError("cuLibraryEnumerateKernels", lib.unnamed)
}

// prove gets a kernel, since the driver looks at the image only then (580). A
// name that cannot be there tells as much: a good image answers "not found".
func (e *Engine) prove(lib *library, image []byte, d *device) error {
	if err := e.nameKernels(lib); err != nil {
		return err
	}
	name := "dlaunch$no$such$kernel"
	if len(lib.names) > 0 {
		name = lib.names[0]
	}
	_, r := e.driver.API.LibraryKernel(lib.native, name)
	if r == driver.ResultSuccess || r == driver.ResultNotFound {
		return nil
	}
	return e.imageError(lib, image, d, r)
}

// unloadLibrary is exclusive: launches of other kernels wait for it, since
// unloading beside them has crashed in drivers (NVIDIA/cuda-tile#23).
func (e *Engine) unloadLibrary(lib *library) {
	e.natives.leave(lib, e.simulated())
	e.exclusively(func() {
		_ = e.on(0, func(*device) error {
			e.driver.API.LibraryUnload(lib.native)
			return nil
		})
	})
	lib.log.free()
	lib.symbols.leave()
}

// KernelCount counts the kernels of a library.
func (e *Engine) KernelCount(h handles.Handle) (int, error) {
	entry, err := e.table.Get(h, handles.Library)
	if err != nil {
		return 0, err
	}
	names, err := e.kernelNames(entry.Value.(*library))
	return len(names), err
}

// KernelName gives the name of kernel index.
func (e *Engine) KernelName(h handles.Handle, index int) (string, error) {
	entry, err := e.table.Get(h, handles.Library)
	if err != nil {
		return "", err
	}
	names, err := e.kernelNames(entry.Value.(*library))
	if err != nil {
		return "", err
	}
	if index >= len(names) {
		return "", status.Errorf(status.NotFound, "the library has %d kernels; there is none with index %d", len(names), index)
	}
	return names[index], nil
}

// Global gives a symbol's address and size on a device.
func (e *Engine) Global(h handles.Handle, index int, name string) (address, bytes uint64, err error) {
	entry, err := e.table.Acquire(h, handles.Library)
	if err != nil {
		return 0, 0, err
	}
	defer entry.Drop()
	lib := entry.Value.(*library)
	err = e.on(index, func(*device) error {
		a, n, r := e.driver.API.LibraryGlobal(lib.native, name)
		if r == driver.ResultNotFound {
			return status.Errorf(status.NotFound, "no __device__ or __constant__ symbol %q in %s (C++ names are mangled; extern \"C\" ones are not)", name, lib.label)
		}
		if r != driver.ResultSuccess {
			return e.failure("cuLibraryGetGlobal", r)
		}
		address, bytes = uint64(a), n
		return nil
	})
	return address, bytes, err
}
