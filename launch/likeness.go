package launch

import (
	"encoding/binary"
	"slices"
	"sync"

	"dlaunch/dlpack"
	"dlaunch/internal/driver"
)

// What a foreign address leads to is looked at before the driver is asked about it:
// where a CUfunction has pointers the driver follows what it finds, and dies of a
// CUmodule (seen: 580). Where they lie shows a function of our own.

// likeness is the words at a CUfunction's beginning that are pointers.
type likeness struct {
	once     sync.Once
	pointers []int
}

const (
	words     = 8
	wordBytes = 8
	reach     = 64 // how far behind such a pointer the driver looks
	sample    = ".version 6.3\n.target sm_70\n.address_size 64\n.visible .entry sample() { ret; }\n"
)

// resemblesFunction takes what is 0 for a pointer, too.
func (e *Engine) resemblesFunction(address uintptr) bool {
	if e.simulated() {
		return true
	}
	e.likeness.once.Do(e.learnLikeness)
	return !slices.ContainsFunc(e.likeness.pointers, func(i int) bool {
		word := wordAt(address, i)
		return word != 0 && !isPointer(word)
	})
}

// learnLikeness leaves the sample loaded: an unload would wait for running kernels.
func (e *Engine) learnLikeness() {
	api := e.driver.API
	library, r := api.LibraryLoad([]byte(sample), nil)
	if r != driver.ResultSuccess {
		return
	}
	kernel, r := api.LibraryKernel(library, "sample")
	if r != driver.ResultSuccess {
		return
	}
	function, r := api.KernelFunction(kernel)
	if r != driver.ResultSuccess || e.checkAddress(uintptr(function)) != nil {
		return
	}
	for i := range words {
		if isPointer(wordAt(uintptr(function), i)) {
			e.likeness.pointers = append(e.likeness.pointers, i)
		}
	}
}

// beginsAsImage says whether a cubin or the like lies at an address, not a handle.
func (e *Engine) beginsAsImage(address uintptr) bool {
	return !e.simulated() && kindOf(handleAt(address)) != driver.LinkPTX
}

func wordAt(address uintptr, i int) uintptr {
	return uintptr(binary.NativeEndian.Uint64(handleAt(address)[i*wordBytes:]))
}

// handleAt reads at addresses that checkAddress has passed.
func handleAt(address uintptr) []byte {
	return dlpack.HostBytes(uint64(address), uint64(address)+handleBytes)
}

func isPointer(word uintptr) bool { return word%wordBytes == 0 && isMapped(word, reach) }
