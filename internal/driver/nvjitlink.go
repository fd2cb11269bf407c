package driver

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"dlaunch/internal/status"
)

// JITLinker is nvJitLink, which links LTO IR: the driver's own linker does not.
type JITLinker struct {
	create, destroy, add, complete function
	image, errors, messages        sizedGetter
	ptx                            sizedGetter
	Path                           string
}

// sizedGetter is a pair of functions: how many bytes there are, and the bytes.
type sizedGetter struct{ size, get function }

// nvJitLinkInputs are the kinds as nvJitLink.h numbers them.
var nvJitLinkInputs = map[LinkKind]uintptr{LinkCubin: 1, LinkPTX: 2, LinkLTOIR: 3, LinkFatbin: 4, LinkObject: 5, LinkArchive: 6}

// nvJitLinkErrors are the names of its results, from 1 on.
var nvJitLinkErrors = []string{
	"UNRECOGNIZED_OPTION", "MISSING_ARCH", "INVALID_INPUT", "PTX_COMPILE", "NVVM_COMPILE", "INTERNAL", "THREADPOOL", "UNRECOGNIZED_INPUT", "FINALIZE",
	"NULL_INPUT", "INCOMPATIBLE_OPTIONS", "INCORRECT_INPUT_TYPE", "ARCH_MISMATCH", "OUTDATED_LIBRARY", "MISSING_FATBIN", "UNRECOGNIZED_ARCH", "UNSUPPORTED_ARCH",
}

// JITLinkerNames are the names to look for: a cubin of a newer CUDA than the
// driver's does not load, unless only the minor version is newer.
func JITLinkerNames(driverVersion int) []string {
	var names []string
	for major := driverVersion / 1000; major >= 12; major-- {
		names = append(names, fmt.Sprintf("libnvJitLink.so.%d", major))
	}
	return names
}

// OpenJITLinker opens the first of the candidates that is there. It stays open.
func OpenJITLinker(candidates []string) (*JITLinker, error) {
	// The loader keeps its last message per OS thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, path := range candidates {
		library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return newJITLinker(library, path)
		}
		if !absent(path, err.Error()) {
			return nil, status.Errorf(status.Unsupported, "nvJitLink is there, but cannot be loaded: %v", err)
		}
	}
	return nil, status.Errorf(status.Unsupported, "LTO IR is linked by nvJitLink, which is not there (tried %s): "+
		"pip install nvidia-nvjitlink (CUDA 13) or nvidia-nvjitlink-cu12, or name the file in the options", strings.Join(candidates, ", "))
}

func newJITLinker(library uintptr, path string) (*JITLinker, error) {
	s := newSymbols(library)
	function := func(name string) function { return s.required("nvJitLink" + name) }
	getter := func(name string) sizedGetter { return sizedGetter{function(name + "Size"), function(name)} }
	j := &JITLinker{
		create: function("Create"), destroy: function("Destroy"), add: function("AddData"), complete: function("Complete"),
		image: getter("GetLinkedCubin"), ptx: getter("GetLinkedPtx"), errors: getter("GetErrorLog"), messages: getter("GetInfoLog"),
	}
	if len(s.absent) > 0 {
		return nil, status.Errorf(status.Unsupported, "%s lacks %s: nvJitLink 12.3 or newer is needed", path, s.absent[0])
	}
	j.Path = fileOf(j.create, path)
	return j, nil
}

// Link makes one image of several inputs: PTX if it is among the options as
// -ptx, else a cubin. log is what the compiler said, also when there is an error.
func (j *JITLinker) Link(inputs []LinkInput, options []string) (image []byte, log string, err error) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	texts := make([]*byte, len(options)+1)
	get := j.image
	for i, option := range options {
		text := cString(option)
		defer text.Unpin()
		texts[i] = text.value
		if option == "-ptx" {
			get = j.ptx
		}
	}
	pinner.Pin(&texts[0])
	handle := pinned[uintptr]()
	defer handle.Unpin()
	if r := j.create.call(handle.address(), uintptr(len(options)), uintptr(unsafe.Pointer(&texts[0]))); r != ResultSuccess {
		return nil, "", j.failure("nvJitLinkCreate", r, strings.Join(options, " ")) // its handle has no log (13.5 crashes)
	}
	defer j.destroy.call(handle.address())
	for _, input := range inputs {
		if r := j.addData(*handle.value, input); r != ResultSuccess {
			log = j.log(*handle.value)
			return nil, log, j.failure("nvJitLinkAddData", r, input.Name+"\n"+log)
		}
	}
	r := j.complete.call(*handle.value)
	log = j.log(*handle.value)
	if r == ResultSuccess {
		image, r = get.bytes(*handle.value)
	}
	if r != ResultSuccess {
		return nil, log, j.failure("nvJitLinkComplete", r, "\n"+log)
	}
	return image, log, nil
}

func (j *JITLinker) addData(handle uintptr, input LinkInput) Result {
	data, name := linkData(input), cString(input.Name)
	defer name.Unpin()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&data[0])
	return j.add.call(handle, nvJitLinkInputs[input.Kind], uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), name.address())
}

func (j *JITLinker) log(handle uintptr) string {
	var texts []string
	for _, get := range []sizedGetter{j.errors, j.messages} {
		text, _ := get.bytes(handle)
		texts = append(texts, string(bytes.Trim(text, "\x00\n")))
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// bytes gets what there is. Logs count their NUL in some versions, not in others.
func (g sizedGetter) bytes(handle uintptr) ([]byte, Result) {
	size := pinned[uint64]()
	defer size.Unpin()
	if r := g.size.call(handle, size.address()); r != ResultSuccess || *size.value == 0 {
		return nil, r
	}
	room := make([]byte, *size.value+1)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&room[0])
	r := g.get.call(handle, uintptr(unsafe.Pointer(&room[0])))
	return room[:*size.value], r
}

func (j *JITLinker) failure(function string, r Result, more string) error {
	name := "?"
	if r > 0 && int(r) <= len(nvJitLinkErrors) {
		name = nvJitLinkErrors[r-1]
	}
	return status.Errorf(status.Image, "%s: %s (%d): %s", function, name, int32(r), more)
}
