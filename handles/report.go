package handles

import (
	"slices"
	"time"
)

// Info describes one entry for the report.
type Info struct {
	Kind       Kind
	Handle     Handle
	Label      string
	Sequence   uint64 // counts every Open of the table, from 1
	Created    time.Time
	Open       bool // false: closed, and alive because something still holds it
	References int
	HeldBy     []Handle // in the order in which they were opened
}

// Live counts, by kind, the handles that are open; kinds with none are absent.
func (t *Table) Live() map[Kind]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	live := map[Kind]int{}
	for kind, n := range t.open {
		if n > 0 {
			live[Kind(kind)] = n
		}
	}
	return live
}

// Select gives the entries of a kind, closed ones too, whose values are wanted;
// wanted is called with the lock held. It adds no references.
func (t *Table) Select(kind Kind, wanted func(value any) bool) []*Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []*Entry
	for _, s := range t.slots {
		if e := s.entry; e != nil && e.references > 0 && e.Kind == kind && wanted(e.Value) {
			found = append(found, e)
		}
	}
	return found
}

// Entries lists all that is not released yet, closed or not, in the order in
// which it was opened.
func (t *Table) Entries() []Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	var alive []*Entry
	for _, s := range t.slots {
		if s.entry != nil && s.entry.references > 0 {
			alive = append(alive, s.entry)
		}
	}
	slices.SortFunc(alive, func(a, b *Entry) int { return int(int64(a.sequence) - int64(b.sequence)) })
	holders := map[*Entry][]Handle{}
	for _, e := range alive {
		for _, held := range e.holds {
			holders[held] = append(holders[held], e.Handle)
		}
	}
	infos := make([]Info, len(alive))
	for i, e := range alive {
		infos[i] = Info{Kind: e.Kind, Handle: e.Handle, Label: e.Label, Sequence: e.sequence, Created: e.created,
			Open: e.open, References: e.references, HeldBy: holders[e]}
	}
	return infos
}
