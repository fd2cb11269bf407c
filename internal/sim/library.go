package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// library is one loaded image.
type library struct {
	module    *ptx.Module
	functions map[string]*ptx.Function
	symbols   map[string]span // .global and .const variables
	memory    *region         // of the symbols; nil without any
	kernels   []*kernel
	byName    map[string]*kernel
}

// Versions of PTX that are read.
var (
	oldestPTX = ptx.Version{Major: 6, Minor: 0}
	newestPTX = ptx.Version{Major: 9, Minor: 5}
)

// CUjit_option numbers.
const (
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

// libraryLoad reads PTX. Unlike libcuda it says at once what is wrong.
func (s *Simulator) libraryLoad(image []byte, options []driver.JITOption) (driver.Library, driver.Result) {
	lib, err := s.load(image)
	return s.loaded(lib, err, options)
}

// loaded gives a library its number, or tells the log why there is none.
func (s *Simulator) loaded(lib *library, err error, options []driver.JITOption) (driver.Library, driver.Result) {
	if err == nil {
		return s.register(lib), driver.ResultSuccess
	}
	var refused *loadError
	if !errors.As(err, &refused) {
		refused = &loadError{driver.ResultInvalidPTX, err.Error()}
	}
	writeLog(options, refused.message)
	return 0, refused.result
}

// writeLog gives the error log to the buffer that the options name, cut to its
// size and ended with a zero.
func writeLog(options []driver.JITOption, message string) {
	var address, size uint64
	for _, o := range options {
		switch o.ID {
		case jitErrorLog:
			address = o.Value
		case jitErrorLogSize:
			size = o.Value
		}
	}
	if address == 0 || size == 0 {
		return
	}
	log := view(address, size)
	n := copy(log[:size-1], message)
	log[n] = 0
}

func (s *Simulator) load(image []byte) (*library, error) {
	module, err := parse(image)
	if err != nil {
		return nil, err
	}
	return s.place(module)
}

// parse reads PTX that is for the simulated device, and checks how it is written.
func parse(image []byte) (*ptx.Module, error) {
	image = bytes.TrimRight(image, "\x00")
	if !ptx.IsPTX(image) {
		return nil, &loadError{driver.ResultNoBinaryForGPU, "the simulator runs PTX text only; this image is none: compile to PTX (nvcc -ptx, NVRTC with a compute_ architecture)"}
	}
	described, err := ptx.Inspect(image)
	if err != nil {
		return nil, err
	}
	if newestPTX.Less(described.Version) || described.Version.Less(oldestPTX) {
		return nil, &loadError{driver.ResultUnsupportedPTXVersion, "the simulator reads PTX " + versionText(oldestPTX) + " to " + versionText(newestPTX) +
			"; this is " + versionText(described.Version)}
	}
	if n := targetOf(described.Target); n > architecture {
		return nil, &loadError{driver.ResultNoBinaryForGPU, "the PTX is for " + described.Target + "; the simulated device is sm_" + strconv.Itoa(architecture)}
	}
	if at := bytes.IndexFunc(image, func(r rune) bool { return r > unicode.MaxASCII }); at >= 0 { // in comments too, as for drivers (seen: 580)
		found, _ := utf8.DecodeRune(image[at:])
		line := 1 + bytes.Count(image[:at], []byte("\n"))
		return nil, &loadError{driver.ResultInvalidPTX, fmt.Sprintf("PTX line %d: PTX is ASCII, and has no %q", line, found)}
	}
	module, err := ptx.Parse(image)
	if err != nil {
		return nil, err
	}
	if at, err := module.Check(); err != nil {
		place := where{line: at.Line, text: at.Text()}
		return nil, &loadError{driver.ResultInvalidPTX, place.String() + ": " + err.Error()}
	}
	return module, nil
}

// place gives a module's variables memory, and decodes its kernels.
func (s *Simulator) place(module *ptx.Module) (*library, error) {
	lib := &library{module: module, functions: map[string]*ptx.Function{}, symbols: map[string]span{}, byName: map[string]*kernel{}}
	for i := range module.Functions {
		lib.functions[module.Functions[i].Name] = &module.Functions[i]
	}
	if err := s.placeSymbols(lib); err != nil {
		return nil, err
	}
	for i := range module.Functions {
		f := &module.Functions[i]
		if !f.Entry || !f.Defined {
			continue
		}
		p, err := decode(lib, f)
		if err != nil {
			s.dropSymbols(lib)
			return nil, err
		}
		k := &kernel{library: lib, program: p, maxDynamic: slices.Repeat([]uint32{p.defaultDynamic()}, s.devices), set: map[setting]int32{}}
		lib.kernels = append(lib.kernels, k)
		lib.byName[f.Name] = k
	}
	return lib, nil
}

func versionText(v ptx.Version) string { return strconv.Itoa(v.Major) + "." + strconv.Itoa(v.Minor) }

// targetOf gives the number of sm_90a; 0 for what has none.
func targetOf(target string) int {
	n := 0
	for _, c := range target {
		if c >= '0' && c <= '9' && n < 10000 {
			n = 10*n + int(c-'0')
		}
	}
	return n
}

// symbolGap lies between symbols, so that an access past one's end is noticed.
const symbolGap = 256

// placeSymbols gives the module's variables memory, and their initial values.
func (s *Simulator) placeSymbols(lib *library) error {
	end := uint64(0)
	offsets := map[string]uint64{}
	for i := range lib.module.Variables {
		v := &lib.module.Variables[i]
		if v.Space == ".shared" || v.Extern {
			continue
		}
		offsets[v.Name] = alignUp(end, v.Align)
		end = offsets[v.Name] + v.Size + symbolGap
		if end > s.arena.limit {
			break // allocate refuses it
		}
	}
	if end == 0 {
		return nil
	}
	if lib.memory = s.arena.allocate(end); lib.memory == nil {
		return &loadError{driver.ResultOutOfMemory, "the image's variables take " + strconv.FormatUint(end, 10) + " bytes, which are not free"}
	}
	var spans []span
	for i := range lib.module.Variables {
		v := &lib.module.Variables[i]
		if offset, placed := offsets[v.Name]; placed {
			low := lib.memory.base + offset
			lib.symbols[v.Name] = span{low, low + v.Size}
			spans = append(spans, span{low, low + v.Size})
		}
	}
	s.arena.restrict(lib.memory, spans)
	for i := range lib.module.Variables {
		if err := lib.initialise(&lib.module.Variables[i]); err != nil {
			s.dropSymbols(lib)
			return err
		}
	}
	return nil
}

func (lib *library) initialise(v *ptx.Variable) error {
	at, placed := lib.symbols[v.Name]
	if !placed {
		return nil
	}
	memory := view(at.low, v.Size)
	for _, value := range v.Initial {
		bits := value.Bits
		if value.Symbol != "" {
			address, known := lib.symbols[value.Symbol]
			if function, is := lib.functionAddress(value.Symbol); is {
				address, known = span{low: function}, true
			}
			if !known {
				return &loadError{driver.ResultNotSupported, "PTX line " + strconv.Itoa(v.Line) + ": the simulator cannot put the address of " + value.Symbol + " into " + v.Name}
			}
			bits += address.low
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], bits>>value.Shift)
		copy(memory[value.Offset:], word[:value.Size])
	}
	return nil
}

