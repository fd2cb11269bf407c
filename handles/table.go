// Package handles is the one table of everything that has a handle: it gives
// numbers, counts references, and keeps alive what something else needs. It is
// the one place where things of any kind begin and end, so that the trace and
// the leak report see them all.
//
// It must never know CUDA or DLPack: what an entry stands for is a value that
// it carries, and a function that it calls once at the end.
package handles

import (
	"sync"
	"time"

	"dlaunch/internal/status"
)

// Table holds all entries. Every method may be called from any goroutine.
type Table struct {
	// Trace, unless nil, hears of every "open", "origin", "close" and "release", with
	// no lock held. Set it before the first Open.
	Trace func(event string, e *Entry)

	maxSlots      int
	maxGeneration uint32

	mu       sync.Mutex
	slots    []slot
	free     queue
	sequence uint64
	open     [len(kindNames)]int
}

// slot is one place in the table. It keeps its entry until that is released,
// not only until it is closed: whatever C keeps by slot number is then never
// shared by an old reader and a new entry.
type slot struct {
	entry      *Entry
	generation uint32
	next       int // the slot that follows in the free queue
}

// queue is a first-in first-out list threaded through the slots, so that a
// slot's generation moves as slowly as it can.
type queue struct{ first, last, length int }

// New makes an empty table.
func New() *Table { return sized(slotBits, generationBits) }

// sized makes a table that uses fewer bits of the number than there are.
func sized(slotBits, generationBits int) *Table {
	return &Table{maxSlots: 1 << slotBits, maxGeneration: 1<<generationBits - 1}
}

// Open makes an entry and its number. The entry begins with one reference, the
// user's, which Close hands back, and holds the entries in holds from now on.
//
// When its last reference goes, release (which may be nil) is called exactly
// once with no lock held, and after it what the entry held is dropped. When
// Open fails, release is not called: the value is still the caller's.
func (t *Table) Open(kind Kind, label string, value any, release func(), holds ...*Entry) (*Entry, error) {
	e := &Entry{Kind: kind, Label: label, Value: value, table: t, release: release,
		holds: append([]*Entry(nil), holds...), references: 1, open: true, created: time.Now()}
	if err := t.insert(e); err != nil {
		return nil, err
	}
	t.trace("open", e)
	return e, nil
}

func (t *Table) insert(e *Entry) error {
	if e.Kind == Any || int(e.Kind) >= len(kindNames) {
		return status.Errorf(status.Internal, "handles: an entry of %v cannot be opened", e.Kind)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, held := range e.holds {
		// Found by Get, and its last reference went before this call.
		if held.references == 0 {
			return status.Errorf(status.Handle, "%v handle %d (%s) is closed already; it cannot be held any more",
				held.Kind, held.Handle, held.Label)
		}
	}
	n, ok := t.take()
	if !ok {
		return status.Errorf(status.Memory, "all %d handles are in use; close some", t.maxSlots)
	}
	for _, held := range e.holds {
		held.references++
	}
	s := &t.slots[n]
	s.generation++
	s.entry = e
	t.sequence++
	t.open[e.Kind]++
	e.sequence = t.sequence
	e.Handle = encode(e.Kind, s.generation, uint32(n))
	return nil
}

// take gives the slot that has been free longest, or a new one.
func (t *Table) take() (int, bool) {
	if t.free.length > 0 {
		n := t.free.first
		t.free.first = t.slots[n].next
		t.free.length--
		return n, true
	}
	if len(t.slots) == t.maxSlots {
		return 0, false
	}
	t.slots = append(t.slots, slot{})
	return len(t.slots) - 1, true
}

// recycle frees the slot of a released entry, unless its generation would wrap
// and an ancient number would name something again: then it is retired.
func (t *Table) recycle(e *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int(e.Handle.Slot())
	s := &t.slots[n]
	s.entry = nil
	if s.generation == t.maxGeneration {
		return
	}
	if t.free.length == 0 {
		t.free.first = n
	} else {
		t.slots[t.free.last].next = n
	}
	t.free.last = n
	t.free.length++
}

// Get finds an open entry. It adds no reference: another goroutine may close
// the entry at any time, so use Acquire for work that needs the thing itself.
func (t *Table) Get(h Handle, kind Kind) (*Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(h, kind)
}

// Acquire is Get with one reference more: call Drop when done.
func (t *Table) Acquire(h Handle, kind Kind) (*Entry, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(h, kind)
	if err != nil {
		return nil, err
	}
	e.references++
	return e, nil
}

// Close makes the number stale at once. The user's reference stays with the
// caller, who calls Drop on the entry once those who found it before by other
// means (readers in C) are gone.
func (t *Table) Close(h Handle, kind Kind) (*Entry, error) {
	t.mu.Lock()
	e, err := t.find(h, kind)
	if err == nil {
		e.open = false
		t.open[e.Kind]--
	}
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	t.trace("close", e)
	return e, nil
}

// find is called with the lock held.
func (t *Table) find(h Handle, kind Kind) (*Entry, error) {
	if h == 0 {
		return nil, status.Errorf(status.Handle, "handle 0 is never valid; %s was wanted", kind.article())
	}
	claimed, n, generation := h.Kind(), int(h.Slot()), h.generation()
	never := claimed == Any || int(claimed) >= len(kindNames) || n >= len(t.slots) || generation == 0 ||
		generation > t.slots[n].generation
	if never {
		return nil, neverMade(h, kind)
	}
	s := &t.slots[n]
	if generation < s.generation || s.entry == nil {
		return nil, closedAlready(h, claimed, "")
	}
	e := s.entry
	switch {
	case e.Kind != claimed:
		return nil, neverMade(h, kind)
	case !e.open:
		return nil, closedAlready(h, claimed, e.Label)
	case kind != Any && kind != e.Kind:
		return nil, status.Errorf(status.Handle, "handle %d is %s%s; %s was wanted",
			h, e.Kind.article(), inBrackets(e.Label), kind.article())
	}
	return e, nil
}

func neverMade(h Handle, wanted Kind) error {
	return status.Errorf(status.Handle, "handle %d was never made by this library; %s was wanted", h, wanted.article())
}

func closedAlready(h Handle, kind Kind, label string) error {
	return status.Errorf(status.Handle, "%v handle %d%s is closed already", kind, h, inBrackets(label))
}

func inBrackets(label string) string {
	if label == "" {
		return ""
	}
	return " (" + label + ")"
}

func (t *Table) trace(event string, e *Entry) {
	if t.Trace != nil {
		t.Trace(event, e)
	}
}
