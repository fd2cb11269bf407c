package dlpack

import "unsafe"

// This file is the only one of the package that follows foreign pointers. What
// they lead to is C's: it does not move, the collector does not know it, and it
// is there for the time of the call because the caller of the C function
// promised so. Shapes and strides are copied out at once; elements are touched in host
// memory alone, by what HostBytes is given to.

// at makes a pointer of an address. Going through memory instead of a conversion
// tells vet that no Go pointer was ever hidden in the number.
func at[T any](address uintptr) *T {
	return *(**T)(unsafe.Pointer(&address))
}

// copyInt64s copies n numbers, n > 0.
func copyInt64s(address uintptr, n int) []int64 {
	return append([]int64(nil), unsafe.Slice(at[int64](address), n)...)
}

// HostBytes lets host memory from low to high be read and written as it is.
func HostBytes(low, high uint64) []byte {
	return unsafe.Slice(at[byte](uintptr(low)), high-low)
}

// aligned says whether a struct with 8-byte fields can lie at the address.
func aligned(address uintptr) bool { return address%unsafe.Alignof(int64(0)) == 0 }
