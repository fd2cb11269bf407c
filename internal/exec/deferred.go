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
	Tracing   uint32 = C.DL_TRACING
)

// SetAttention makes launches leave the fast path from now on.
func SetAttention(bits uint32) { C.set(C.uint32_t(bits)) }

// ClearAttention undoes SetAttention.
func ClearAttention(bits uint32) { C.clear(C.uint32_t(bits)) }

// AttentionWord reads the bits that are set.
func AttentionWord() uint32 { return uint32(C.get()) }

// Deferred holds what is to be freed until no launch can see it any more.
type Deferred struct {
	mu      sync.Mutex
	pending []deferredCall
}

type deferredCall struct {
	readers []C.dl_reader // who was inside a launch when it was unpublished
	free    func()
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

// Retire runs free once every launch that has begun by now is over: at once if
// there is none, else in a later Retire or Reclaim. It never waits. What free
// frees was unpublished before.
func (d *Deferred) Retire(free func()) {
	d.mu.Lock()
	d.pending = append(d.pending, deferredCall{readers(), free})
	d.mu.Unlock()
	d.Reclaim()
}

// Reclaim frees what no launch can see any more, and says how much is left.
func (d *Deferred) Reclaim() int {
	d.mu.Lock()
	var ready []func()
	kept := d.pending[:0]
	for _, one := range d.pending {
		if one.readers = stillInside(one.readers); len(one.readers) == 0 {
			ready = append(ready, one.free)
		} else {
			kept = append(kept, one)
		}
	}
	d.pending = kept
	d.mu.Unlock()
	for _, free := range ready {
		free()
	}
	return len(kept)
}

// Pending counts what is not freed yet.
func (d *Deferred) Pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pending)
}

// AwaitLaunches returns when every launch that has begun by now is over. A
// launch can block as long as the driver's queue is full.
func AwaitLaunches() {
	for left := readers(); len(left) > 0; left = stillInside(left) {
		runtime.Gosched()
	}
}
