package driver

import (
	"bytes"
	"runtime"
	"unsafe"
)

// jitInputs are the kinds as cuda.h numbers them (CUjitInputType).
var jitInputs = map[LinkKind]uintptr{LinkCubin: 0, LinkPTX: 1, LinkFatbin: 2, LinkObject: 3, LinkArchive: 4}

func fillLinker(a *API, s *symbols) {
	l := cudaLinker{
		s.optional("cuLinkCreate_v2", 6050), s.optional("cuLinkAddData_v2", 6050),
		s.optional("cuLinkComplete", 5050), s.optional("cuLinkDestroy", 5050),
	}
	a.LibraryLink = func(inputs []LinkInput, options []JITOption) (Library, []byte, Result) {
		cubin, r := l.link(inputs, options)
		if r != ResultSuccess {
			return 0, nil, r
		}
		library, r := a.LibraryLoad(cubin, nil)
		return library, cubin, r
	}
}

type cudaLinker struct{ create, add, complete, destroy function }

// link runs the driver's linker, which keeps the arrays of options, and what they
// point to, until it is destroyed.
func (l cudaLinker) link(inputs []LinkInput, options []JITOption) ([]byte, Result) {
	var pinner runtime.Pinner
	defer pinner.Unpin()
	ids, values := jitArrays(options)
	pinner.Pin(&ids[0])
	pinner.Pin(&values[0])
	state := pinned[uintptr]()
	defer state.Unpin()
	r := l.create.call(uintptr(len(options)), uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&values[0])), state.address())
	if r != ResultSuccess {
		return nil, r
	}
	defer l.destroy.call(*state.value)
	for _, input := range inputs {
		if r := l.addData(*state.value, input); r != ResultSuccess {
			return nil, r
		}
	}
	image, size := pinned[*byte](), pinned[uint64]()
	defer image.Unpin()
	defer size.Unpin()
	if r := l.complete.call(*state.value, image.address(), size.address()); r != ResultSuccess {
		return nil, r
	}
	return bytes.Clone(unsafe.Slice(*image.value, *size.value)), ResultSuccess // it goes with the state
}

func (l cudaLinker) addData(state uintptr, input LinkInput) Result {
	kind, taken := jitInputs[input.Kind]
	if !taken {
		return ResultNotSupported
	}
	data := linkData(input)
	name := cString(input.Name)
	defer name.Unpin()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&data[0])
	return l.add.call(state, kind, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), name.address(), 0, 0, 0)
}

// linkData gives PTX the NUL that linkers want, once.
func linkData(input LinkInput) []byte {
	if input.Kind != LinkPTX {
		return input.Data
	}
	return append(bytes.Clone(bytes.TrimRight(input.Data, "\x00")), 0)
}
