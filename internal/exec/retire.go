package exec

/*
#include "exec.h"
static void set(uint32_t bits) { atomic_fetch_or(&dl_attention, bits); }
static void clear(uint32_t bits) { atomic_fetch_and(&dl_attention, ~bits); }
static uint32_t get(void) { return atomic_load(&dl_attention); }
*/
import "C"

import (
	"runtime"
	"sync"
)

// Bits of the attention word.
const (
	Forked    uint32 = C.DL_FORKED
	Exiting   uint32 = C.DL_EXITING
	Poisoned  uint32 = C.DL_POISONED
	Unloading uint32 = C.DL_UNLOADING
)

// SetAttention makes launches leave the fast path from now on.
func SetAttention(bits uint32) { C.set(C.uint32_t(bits)) }

// ClearAttention undoes SetAttention.
func ClearAttention(bits uint32) { C.clear(C.uint32_t(bits)) }

// AttentionWord reads the bits that are set.
func AttentionWord() uint32 { return uint32(C.get()) }

// Graves holds what is closed until no launch can see it any more.
type Graves struct {
	mu      sync.Mutex
	pending []grave
}

type grave struct {
	readers []C.dl_reader // who was inside a launch when it was unpublished
	bury    func()
}

// readers gives the threads that are inside a launch now.
func readers() []C.dl_reader {
	room := make([]C.dl_reader, 16)
	for {
		n := int(C.dl_snapshot(&room[0], C.uint32_t(len(room))))
		if n <= len(room) {
			return room[:n]
		}
		room = make([]C.dl_reader, 2*n)
	}
}

func stillInside(all []C.dl_reader) []C.dl_reader {
	var left []C.dl_reader
	for i := range all {
		if !C.dl_has_left(&all[i]) {
			left = append(left, all[i])
		}
	}
	return left
}

// Retire runs bury once every launch that has begun by now is over: at once if
// there is none, else in a later Retire or Reclaim. It never waits. What bury
// frees was unpublished before.
func (g *Graves) Retire(bury func()) {
	g.mu.Lock()
	g.pending = append(g.pending, grave{readers(), bury})
	g.mu.Unlock()
	g.Reclaim()
}

// Reclaim buries what no launch can see any more, and says how much is left.
func (g *Graves) Reclaim() int {
	g.mu.Lock()
	var ready []func()
	kept := g.pending[:0]
	for _, one := range g.pending {
		if one.readers = stillInside(one.readers); len(one.readers) == 0 {
			ready = append(ready, one.bury)
		} else {
			kept = append(kept, one)
		}
	}
	g.pending = kept
	g.mu.Unlock()
	for _, bury := range ready {
		bury()
	}
	return len(kept)
}

// Pending counts what is not buried yet.
func (g *Graves) Pending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending)
}

// AwaitLaunches returns when every launch that has begun by now is over. A
// launch can block as long as the driver's queue is full.
func AwaitLaunches() {
	for left := readers(); len(left) > 0; left = stillInside(left) {
		runtime.Gosched()
	}
}
