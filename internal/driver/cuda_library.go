package driver

import (
	"bytes"
	"runtime"
	"unsafe"
)

func fillLibraries(a *API, s *symbols) {
	load, unload := s.required("cuLibraryLoadData"), s.required("cuLibraryUnload")
	a.LibraryLoad = func(image []byte, options []JITOption) (Library, Result) { return loadLibrary(load, image, options) }
	a.LibraryUnload = func(l Library) Result { return unload.call(uintptr(l)) }

	kernel, count, enumerate := s.required("cuLibraryGetKernel"), s.optional("cuLibraryGetKernelCount", 12040), s.optional("cuLibraryEnumerateKernels", 12040)
	a.LibraryKernel = func(l Library, name string) (Kernel, Result) {
		text := cString(name)
		defer text.Unpin()
		return out[Kernel](kernel, uintptr(l), text.address())
	}
	a.LibraryKernelCount = func(l Library) (int, Result) {
		n, r := out[uint32](count, uintptr(l))
		return int(n), r
	}
	a.LibraryKernels = func(l Library, n int) ([]Kernel, Result) {
		if n == 0 {
			return nil, ResultSuccess
		}
		kernels := make([]Kernel, n)
		var pinner runtime.Pinner
		pinner.Pin(&kernels[0])
		defer pinner.Unpin()
		return kernels, enumerate.call(uintptr(unsafe.Pointer(&kernels[0])), uintptr(n), uintptr(l))
	}
	global := s.required("cuLibraryGetGlobal")
	a.LibraryGlobal = func(l Library, name string) (Address, uint64, Result) {
		text := cString(name)
		defer text.Unpin()
		return outTwo[Address, uint64](global, uintptr(l), text.address())
	}
	fillKernels(a, s)
}

func fillKernels(a *API, s *symbols) {
	name, param := s.optional("cuKernelGetName", 12030), s.optional("cuKernelGetParamInfo", 12040)
	a.KernelName = func(k Kernel) (string, Result) { return nameOf(name, uintptr(k)) }
	a.KernelParam = func(k Kernel, index int) (offset, size uint64, r Result) {
		return paramOf(param, uintptr(k), index)
	}
	get, set := s.required("cuKernelGetAttribute"), s.required("cuKernelSetAttribute")
	a.KernelAttribute = func(id int32, k Kernel, d Device) (int32, Result) {
		return out[int32](get, uintptr(id), uintptr(k), uintptr(d))
	}
	a.KernelSetAttribute = func(id, value int32, k Kernel, d Device) Result {
		return set.call(uintptr(id), uintptr(value), uintptr(k), uintptr(d))
	}
}

// nameOf is cuKernelGetName or cuFuncGetName.
func nameOf(f function, of uintptr) (string, Result) {
	text, r := out[*byte](f, of)
	if r != ResultSuccess {
		return "", r
	}
	return goString(text), r
}

// paramOf is cuKernelGetParamInfo or cuFuncGetParamInfo.
func paramOf(f function, of uintptr, index int) (offset, size uint64, r Result) {
	at, bytes := pinned[uint64](), pinned[uint64]()
	defer at.Unpin()
	defer bytes.Unpin()
	r = f.call(of, uintptr(index), at.address(), bytes.address())
	return *at.value, *bytes.value, r
}

// outTwo calls a function whose first two arguments receive a value each.
func outTwo[A, B any](f function, args ...uintptr) (A, B, Result) {
	a, b := pinned[A](), pinned[B]()
	defer a.Unpin()
	defer b.Unpin()
	r := f.call(append([]uintptr{a.address(), b.address()}, args...)...)
	return *a.value, *b.value, r
}

// cString gives a text that ends in NUL.
func cString(text string) *cell[byte] {
	c := &cell[byte]{value: &append([]byte(text), 0)[0]}
	c.Pin(c.value)
	return c
}

// goString copies a text of the driver's.
func goString(text *byte) string {
	if text == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(text), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(text, n))
}

// jitArrays gives options as the driver takes them, in memory that is never none.
func jitArrays(options []JITOption) ([]int32, []uint64) {
	ids, values := make([]int32, len(options)+1), make([]uint64, len(options)+1)
	for i, o := range options {
		ids[i], values[i] = o.ID, o.Value
	}
	return ids, values
}

// loadLibrary gives PTX its NUL. The driver copies image and options before it
// returns (seen with driver 580); what an option points to, it uses later.
func loadLibrary(load function, image []byte, options []JITOption) (Library, Result) {
	image = append(bytes.Clone(image), 0)
	ids, values := jitArrays(options)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	pinner.Pin(&image[0])
	pinner.Pin(&ids[0])
	pinner.Pin(&values[0])
	return out[Library](load, uintptr(unsafe.Pointer(&image[0])), uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&values[0])),
		uintptr(len(options)), 0, 0, 0)
}
