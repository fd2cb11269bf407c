package launch

import (
	"fmt"
	"sync"

	"dlaunch/handles"
	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch/prototype"
)

// symbols are those of a library that hold a tensor, on each device. The lock is held
// while one is written: what is noted here is what stands there.
type symbols struct {
	mu    sync.Mutex
	bound map[symbol]*handles.Entry // nil where nothing has to be held
}

type symbol struct {
	name   string
	device int
}

// devices lists those on which something is bound to a symbol.
func (s *symbols) devices(name string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []int
	for at := range s.bound {
		if at.name == name {
			all = append(all, at.device)
		}
	}
	return all
}

// leave is the end of the library: nobody knows where kernels used what it holds.
func (s *symbols) leave() {
	for _, held := range s.bound {
		if held != nil {
			memoryOf(held).Leave()
		}
	}
}

// BindSymbol writes where a tensor is into a symbol, and has the library hold it.
func (e *Engine) BindSymbol(h handles.Handle, name string, arg *exec.Arg) error {
	holder, err := e.table.Acquire(h, handles.Library)
	if err != nil {
		return err
	}
	defer holder.Drop()
	_, size, err := e.Global(h, e.currentDevice(), name)
	if err != nil {
		return err
	}
	k, err := symbolKernel(name, size)
	if err != nil {
		return err
	}
	if k.shared, err = exec.NewKernel(0, &k.program, len(e.devices)); err != nil {
		return err
	}
	defer k.shared.Free()
	c := &call{engine: e, kernel: k, args: []exec.Arg{*arg}}
	defer c.dropHeld()
	what, program, failed := c.bind(0, 0, fmt.Sprintf("symbol %q", name))
	if failed != nil {
		return failed
	}
	defer what.drop()
	devices := []int{int(program.Bound.Device)}
	if arg.Kind == exec.ArgNone {
		devices = holder.Value.(*library).symbols.devices(name)
	}
	if len(devices) == 0 || devices[0] < 0 {
		devices = []int{e.currentDevice()}
	}
	for _, device := range devices {
		if err := e.writeSymbol(h, holder, symbol{name, device}, program.Params, what); err != nil {
			return err
		}
	}
	return nil
}

const (
	pointerBytes = 8
	axisBytes    = 16 // of a dlaunch::view: an extent and a stride
)

// symbolKernel takes what is bound to a symbol as its one argument: a symbol is
// packed as a parameter is.
func symbolKernel(name string, size uint64) (*kernel, error) {
	rank := (size - pointerBytes) / axisBytes
	if size < pointerBytes || (size-pointerBytes)%axisBytes != 0 || rank > exec.MaxRank {
		return nil, status.Errorf(status.Argument, "symbol %q has %d bytes; a pointer (8) or a dlaunch::view<T, rank> (8 + 16 * rank) is wanted", name, size)
	}
	step := exec.Step{Op: exec.OpPointer, Format: exec.FormatAddress, Flags: exec.Nullable | exec.OpenRank | exec.Strided, Size: pointerBytes}
	kind := "pointer"
	if rank > 0 {
		step = exec.Step{Op: exec.OpTensor, Format: exec.FormatOpaque, Form: exec.FormView, Flags: exec.Nullable | exec.Strided, Rank: uint8(rank), Size: uint32(size)}
		kind = fmt.Sprintf("dlaunch::view<T, %d>", rank)
	}
	program := exec.Program{Params: make([]byte, size), Steps: []exec.Step{step}}
	for range rank {
		program.Dims = append(program.Dims, dim(prototype.Dim{Kind: prototype.Free}))
	}
	parameters := []Parameter{{Name: name, Type: kind, Size: size}}
	return &kernel{name: name, compiled: &compiled{program: program, parameters: parameters, arguments: []int{0}}}, nil
}

// writeSymbol waits for what may still read the symbol, and writes it.
func (e *Engine) writeSymbol(h handles.Handle, holder *handles.Entry, at symbol, bytes []byte, what *binding) error {
	if err := e.Synchronize(at.device); err != nil {
		return err
	}
	address, _, err := e.Global(h, at.device, at.name)
	if err != nil {
		return err
	}
	buffer, err := exec.NewBuffer(len(bytes))
	if err != nil {
		return err
	}
	defer buffer.Free()
	copy(buffer.Bytes, bytes)
	former, err := holder.Value.(*library).symbols.replace(at, holder, what.entry, func() error {
		return e.on(at.device, func(d *device) error {
			return e.upload(d, driver.Address(address), uintptr(buffer.Address), uint64(len(bytes)))
		})
	})
	if err != nil {
		return err
	}
	what.entry = nil // its reference is the library's
	if former != nil {
		memoryOf(former).Leave() // launches that other threads began meanwhile may use it
		former.Drop()
	}
	return nil
}

// replace writes a symbol, and has the library hold an entry for it; it gives the one
// that it held before. Either may be nil.
func (s *symbols) replace(at symbol, library, entry *handles.Entry, write func() error) (*handles.Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := write(); err != nil {
		return nil, err
	}
	if s.bound == nil {
		s.bound = map[symbol]*handles.Entry{}
	}
	former := s.bound[at]
	s.bound[at] = entry
	if entry != nil {
		library.Keep(entry)
	}
	if former != nil {
		library.LetGo(former)
	}
	return former, nil
}
