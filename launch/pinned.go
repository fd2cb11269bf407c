package launch

import (
	"sync"

	"dlaunch/internal/driver"
)

// Host tensors pass through page-locked memory where that pays: the driver copies
// pageable memory in pieces of its own, and takes 21 µs for 64 KiB to an H200 where
// 12 do, 23 where 13 do for the way back, copying included; above 1 MiB there is no
// gain, or a loss. Page-locking takes longer than such a copy, and giving it back waits
// for the device, so rooms are kept: until a drain, which waits anyway.
const (
	roomBytes = 1 << 20
	mostRooms = 32
)

// rooms are pieces of page-locked memory, each for one launch at a time.
type rooms struct {
	mu   sync.Mutex
	made int
	idle []uintptr
}

// room is what one launch has of it; base is 0 where there is none.
type room struct {
	base uintptr
	used uint64
}

// fits says how many bytes of a room a block takes, if it has its place there.
func (r *room) fits(bytes uint64) (uint64, bool) {
	const alignment = 64 // no two blocks share a cache line
	taken := (bytes + alignment - 1) &^ (alignment - 1)
	return taken, bytes <= roomBytes && taken <= roomBytes-r.used
}

// take gives a block its place; 0 where it has none.
func (e *Engine) take(r *room, bytes uint64) uintptr {
	taken, fits := r.fits(bytes)
	if !fits {
		return 0
	}
	if r.base == 0 {
		if r.base = e.enterRoom(); r.base == 0 {
			return 0
		}
	}
	at := r.base + uintptr(r.used)
	r.used += taken
	return at
}

func (e *Engine) enterRoom() uintptr {
	e.rooms.mu.Lock()
	if last := len(e.rooms.idle) - 1; last >= 0 {
		base := e.rooms.idle[last]
		e.rooms.idle = e.rooms.idle[:last]
		e.rooms.mu.Unlock()
		return base
	}
	full := e.rooms.made == mostRooms
	if !full {
		e.rooms.made++
	}
	e.rooms.mu.Unlock()
	if full {
		return 0
	}
	base, r := e.driver.API.MemHostAlloc(roomBytes)
	if r != driver.ResultSuccess { // then host tensors go as they are
		e.rooms.mu.Lock()
		defer e.rooms.mu.Unlock()
		e.rooms.made--
		return 0
	}
	return base
}

func (e *Engine) leaveRoom(r room) {
	if r.base == 0 {
		return
	}
	e.rooms.mu.Lock()
	defer e.rooms.mu.Unlock()
	e.rooms.idle = append(e.rooms.idle, r.base)
}

// freeRooms gives back those that no launch is in.
func (e *Engine) freeRooms() error {
	e.rooms.mu.Lock()
	idle := e.rooms.idle
	e.rooms.idle = nil
	e.rooms.made -= len(idle)
	e.rooms.mu.Unlock()
	if len(idle) == 0 || e.poisoned() != nil {
		return nil
	}
	return e.on(e.currentDevice(), func(*device) error {
		for _, base := range idle {
			if r := e.driver.API.MemHostFree(base); r != driver.ResultSuccess {
				return e.failure("cuMemFreeHost", r)
			}
		}
		return nil
	})
}
