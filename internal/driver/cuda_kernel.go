package driver

// fillFunctions and fillOccupancy bind what a launch can do without.
func fillFunctions(a *API, s *symbols) {
	function, library := s.optional("cuKernelGetFunction", 12000), s.optional("cuKernelGetLibrary", 12050)
	a.KernelFunction = func(k Kernel) (Function, Result) { return out[Function](function, uintptr(k)) }
	a.KernelLibrary = func(k Kernel) (Library, Result) { return out[Library](library, uintptr(k)) }

	module, name := s.optional("cuFuncGetModule", 11000), s.optional("cuFuncGetName", 12030)
	param, load := s.optional("cuFuncGetParamInfo", 12040), s.optional("cuFuncLoad", 12040)
	a.FunctionModule = func(f Function) (Module, Result) { return out[Module](module, uintptr(f)) }
	a.FunctionName = func(f Function) (string, Result) { return nameOf(name, uintptr(f)) }
	a.FunctionParam = func(f Function, index int) (offset, size uint64, r Result) {
		return paramOf(param, uintptr(f), index)
	}
	a.FunctionLoad = func(f Function) Result { return load.call(uintptr(f)) }

	get, set := s.optional("cuFuncGetAttribute", 2020), s.optional("cuFuncSetAttribute", 9000)
	a.FunctionAttribute = func(id int32, f Function) (int32, Result) { return out[int32](get, uintptr(id), uintptr(f)) }
	a.FunctionSetAttribute = func(id, value int32, f Function) Result {
		return set.call(uintptr(f), uintptr(id), uintptr(value))
	}
}

func fillOccupancy(a *API, s *symbols) {
	blocks := s.optional("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050)
	shared := s.optional("cuOccupancyAvailableDynamicSMemPerBlock", 10020)
	a.MaxActiveBlocks = func(f Function, block int32, shared uint64) (int32, Result) {
		return out[int32](blocks, uintptr(f), uintptr(block), uintptr(shared))
	}
	a.AvailableShared = func(f Function, blocks, block int32) (uint64, Result) {
		return out[uint64](shared, uintptr(f), uintptr(blocks), uintptr(block))
	}
	size, clusters := s.optional("cuOccupancyMaxPotentialClusterSize", 11070), s.optional("cuOccupancyMaxActiveClusters", 11070)
	a.MaxClusterSize = func(f Function, config uintptr) (int32, Result) { return out[int32](size, uintptr(f), config) }
	a.MaxActiveClusters = func(f Function, config uintptr) (int32, Result) { return out[int32](clusters, uintptr(f), config) }
}
