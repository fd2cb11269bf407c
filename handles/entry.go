package handles

import (
	"fmt"
	"slices"
	"time"
)

// Entry is one thing in the table. The exported fields never change after Open.
type Entry struct {
	Handle Handle
	Kind   Kind
	Label  string
	Value  any

	table    *Table
	release  func()
	holds    []*Entry
	sequence uint64
	created  time.Time

	outlives bool // set by release: see Outlive

	// Guarded by the table's lock.
	references int
	open       bool
	disowned   bool
	origin     string
}

// Drop gives one reference back. With the last one the entry is released in
// this call, and then whatever it held loses its reference, and so on: the
// holder always goes before the held.
func (e *Entry) Drop() {
	dropped := []*Entry{e}
	for len(dropped) > 0 {
		e, dropped = dropped[0], dropped[1:]
		if !e.last() {
			continue
		}
		if e.release != nil {
			e.release()
		}
		if !e.outlives {
			dropped = append(dropped, e.end()...)
		}
	}
}

// Outlive is for a release function: what the entry stands for is in use yet, so
// the entry stays in the table until Gone.
func (e *Entry) Outlive() { e.outlives = true }

// Gone ends an entry that outlived its release.
func (e *Entry) Gone() {
	for _, held := range e.end() {
		held.Drop()
	}
}

// end takes an entry out of the table, and gives what is not held by it any more.
func (e *Entry) end() []*Entry {
	e.table.trace("release", e)
	e.table.recycle(e)
	return e.holds
}

// Bytes is what the entry takes on a device, as its value tells.
func (e *Entry) Bytes() uint64 {
	if sized, is := e.Value.(interface{ DeviceBytes() uint64 }); is {
		return sized.DeviceBytes()
	}
	return 0
}

// Holds gives the entries that this one keeps.
func (e *Entry) Holds() []*Entry {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	return slices.Clone(e.holds)
}

// Hold adds a reference to an entry that is closed, perhaps, but held by something:
// false if it is not.
func (e *Entry) Hold() bool {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.references == 0 {
		return false
	}
	e.references++
	return true
}

// Keep has the entry hold another one, which the caller has acquired, from now on.
func (e *Entry) Keep(held *Entry) {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	e.holds = append(e.holds, held)
}

// LetGo undoes one Keep: the reference is the caller's again, who drops it.
func (e *Entry) LetGo(held *Entry) {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	if i := slices.Index(e.holds, held); i >= 0 {
		e.holds = slices.Delete(e.holds, i, i+1)
	}
}

// DropUnlessLast is Drop where that ends nothing: else it does nothing and says so.
func (e *Entry) DropUnlessLast() bool {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.references < 2 {
		return false
	}
	e.references--
	return true
}

// last takes one reference away and says whether it was the last.
func (e *Entry) last() bool {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.references == 0 {
		panic(fmt.Sprintf("handles: %v %d (%s) is dropped more often than it is held", e.Kind, e.Handle, e.Label))
	}
	e.references--
	return e.references == 0
}
