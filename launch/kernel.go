package launch

import (
	"fmt"
	"slices"
	"strings"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// kernel is what a dlaunch_kernel stands for.
type kernel struct {
	*compiled
	name       string
	library    handles.Handle // 0 for a foreign one
	native     driver.Kernel
	isFunction bool // native is a CUfunction
	shared     *exec.Kernel
	holds      []*handles.Entry // its library, and what is bound to it
}

// GetKernel looks a kernel up by name or prototype, and compiles its launches. A
// name alone takes the prototype that the image carries, if it does.
func (e *Engine) GetKernel(h handles.Handle, text string) (handles.Handle, error) {
	holder, err := e.table.Acquire(h, handles.Library)
	if err != nil {
		return 0, err
	}
	defer holder.Drop()
	lib := holder.Value.(*library)
	k, err := e.findKernel(lib, text)
	if err != nil {
		return 0, err
	}
	k.library, k.holds = h, []*handles.Entry{holder}
	e.natives.add(uintptr(k.native), native{library: holder, kernel: k.name})
	return e.openKernel(k)
}

// openKernel gives a kernel its handle; it holds what k.holds lists.
func (e *Engine) openKernel(k *kernel) (handles.Handle, error) {
	var err error
	if k.shared, err = exec.NewKernel(uintptr(k.native), &k.program, len(e.devices)); err != nil {
		return 0, err
	}
	end := k.shared.Free
	if k.program.Bound != nil {
		end = k.releaseBound
	}
	entry, err := e.table.Open(handles.Kernel, k.name, k, end, k.holds...)
	if err != nil {
		k.shared.Free()
		return 0, err
	}
	return e.publish(entry, k.shared)
}

func (e *Engine) findKernel(lib *library, text string) (*kernel, error) {
	k := &kernel{name: text}
	var proto *prototype.Prototype
	if prototype.Is(text) {
		var err error
		if proto, err = prototype.Parse(text); err != nil {
			return nil, err
		}
		k.name = proto.Name
	}
	if proto != nil && k.name == "" {
		if _, err := e.kernelNames(lib); err != nil {
			return nil, err
		}
		if len(lib.names) != 1 {
			return nil, status.Errorf(status.Argument, "no kernel is named, and the library has %d; begin with a name: %s",
				len(lib.names), nearest("kernel", "", lib.names))
		}
		k.name = lib.names[0]
	}
	err := e.on(e.currentDevice(), func(d *device) error {
		if err := e.lookUp(lib, k, d); err != nil {
			return err
		}
		if proto == nil {
			return e.compileCarried(lib, k)
		}
		return e.compileKernel(lib, k, proto)
	})
	return k, err
}

// lookUp finds a kernel by its symbol, a name that the caller gave that, or what
// the source calls it.
func (e *Engine) lookUp(lib *library, k *kernel, d *device) error {
	asked := k.name
	k.name = lib.symbolOf(asked)
	var r driver.Result
	k.native, r = e.driver.API.LibraryKernel(lib.native, k.name)
	if r == driver.ResultNotFound {
		if symbols := named(asked, lib.names); len(symbols) == 1 {
			k.name = symbols[0]
			k.native, r = e.driver.API.LibraryKernel(lib.native, k.name)
		}
	}
	switch r {
	case driver.ResultSuccess:
		return nil
	case driver.ResultNotFound:
		err := lib.notThere("kernel", asked, lib.names, lib.unnamed == driver.ResultSuccess)
		err.Message += almostPrototype(asked, lib.names)
		err.Driver = int32(r)
		return err
	}
	return e.imageError(lib, d, r)
}

func (e *Engine) compileKernel(lib *library, k *kernel, proto *prototype.Prototype) error {
	slots, err := e.slotsOf(lib, k, proto)
	if err != nil {
		return err
	}
	k.compiled, err = compile(k.name, proto, slots)
	return err
}

func (e *Engine) compileCarried(lib *library, k *kernel) error {
	proto, err := lib.carried.prototype(k.name)
	if err != nil {
		return err
	}
	if err = e.compileKernel(lib, k, proto); err != nil && proto != nil {
		return carriedError(k.name, err)
	}
	return err
}

// KernelPrototype spells the prototype that a kernel is launched by, "" if there
// is none.
func (e *Engine) KernelPrototype(h handles.Handle) (string, error) {
	entry, err := e.table.Get(h, handles.Kernel)
	if err != nil {
		return "", err
	}
	k := entry.Value.(*kernel)
	if k.proto == nil {
		return "", nil
	}
	named := *k.proto
	named.Name = k.name
	return named.String(), nil
}

// almostPrototype says that a text which begins with a kernel's name and a bracket
// was perhaps to be a prototype; the text was taken for a name.
func almostPrototype(text string, names []string) string {
	name, rest, bracket := strings.Cut(text, "(")
	if !bracket || !slices.Contains(names, strings.TrimSpace(name)) {
		return ""
	}
	if !strings.HasSuffix(text, ")") {
		return `; a prototype ends with ")"`
	}
	return fmt.Sprintf("; a prototype gives each parameter a name, a colon and a type, as in (x: f32[n], ...); found (%s", rest)
}

// KernelParameter describes parameter index of the full list.
func (e *Engine) KernelParameter(h handles.Handle, index int) (Parameter, error) {
	entry, err := e.table.Get(h, handles.Kernel)
	if err != nil {
		return Parameter{}, err
	}
	k := entry.Value.(*kernel)
	if index >= len(k.parameters) {
		return Parameter{}, status.Errorf(status.NotFound, "kernel %q has %d parameters; there is none with index %d", k.name, len(k.parameters), index)
	}
	return k.parameters[index], nil
}

// fillLimits completes what a launch on one device is checked against.
func (e *Engine) fillLimits(k *kernel, index int) error {
	return e.on(index, func(d *device) error {
		threads, err := e.attribute(k, driver.KernelMaxThreadsPerBlock, index)
		if err != nil {
			return err
		}
		dynamic, err := e.attribute(k, driver.KernelMaxDynamicShared, index)
		if err != nil {
			return err
		}
		k.shared.SetLimits(index, exec.Limits{
			Threads: min(uint32(threads), d.limits.threads), Block: d.limits.block, Grid: d.limits.grid, Shared: uint32(dynamic),
		})
		return nil
	})
}

// raiseShared opts a kernel in to more dynamic shared memory: it is only ever
// raised, since another launch may be about to use what is there.
func (e *Engine) raiseShared(k *kernel, index int, wanted uint32) error {
	return e.on(index, func(d *device) error {
		static, err := e.attribute(k, driver.KernelStaticShared, index)
		if err != nil {
			return err
		}
		if uint64(static)+uint64(wanted) > uint64(d.limits.sharedOptIn) {
			return noRoom(k, d, static, wanted)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		now, err := e.attribute(k, driver.KernelMaxDynamicShared, index)
		if err == nil && uint32(now) < wanted {
			err = e.setAttribute(k, driver.KernelMaxDynamicShared, int32(wanted), index)
			now = int32(wanted)
		}
		if err == nil {
			k.shared.SetShared(index, uint32(now))
		}
		return err
	})
}

func noRoom(k *kernel, d *device, static int32, wanted uint32) error {
	return status.Errorf(status.Config, "kernel %q: %d bytes of dynamic shared memory and its %d static ones are %d; device %d has %d for a block",
		k.name, wanted, static, uint64(static)+uint64(wanted), d.index, d.limits.sharedOptIn)
}

// ArgumentName is the name of the caller's argument index, "" if it is unknown:
// for the simulator's reports. The kernel may be closed already.
func (e *Engine) ArgumentName(h uint64, index int) string {
	entry, err := e.table.Get(handles.Handle(h), handles.Kernel)
	if err != nil {
		return ""
	}
	k := entry.Value.(*kernel)
	if parameter := index &^ exec.BoundArgument; parameter != index {
		return k.parameters[parameter].Name
	}
	if index >= len(k.arguments) {
		return ""
	}
	return k.parameters[k.arguments[index]].Name
}
