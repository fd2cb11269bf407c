package driver

import (
	"runtime"
	"unsafe"
)

// fill binds the whole table. Names carry the ABI version that is meant: the
// oldest that does the job, which newer drivers keep.
func fill(s *symbols) *API {
	a := &API{}
	fillDevices(a, s)
	fillLibraries(a, s)
	fillFunctions(a, s)
	fillOccupancy(a, s)
	fillLinker(a, s)
	fillStreams(a, s)
	fillMemory(a, s)
	fillGraphs(a, s)
	a.LaunchKernelEx = s.required("cuLaunchKernelEx").address
	a.CtxGetCurrent = s.required("cuCtxGetCurrent").address
	a.CtxSetCurrent = s.required("cuCtxSetCurrent").address
	a.CtxGetDevice = s.required("cuCtxGetDevice").address
	a.StreamGetCtx = s.required("cuStreamGetCtx").address
	a.PointerGetAttributes = s.required("cuPointerGetAttributes").address
	a.StreamIsCapturing = s.required("cuStreamIsCapturing").address
	return a
}

// out calls a function whose first argument receives one value.
func out[T any](f function, args ...uintptr) (T, Result) {
	value := pinned[T]()
	defer value.Unpin()
	r := f.call(append([]uintptr{value.address()}, args...)...)
	return *value.value, r
}

// cell is one Go value that C writes to.
type cell[T any] struct {
	value *T
	runtime.Pinner
}

func pinned[T any]() *cell[T] {
	c := &cell[T]{value: new(T)}
	c.Pin(c.value)
	return c
}

func (c *cell[T]) address() uintptr { return uintptr(unsafe.Pointer(c.value)) }

func fillDevices(a *API, s *symbols) {
	count, attribute := s.required("cuDeviceGetCount"), s.required("cuDeviceGetAttribute")
	a.DeviceCount = func() (int, Result) {
		n, r := out[int32](count)
		return int(n), r
	}
	a.DeviceAttribute = func(id int32, device Device) (int32, Result) {
		return out[int32](attribute, uintptr(id), uintptr(device))
	}
	retain, current, set := s.required("cuDevicePrimaryCtxRetain"), s.required("cuCtxGetCurrent"), s.required("cuCtxSetCurrent")
	device, synchronize := s.required("cuCtxGetDevice"), s.required("cuCtxSynchronize")
	a.PrimaryContextRetain = func(d Device) (Context, Result) { return out[Context](retain, uintptr(d)) }
	a.ContextCurrent = func() (Context, Result) { return out[Context](current) }
	a.ContextSetCurrent = func(c Context) Result { return set.call(uintptr(c)) }
	a.ContextDevice = func() (Device, Result) { return out[Device](device) }
	a.ContextSynchronize = func() Result { return synchronize.call() }
}
