package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// library is what a dlaunch_library stands for.
type library struct {
	*contents
	native  driver.Library
	label   string
	source  string // the PTX of one that is not linked, while errors may still quote it
	linked  bool
	unnamed driver.Result     // why the driver could not name them; success otherwise
	names   []string          // of its kernels
	aliases map[string]string // symbols by squeezed names, as the caller gave them
	log     *jitLog

	addresses []uintptr // of it and its kernels in natives, whose lock guards them
	symbols   symbols   // what is bound to them
}

// LibraryOptions are those of dlaunch_library_options.
type LibraryOptions struct {
	Lazy      bool
	Log       func(text string) // receives the compiler's log, if wanted
	Options   []driver.JITOption
	Names     map[string]string // symbols by the names that they were compiled as
	JITLinker string            // the file of nvJitLink; "" searches for it
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

func (e *Engine) load(content []byte, label string, options LibraryOptions) (handles.Handle, error) {
	api, err := e.api()
	if err != nil {
		return 0, err
	}
	if err := e.poisoned(); err != nil {
		return 0, err
	}
	im, err := examine(content, label, api.Version)
	if err != nil {
		return 0, err
	}
	if im, err = im.alone(); err != nil {
		return 0, err
	}
	if im.needsLinking() {
		return e.link([]*image{im}, label, options)
	}
	lib := &library{label: label, contents: contentsOf(im)}
	if im.text != nil {
		lib.source = string(im.bytes)
	}
	return e.openLibrary(lib, options, func(*device) (driver.Result, error) {
		var r driver.Result
		lib.native, r = api.LibraryLoad(im.bytes, append(lib.log.options(), options.Options...))
		return r, nil
	})
}

// openLibrary gives a handle to what load has the driver load, once it is proved.
func (e *Engine) openLibrary(lib *library, options LibraryOptions, load func(*device) (driver.Result, error)) (handles.Handle, error) {
	api := e.driver.API
	if err := checkJITOptions(options.Options, api.Version); err != nil {
		return 0, err
	}
	e.reclaim()
	e.dropRetired()
	var err error
	if lib.aliases, err = squeezedNames(options.Names); err != nil {
		return 0, err
	}
	if lib.log, err = newJITLog(); err != nil {
		return 0, err
	}
	err = e.on(e.currentDevice(), func(d *device) error {
		defer func() {
			if options.Log != nil {
				options.Log(lib.log.text())
			}
		}()
		if r, err := load(d); err != nil {
			return err
		} else if r != driver.ResultSuccess {
			return e.imageError(lib, d, r)
		}
		var err error
		if options.Lazy && !e.simulated() {
			err = e.nameKernels(lib)
		} else if err = e.prove(lib, d); err == nil {
			lib.source = ""
		}
		if err != nil {
			api.LibraryUnload(lib.native)
		}
		return err
	})
	if err != nil {
		lib.log.free()
		return 0, err
	}
	entry, err := e.table.Open(handles.Library, lib.label, lib, func() { e.unloadLibrary(lib) })
	if err != nil {
		e.unloadLibrary(lib)
		return 0, err
	}
	e.natives.add(uintptr(lib.native), native{library: entry})
	return entry.Handle, nil
}

// nameKernels learns what kernels there are: from the PTX, else from the driver.
func (e *Engine) nameKernels(lib *library) error {
	if !lib.machine {
		lib.names = lib.entryNames()
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
func (e *Engine) prove(lib *library, d *device) error {
	if err := e.nameKernels(lib); err != nil {
		return err
	}
	if lib.linked && len(lib.names) == 0 && lib.unnamed == driver.ResultSuccess {
		return status.Errorf(status.Image, "no kernel came of linking %s: the inputs have none, or were compiled as whole programs (nvcc needs -rdc=true or -dc)", lib.label)
	}
	name := "dlaunch$no$such$kernel"
	if len(lib.names) > 0 {
		name = lib.names[0]
	}
	_, r := e.driver.API.LibraryKernel(lib.native, name)
	if r == driver.ResultSuccess || r == driver.ResultNotFound {
		return nil
	}
	return e.imageError(lib, d, r)
}

// unloadLibrary is exclusive: launches of other kernels wait for it, since
// unloading beside them has crashed in drivers (NVIDIA/cuda-tile#23).
func (e *Engine) unloadLibrary(lib *library) {
	e.natives.leave(lib)
	e.exclusively(func() {
		_ = e.on(0, func(*device) error {
			e.driver.API.LibraryUnload(lib.native)
			e.natives.forget(lib, func(kernel driver.Kernel) bool {
				_, r := e.driver.API.KernelLibrary(kernel)
				return r != driver.ResultSuccess && r != driver.ResultNotSupported
			})
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
		a, n, r := e.driver.API.LibraryGlobal(lib.native, lib.symbolOf(name))
		if r == driver.ResultNotFound {
			symbols := named(name, lib.globals)
			if len(symbols) != 1 {
				return lib.notThere("variable", name, lib.globals, !lib.unread)
			}
			a, n, r = e.driver.API.LibraryGlobal(lib.native, symbols[0])
		}
		if r != driver.ResultSuccess {
			return e.failure("cuLibraryGetGlobal", r)
		}
		address, bytes = uint64(a), n
		return nil
	})
	return address, bytes, err
}