// functionAddress gives what a pointer to a function holds.
func (lib *library) functionAddress(name string) (uint64, bool) {
	for i := range lib.module.Functions {
		if f := &lib.module.Functions[i]; f.Name == name && f.Defined && !f.Entry {
			return functionWindow | uint64(i+1)<<4, true
		}
	}
	return 0, false
}

func (s *Simulator) dropSymbols(lib *library) {
	if lib.memory != nil {
		s.arena.free(lib.memory.base, true)
	}
}

func (s *Simulator) register(lib *library) driver.Library {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range lib.kernels {
		k.id = driver.Kernel(s.number())
		s.kernels[k.id] = k
	}
	id := driver.Library(s.number())
	s.libraries[id] = lib
	return id
}

// libraryUnload waits for the kernels that run, as libcuda does.
func (s *Simulator) libraryUnload(id driver.Library) driver.Result {
	s.running.Lock()
	defer s.running.Unlock()
	s.mu.Lock()
	lib := s.libraries[id]
	if lib != nil {
		delete(s.libraries, id)
		for _, k := range lib.kernels {
			delete(s.kernels, k.id)
		}
	}
	s.mu.Unlock()
	if lib == nil {
		return driver.ResultInvalidHandle
	}
	s.dropSymbols(lib)
	return driver.ResultSuccess
}

func (s *Simulator) library(id driver.Library) *library {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.libraries[id]
}

func (s *Simulator) kernel(id driver.Kernel) *kernel {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kernels[id]
}

func (s *Simulator) libraryKernel(id driver.Library, name string) (driver.Kernel, driver.Result) {
	lib := s.library(id)
	if lib == nil {
		return 0, driver.ResultInvalidHandle
	}
	k := lib.byName[name]
	if k == nil {
		return 0, driver.ResultNotFound
	}
	return k.id, driver.ResultSuccess
}

func (s *Simulator) libraryKernelCount(id driver.Library) (int, driver.Result) {
	lib := s.library(id)
	if lib == nil {
		return 0, driver.ResultInvalidHandle
	}
	return len(lib.kernels), driver.ResultSuccess
}

func (s *Simulator) libraryKernels(id driver.Library, n int) ([]driver.Kernel, driver.Result) {
	lib := s.library(id)
	if lib == nil {
		return nil, driver.ResultInvalidHandle
	}
	var ids []driver.Kernel
	for _, k := range lib.kernels[:max(0, min(n, len(lib.kernels)))] {
		ids = append(ids, k.id)
	}
	return ids, driver.ResultSuccess
}

func (s *Simulator) libraryGlobal(id driver.Library, name string) (driver.Address, uint64, driver.Result) {
	lib := s.library(id)
	if lib == nil {
		return 0, 0, driver.ResultInvalidHandle
	}
	at, known := lib.symbols[name]
	if !known {
		return 0, 0, driver.ResultNotFound
	}
	return driver.Address(at.low), at.high - at.low, driver.ResultSuccess
}

func (s *Simulator) kernelName(id driver.Kernel) (string, driver.Result) {
	k := s.kernel(id)
	if k == nil {
		return "", driver.ResultInvalidHandle
	}
	return k.program.name, driver.ResultSuccess
}

func (s *Simulator) kernelParam(id driver.Kernel, index int) (offset, size uint64, r driver.Result) {
	k := s.kernel(id)
	if k == nil {
		return 0, 0, driver.ResultInvalidHandle
	}
	if index < 0 || index >= len(k.program.params) {
		return 0, 0, driver.ResultInvalidValue
	}
	p := &k.program.params[index]
	return p.Offset, p.Size, driver.ResultSuccess
}
