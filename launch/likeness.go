package launch

import (
	"slices"
	"sync"
	"unsafe"

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
		word := wordsAt(address)[i]
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
	for i, word := range wordsAt(uintptr(function)) {
		if isPointer(word) {
			e.likeness.pointers = append(e.likeness.pointers, i)
		}
	}
}

// beginsAsImage says whether PTX, a cubin or the like lies at an address, not a handle.
func (e *Engine) beginsAsImage(address uintptr) bool {
	return !e.simulated() && kindOf(unsafe.Slice((*byte)(unsafe.Add(nil, address)), handleBytes)) != driver.LinkPTX
}

// wordsAt and beginsAsImage read at addresses that checkAddress has passed.
func wordsAt(address uintptr) []uintptr {
	return unsafe.Slice((*uintptr)(unsafe.Add(nil, address)), words)
}

func isPointer(word uintptr) bool { return word%wordBytes == 0 && isMapped(word, reach) }
