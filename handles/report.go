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
	Open       bool     // false: closed, and alive because something holds or uses it
	References int      // 0: what uses it is not done
	HeldBy     []Handle // in the order in which they were opened
	Bytes      uint64   // on a device
	Origin     string   // where it was made, as Annotate was told
	Disowned   bool
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

// Annotate keeps a text beside an open handle: where it was made.
func (t *Table) Annotate(h Handle, origin string) error {
	t.mu.Lock()
	e, err := t.find(h, Any)
	if err == nil {
		e.origin = origin
	}
	t.mu.Unlock()
	if err == nil {
		t.trace("origin", e)
	}
	return err
}

// Disown says that an open handle is left open on purpose: it is no leak.
func (t *Table) Disown(h Handle) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(h, Any)
	if err == nil {
		e.disowned = true
	}
	return err
}

// Origin is what Annotate was told of an entry.
func (e *Entry) Origin() string {
	e.table.mu.Lock()
	defer e.table.mu.Unlock()
	return e.origin
}

// HeldBy gives the handles of those that keep an entry, in no order.
func (e *Entry) HeldBy() []Handle {
	t := e.table
	t.mu.Lock()
	defer t.mu.Unlock()
	var holders []Handle
	for _, s := range t.slots {
		if s.entry != nil && slices.Contains(s.entry.holds, e) {
			holders = append(holders, s.entry.Handle)
		}
	}
	return holders
}

// Entries lists all that is not gone yet, closed or not, in the order in
// which it was opened.
func (t *Table) Entries() []Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	var alive []*Entry
	for _, s := range t.slots {
		if s.entry != nil {
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
			Open: e.open, References: e.references, HeldBy: holders[e], Bytes: e.Bytes(), Origin: e.origin, Disowned: e.disowned}
	}
	return infos
}
