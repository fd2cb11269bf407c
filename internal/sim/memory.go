package sim

import (
	"slices"
	"sort"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"dlaunch/internal/status"
)

// span is memory that kernels may touch: [low, high).
type span struct{ low, high uint64 }

// region is one allocation: pages of its own, so that what lies past it faults
// in hardware too, whoever touches it.
type region struct {
	base, size uint64 // the pages
	bytes      uint64 // what was asked for
	spans      []span // what may be touched: all of it, or a library's symbols
	symbols    bool   // not the user's to free
}

// arena is the device's memory: one reserved range of addresses. Pages of live
// regions are readable and writable, all others trap.
type arena struct {
	base, size uint64
	limit      uint64 // bytes that may be allocated at once: what the host has

	mu     sync.Mutex
	live   []*region // sorted by base
	used   uint64
	cursor uint64            // where the next search begins: what was freed is reused late
	host   map[uint64][]byte // page-locked memory, outside the range
}

const (
	largestArena  = 64 << 30
	smallestArena = 1 << 30
	redZone       = 1 // pages between two regions
)

// pointer is the one place where an address becomes a pointer. Addresses come
// from mmap or from the caller's memory, never from Go's heap.
//
//go:nocheckptr
func pointer(address uint64) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), address) }

// view gives memory as bytes.
func view(address, bytes uint64) []byte { return unsafe.Slice((*byte)(pointer(address)), bytes) }

func newArena() (*arena, error) {
	a := &arena{host: map[uint64][]byte{}}
	var base unsafe.Pointer
	var err error
	for a.size = largestArena; a.size >= smallestArena; a.size /= 2 {
		base, err = unix.MmapPtr(-1, 0, nil, uintptr(a.size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err == nil {
			break
		}
	}
	if err != nil {
		return nil, status.Errorf(status.Memory, "simulator: no %d bytes of addresses can be reserved for device memory: %v", uint64(smallestArena), err)
	}
	a.base = uint64(uintptr(base))
	a.cursor = a.base
	a.limit = a.size / 2
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		a.limit = min(a.limit, uint64(info.Totalram)*uint64(info.Unit))
	}
	return a, nil
}

func (a *arena) release() error { return unix.MunmapPtr(pointer(a.base), uintptr(a.size)) }

func pages(bytes uint64) uint64 {
	page := uint64(unix.Getpagesize())
	return max(1, (bytes+page-1)/page) * page
}

func protect(base, size uint64, how int) error { return unix.Mprotect(view(base, size), how) }

// allocate gives a region of zeroed pages, or nil when there is no room.
func (a *arena) allocate(bytes uint64) *region {
	if bytes > a.limit {
		return nil
	}
	size := pages(bytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.used+size > a.limit {
		return nil
	}
	base, at, found := a.room(a.cursor, size)
	if !found {
		base, at, found = a.room(a.base, size)
	}
	if !found || protect(base, size, unix.PROT_READ|unix.PROT_WRITE) != nil {
		return nil
	}
	r := &region{base: base, size: size, bytes: bytes, spans: []span{{base, base + bytes}}}
	a.live = slices.Insert(a.live, at, r)
	a.used += size
	a.cursor = base + size
	return r
}

// room finds free pages at or after a place, a red zone on either side: their
// address, and their index among the live regions.
func (a *arena) room(from, size uint64) (base uint64, at int, found bool) {
	zone := pages(redZone)
	base = from + zone
	at = sort.Search(len(a.live), func(i int) bool { return a.live[i].base+a.live[i].size+zone > from })
	for ; at < len(a.live) && a.live[at].base < base+size+zone; at++ {
		base = max(base, a.live[at].base+a.live[at].size+zone)
	}
	return base, at, base+size+zone <= a.base+a.size
}

// free takes back what begins at an address. Nothing may run that could touch it.
func (a *arena) free(base uint64, symbols bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.live), func(i int) bool { return a.live[i].base >= base })
	if at == len(a.live) || a.live[at].base != base || a.live[at].symbols != symbols {
		return false
	}
	r := a.live[at]
	a.live = slices.Delete(a.live, at, at+1)
	a.used -= r.size
	// A failure leaves the pages readable: the table still refuses them.
	_ = unix.Madvise(view(r.base, r.size), unix.MADV_DONTNEED)
	_ = protect(r.base, r.size, unix.PROT_NONE)
	return true
}

// allocateHost gives page-locked memory: outside the range, yet open to kernels.
func (a *arena) allocateHost(bytes uint64) uint64 {
	if bytes > a.limit {
		return 0
	}
	memory, err := unix.Mmap(-1, 0, int(pages(bytes)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	address := uint64(uintptr(unsafe.Pointer(&memory[0])))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.host[address] = memory
	return address
}

func (a *arena) freeHost(address uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	memory, known := a.host[address]
	if !known {
		return false
	}
	delete(a.host, address)
	return unix.Munmap(memory) == nil
}

// around gives the allocation, or the library's symbol, that an address is in.
func (a *arena) around(address uint64) (span, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := sort.Search(len(a.live), func(i int) bool { return a.live[i].base+a.live[i].size > address })
	if at == len(a.live) {
		return span{}, false
	}
	for _, s := range a.live[at].spans {
		if s.low <= address && address < s.high {
			return s, true
		}
	}
	return span{}, false
}

// spans gives all that kernels may touch, sorted.
func (a *arena) spans() []span {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := make([]span, 0, len(a.live)+len(a.host))
	for _, r := range a.live {
		all = append(all, r.spans...)
	}
	for address, memory := range a.host {
		all = append(all, span{address, address + uint64(len(memory))})
	}
	slices.SortFunc(all, func(x, y span) int {
		if x.low < y.low {
			return -1
		}
		return 1
	})
	return all
}

func (a *arena) info() (free, total uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.limit - a.used, a.limit
}

// restrict lets kernels touch only parts of a region: a library's symbols.
func (a *arena) restrict(r *region, spans []span) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r.spans, r.symbols = spans, true
}

// within says whether an address is the device's.
func (a *arena) within(address uint64) bool { return address-a.base < a.size }
