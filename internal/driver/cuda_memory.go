package driver

func fillMemory(a *API, s *symbols) {
	alloc, free := s.required("cuMemAlloc_v2"), s.required("cuMemFree_v2")
	allocAsync, freeAsync := s.required("cuMemAllocAsync"), s.required("cuMemFreeAsync")
	a.MemAlloc = func(bytes uint64) (Address, Result) { return out[Address](alloc, uintptr(bytes)) }
	a.MemFree = func(address Address) Result { return free.call(uintptr(address)) }
	a.MemAllocAsync = func(bytes uint64, stream Stream) (Address, Result) {
		return out[Address](allocAsync, uintptr(bytes), uintptr(stream))
	}
	a.MemFreeAsync = func(address Address, stream Stream) Result { return freeAsync.call(uintptr(address), uintptr(stream)) }

	host, freeHost, info := s.optional("cuMemHostAlloc", 2020), s.optional("cuMemFreeHost", 2000), s.optional("cuMemGetInfo_v2", 3020)
	a.MemHostAlloc = func(bytes uint64) (uintptr, Result) { return out[uintptr](host, uintptr(bytes), 0) }
	a.MemHostFree = func(address uintptr) Result { return freeHost.call(address) }
	a.MemInfo = func() (free, total uint64, r Result) { return outTwo[uint64, uint64](info) }

	toDevice, toHost := s.required("cuMemcpyHtoDAsync_v2"), s.required("cuMemcpyDtoHAsync_v2")
	a.CopyHostToDevice = func(dst Address, src uintptr, bytes uint64, stream Stream) Result {
		return toDevice.call(uintptr(dst), src, uintptr(bytes), uintptr(stream))
	}
	a.CopyDeviceToHost = func(dst uintptr, src Address, bytes uint64, stream Stream) Result {
		return toHost.call(dst, uintptr(src), uintptr(bytes), uintptr(stream))
	}
}
