package launch

import (
	"fmt"
	"slices"
	"sync"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// natives remembers the driver's own handles that came from our libraries. The
// driver takes a library, and a kernel that was unloaded, for a kernel, and dies of
// it (seen: 580).
type natives struct {
	mu sync.Mutex
	of map[uintptr]native
}

type native struct {
	library *handles.Entry // that it is, or is of
	kernel  string         // its name; "" for a library
	gone    bool           // it was unloaded
}

// add replaces what had the same address before it was unloaded.
func (n *natives) add(address uintptr, what native) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[uintptr]native{}
	}
	if n.of[address] == what {
		return
	}
	n.of[address] = what
	lib := what.library.Value.(*library)
	lib.addresses = append(lib.addresses, address)
}

// leave says that a library is about to be unloaded.
func (n *natives) leave(lib *library) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, address := range lib.addresses {
		n.of[address] = native{gone: true}
	}
}

// forget says that it is unloaded. A driver that tells unloaded kernels from others
// at once will do so later, when their addresses may be those of new ones; what it
// still takes for a kernel is remembered as gone.
func (n *natives) forget(lib *library, tells func(kernel driver.Kernel) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, address := range lib.addresses {
		if n.of[address].gone && tells(driver.Kernel(address)) {
			delete(n.of, address)
		}
	}
}

// find gives what has an address, and holds its library for the caller, unless it
// is gone.
func (n *natives) find(address uintptr) (what native, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	what, known = n.of[address]
	if known && !what.gone && !what.library.Hold() {
		what.gone = true
	}
	return what, known
}

// KernelFromDriver makes a kernel of a CUkernel or CUfunction: our own, which then
// holds its library, or somebody's, who keeps it loaded.
func (e *Engine) KernelFromDriver(address uintptr, text string) (handles.Handle, error) {
	if _, err := e.api(); err != nil {
		return 0, err
	}
	if own, known := e.natives.find(address); known {
		return e.ownKernel(address, own, text)
	}
	if err := e.checkAddress(address); err != nil {
		return 0, err
	}
	k := &kernel{native: driver.Kernel(address)}
	err := e.on(e.currentDevice(), func(*device) error {
		if err := e.recognise(k); err != nil {
			return err
		}
		proto, err := prototypeOf(text)
		if err != nil {
			return err
		}
		if err := e.nameForeign(k, proto); err != nil {
			return err
		}
		return e.compileGiven(nil, k, proto)
	})
	if err != nil {
		return 0, err
	}
	return e.openKernel(k)
}

func (e *Engine) ownKernel(address uintptr, own native, text string) (handles.Handle, error) {
	if own.gone {
		return 0, status.Errorf(status.Handle, "%#x was unloaded by dlaunch; what another library has at the same address since "+
			"cannot be told from it: pass its CUfunction (cuKernelGetFunction)", address)
	}
	defer own.library.Drop()
	if own.kernel == "" {
		return 0, status.Errorf(status.Handle, "%#x is a library (%s); %s", address, own.library.Label, wantedNative)
	}
	proto, err := prototypeOf(text)
	if err != nil {
		return 0, err
	}
	lib := own.library.Value.(*library)
	k := &kernel{native: driver.Kernel(address), name: own.kernel, library: own.library.Handle}
	err = e.on(e.currentDevice(), func(*device) error {
		if proto == nil {
			return e.compileCarried(lib, k)
		}
		return e.compileGiven(lib, k, proto)
	})
	if err != nil {
		return 0, err
	}
	k.holds = []*handles.Entry{own.library}
	return e.openKernel(k)
}

// compileGiven refuses a prototype that is of another kernel.
func (e *Engine) compileGiven(lib *library, k *kernel, proto *prototype.Prototype) error {
	if proto != nil {
		if err := proto.Agree(k.name); err != nil {
			return err
		}
	}
	return e.compileKernel(lib, k, proto)
}

const wantedNative = "a CUkernel or CUfunction is wanted, as the driver gave it"

// checkAddress refuses what the driver cannot be asked about without danger.
func (e *Engine) checkAddress(address uintptr) error {
	switch {
	case address == 0:
		return status.Errorf(status.Handle, "the address is 0; %s", wantedNative)
	case e.simulated(): // whose handles are numbers
		return nil
	case address%pointerAlignment != 0:
		return status.Errorf(status.Handle, "%#x is no multiple of %d; %s", address, pointerAlignment, wantedNative)
	case !isMapped(address, handleBytes):
		return status.Errorf(status.Handle, "%#x is no memory of this process; %s", address, wantedNative)
	}
	return nil
}

const (
	pointerAlignment = 8
	handleBytes      = 256 // how far the driver may look into what it takes for a handle
)

func prototypeOf(text string) (*prototype.Prototype, error) {
	if text == "" {
		return nil, nil
	}
	if !prototype.Is(text) {
		return nil, status.Errorf(status.Prototype, "%q is no prototype, which is `(name: type, ...)`; the kernel is given already", text)
	}
	return prototype.Parse(text)
}

// recognise tells a CUkernel from a CUfunction from nonsense.
func (e *Engine) recognise(k *kernel) error {
	api := e.driver.API
	library, asKernel := api.KernelLibrary(k.native)
	if asKernel == driver.ResultSuccess {
		if e.lists(library, k.native) {
			return nil
		}
		return status.Errorf(status.Handle, "%#x is neither a CUkernel nor a CUfunction: the library that the driver names for it has no such kernel", uintptr(k.native))
	}
	if !e.resemblesFunction(uintptr(k.native)) {
		return status.Errorf(status.Handle, "%#x is neither a CUkernel nor a CUfunction: a CUfunction has pointers where this has none", uintptr(k.native))
	}
	_, asFunction := api.FunctionModule(driver.Function(k.native))
	if asFunction == driver.ResultSuccess {
		k.isFunction = true
		return nil
	}
	if asKernel == driver.ResultNotSupported {
		return status.Errorf(status.Unsupported, "%#x is no CUfunction, and CUkernels are told from other pointers by driver 12.5 and newer; this one is %s: "+
			"pass the CUfunction (cuKernelGetFunction)", uintptr(k.native), driver.VersionText(api.Version))
	}
	for _, r := range []driver.Result{asKernel, asFunction} {
		if r.Sticky() {
			return e.failure("cuKernelGetLibrary", r)
		}
	}
	err := status.Errorf(status.Handle, "%#x is neither a CUkernel nor a CUfunction (cuFuncGetModule: %v)", uintptr(k.native), asFunction)
	err.Driver = int32(asFunction)
	return err
}

// lists says whether a library has a kernel: of a CUlibrary, too, the driver says
// that it is a kernel, and names what is no library: where its image lies (seen: 580).
func (e *Engine) lists(library driver.Library, kernel driver.Kernel) bool {
	if e.checkAddress(uintptr(library)) != nil || e.beginsAsImage(uintptr(library)) {
		return false
	}
	n, r := e.driver.API.LibraryKernelCount(library)
	if r != driver.ResultSuccess {
		return false
	}
	kernels, r := e.driver.API.LibraryKernels(library, n)
	return r == driver.ResultSuccess && slices.Contains(kernels, kernel)
}

// nameForeign asks the driver; one before 12.3 does not know, and then the prototype may.
func (e *Engine) nameForeign(k *kernel, proto *prototype.Prototype) error {
	var r driver.Result
	if k.isFunction {
		k.name, r = e.driver.API.FunctionName(driver.Function(k.native))
	} else {
		k.name, r = e.driver.API.KernelName(k.native)
	}
	switch {
	case r == driver.ResultSuccess:
		return nil
	case r != driver.ResultNotSupported:
		return e.failure(k.call("GetName"), r)
	case proto != nil && proto.Name != "":
		k.name = proto.Name
	default:
		k.name = fmt.Sprintf("%#x", uintptr(k.native))
	}
	return nil
}

// NameOfKernel gives the name that the image has for it.
func (e *Engine) NameOfKernel(h handles.Handle) (string, error) {
	entry, err := e.table.Get(h, handles.Kernel)
	if err != nil {
		return "", err
	}
	return entry.Value.(*kernel).name, nil
}

// KernelNative gives the driver's own handle: ours.
func (e *Engine) KernelNative(h handles.Handle) (uint64, error) {
	entry, err := e.table.Get(h, handles.Kernel)
	if err != nil {
		return 0, err
	}
	return uint64(entry.Value.(*kernel).native), nil
}
