package handles_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
	"dlaunch/internal/status"
)

func open(t *testing.T, table *handles.Table, kind handles.Kind, label string, release func(), holds ...*handles.Entry) *handles.Entry {
	t.Helper()
	e, err := table.Open(kind, label, label+" value", release, holds...)
	require.NoError(t, err)
	return e
}

func closeAndDrop(t *testing.T, table *handles.Table, e *handles.Entry) {
	t.Helper()
	closed, err := table.Close(e.Handle, e.Kind)
	require.NoError(t, err)
	require.Same(t, e, closed)
	closed.Drop()
}

func refuse(t *testing.T, err error, code status.Code, message string) {
	t.Helper()
	var e *status.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code)
	require.Equal(t, message, e.Message)
}

func TestNumbers(t *testing.T) {
	// The layout is public: kind in bits 48 to 52, generation in 24 to 47,
	// slot in 0 to 23. The first entry of a table has generation 1.
	table := handles.New()
	library := open(t, table, handles.Library, "one", nil)
	event := open(t, table, handles.Event, "two", nil)
	require.Equal(t, handles.Handle(0x1_000001_000000), library.Handle)
	require.Equal(t, handles.Handle(0x6_000001_000001), event.Handle)
	require.Equal(t, handles.Event, event.Handle.Kind())
	require.Equal(t, uint32(1), event.Handle.Slot())
	require.Equal(t, "two value", event.Value)
	require.Equal(t, "two", event.Label)

	require.Equal(t, uint32(0xffffff), handles.Handle(0x2_000001_ffffff).Slot())
	require.Equal(t, handles.Any, handles.Handle(7).Kind())
	require.Equal(t, handles.Any, handles.Handle(1<<53).Kind(), "beyond a double's 53 bits")
	require.Equal(t, handles.Kind(31), handles.Handle(31<<48).Kind())
	for kind, name := range map[handles.Kind]string{handles.Library: "library", handles.Kernel: "kernel",
		handles.Tensor: "tensor", handles.Array: "array", handles.Stream: "stream", handles.Event: "event", 31: "kind 31"} {
		require.Equal(t, name, kind.String())
	}
}

func TestRefusals(t *testing.T) {
	table := handles.New()
	library := open(t, table, handles.Library, "a.ptx", nil)
	kernel := open(t, table, handles.Kernel, "saxpy", nil, library)
	gone := open(t, table, handles.Stream, "", nil)
	closeAndDrop(t, table, gone)
	zombie := open(t, table, handles.Library, "z.ptx", nil) // takes the slot of gone
	open(t, table, handles.Kernel, "keeper", nil, zombie)
	closeAndDrop(t, table, zombie)

	for _, test := range []struct {
		name    string
		handle  handles.Handle
		kind    handles.Kind
		message string
	}{
		{"zero", 0, handles.Kernel, "handle 0 is never valid; a kernel was wanted"},
		{"zero, any", 0, handles.Any, "handle 0 is never valid; an open handle was wanted"},
		{"small", 1, handles.Array, "handle 1 was never made by this library; an array was wanted"},
		{"huge", ^handles.Handle(0), handles.Event, "handle 18446744073709551615 was never made by this library; an event was wanted"},
		{"no such kind", 0x7_000001_000000, handles.Library, "handle 1970324853751808 was never made by this library; a library was wanted"},
		{"no such slot", 0x1_000001_0000ff, handles.Library, "handle 281474993488127 was never made by this library; a library was wanted"},
		{"generation 0", 0x1_000000_000000, handles.Library, "handle 281474976710656 was never made by this library; a library was wanted"},
		{"later generation", 0x1_000002_000000, handles.Library, "handle 281475010265088 was never made by this library; a library was wanted"},
		{"forged kind", 0x2_000001_000000, handles.Kernel, "handle 562949970198528 was never made by this library; a kernel was wanted"},
		{"wrong kind", kernel.Handle, handles.Library, "handle 562949970198529 is a kernel (saxpy); a library was wanted"},
		{"stale", gone.Handle, handles.Stream, "stream handle 1407374900330498 is closed already"},
		{"closed and held", zombie.Handle, handles.Library, "library handle 281475010265090 (z.ptx) is closed already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := table.Get(test.handle, test.kind)
			refuse(t, err, status.Handle, test.message)
			_, err = table.Acquire(test.handle, test.kind)
			refuse(t, err, status.Handle, test.message)
			_, err = table.Close(test.handle, test.kind)
			refuse(t, err, status.Handle, test.message)
		})
	}

	for _, kind := range []handles.Kind{handles.Any, 31, 255} {
		_, err := table.Open(kind, "", nil, nil)
		var e *status.Error
		require.True(t, errors.As(err, &e))
		require.Equal(t, status.Internal, e.Code)
	}
}

func TestSelect(t *testing.T) {
	table := handles.New()
	closed := open(t, table, handles.Array, "closed and held", nil)
	holder := open(t, table, handles.Capture, "", nil, closed)
	gone := open(t, table, handles.Array, "gone", nil)
	array := open(t, table, handles.Array, "x", nil)
	for _, e := range []*handles.Entry{closed, gone} {
		_, err := table.Close(e.Handle, handles.Array)
		require.NoError(t, err)
		e.Drop()
	}
	all := func(any) bool { return true }
	require.Equal(t, []*handles.Entry{closed, array}, table.Select(handles.Array, all))
	require.Equal(t, []*handles.Entry{holder}, table.Select(handles.Capture, all))
	require.Empty(t, table.Select(handles.Array, func(any) bool { return false }))
}

func TestGetFindsAnyKind(t *testing.T) {
	table := handles.New()
	array := open(t, table, handles.Array, "x", nil)
	for _, kind := range []handles.Kind{handles.Array, handles.Any} {
		e, err := table.Get(array.Handle, kind)
		require.NoError(t, err)
		require.Same(t, array, e)
	}
}

// A library, two kernels that hold it, and a bound kernel that holds one of
// those and a tensor: whatever the order of closing, each is released once, and
// never before what holds it.
func TestEveryClosingOrder(t *testing.T) {
	names := []string{"library", "first", "second", "tensor", "bound"}
	needs := map[string][]string{"first": {"library"}, "second": {"library"}, "bound": {"first", "tensor"}}
	orders := 0
	permute(len(names), func(order []int) {
		orders++
		table := handles.New()
		var released []string
		entries := map[string]*handles.Entry{}
		for i, name := range names {
			var holds []*handles.Entry
			for _, held := range needs[name] {
				holds = append(holds, entries[held])
			}
			entries[name] = open(t, table, []handles.Kind{handles.Library, handles.Kernel, handles.Kernel,
				handles.Tensor, handles.Kernel}[i], name, func() { released = append(released, name) }, holds...)
		}
		for _, i := range order {
			closeAndDrop(t, table, entries[names[i]])
			_, err := table.Get(entries[names[i]].Handle, handles.Any)
			require.ErrorContains(t, err, "closed already")
		}
		require.ElementsMatch(t, names, released)
		at := map[string]int{}
		for i, name := range released {
			at[name] = i
		}
		for name, helds := range needs {
			for _, held := range helds {
				require.Less(t, at[name], at[held], "order %v released %v", order, released)
			}
		}
		require.Empty(t, table.Live())
		require.Empty(t, table.Entries())
	})
	require.Equal(t, 120, orders)
}

func permute(n int, visit func([]int)) {
	order := make([]int, 0, n)
	used := make([]bool, n)
	var step func()
	step = func() {
		if len(order) == n {
			visit(order)
			return
		}
		for i := range n {
			if !used[i] {
				used[i] = true
				order = append(order, i)
				step()
				order = order[:len(order)-1]
				used[i] = false
			}
		}
	}
	step()
}

func TestAcquireOutlivesClose(t *testing.T) {
	table := handles.New()
	released := 0
	e := open(t, table, handles.Kernel, "k", func() { released++ })
	held, err := table.Acquire(e.Handle, handles.Kernel)
	require.NoError(t, err)
	closeAndDrop(t, table, e)
	require.Zero(t, released)
	held.Drop()
	require.Equal(t, 1, released)
	require.PanicsWithValue(t, "handles: kernel 562949970198528 (k) is dropped more often than it is held", held.Drop)
	require.Equal(t, 1, released)
}

func TestReleaseMayUseTheTable(t *testing.T) {
	table := handles.New()
	var next *handles.Entry
	e := open(t, table, handles.Array, "first", func() {
		next = open(t, table, handles.Array, "second", nil)
		require.Equal(t, map[handles.Kind]int{handles.Array: 1}, table.Live())
	})
	closeAndDrop(t, table, e)
	require.NotEqual(t, e.Handle.Slot(), next.Handle.Slot(), "a slot is not reused while its release runs")
}

func TestHoldingTheDead(t *testing.T) {
	table := handles.New()
	library := open(t, table, handles.Library, "l", nil)
	closeAndDrop(t, table, library)
	called := false
	_, err := table.Open(handles.Kernel, "k", nil, func() { called = true }, library)
	refuse(t, err, status.Handle, "library handle 281474993487872 (l) is closed already; it cannot be held any more")
	require.False(t, called)
	require.Empty(t, table.Entries())
}

func TestSlotsRunOut(t *testing.T) {
	table := handles.Sized(2, 24)
	var entries []*handles.Entry
	for range 4 {
		entries = append(entries, open(t, table, handles.Array, "", nil))
	}
	_, err := table.Open(handles.Array, "", nil, nil)
	refuse(t, err, status.Memory, "all 4 handles are in use; close some")

	// First in, first out: slots come back in the order in which they went.
	for _, i := range []int{2, 0, 3} {
		closeAndDrop(t, table, entries[i])
	}
	for _, want := range []uint32{2, 0, 3} {
		require.Equal(t, want, open(t, table, handles.Array, "", nil).Handle.Slot())
	}
}

func TestGenerationsRunOut(t *testing.T) {
	// Two slots with generations 1 to 3: six entries, then both are retired and
	// no old number ever names something again.
	table := handles.Sized(1, 2)
	seen := map[handles.Handle]bool{}
	for range 6 {
		e := open(t, table, handles.Event, "", nil)
		require.False(t, seen[e.Handle])
		seen[e.Handle] = true
		closeAndDrop(t, table, e)
	}
	_, err := table.Open(handles.Event, "", nil, nil)
	refuse(t, err, status.Memory, "all 2 handles are in use; close some")
	for h := range seen {
		_, err := table.Get(h, handles.Event)
		require.ErrorContains(t, err, "closed already")
	}
}

func TestReport(t *testing.T) {
	table := handles.New()
	library := open(t, table, handles.Library, "a.ptx", nil)
	first := open(t, table, handles.Kernel, "f", nil, library)
	second := open(t, table, handles.Kernel, "g", nil, library)
	closeAndDrop(t, table, library)

	require.Equal(t, map[handles.Kind]int{handles.Kernel: 2}, table.Live())
	infos := table.Entries()
	require.Len(t, infos, 3)
	for i, e := range []*handles.Entry{library, first, second} {
		require.Equal(t, e.Handle, infos[i].Handle)
		require.Equal(t, e.Kind, infos[i].Kind)
		require.Equal(t, e.Label, infos[i].Label)
		require.Equal(t, uint64(i+1), infos[i].Sequence)
		require.False(t, infos[i].Created.IsZero())
	}
	require.False(t, infos[0].Open)
	require.True(t, infos[1].Open)
	require.Equal(t, 2, infos[0].References)
	require.Equal(t, []handles.Handle{first.Handle, second.Handle}, infos[0].HeldBy)
	require.Empty(t, infos[1].HeldBy)
}

func TestTrace(t *testing.T) {
	table := handles.New()
	var events []string
	table.Trace = func(event string, e *handles.Entry) {
		table.Live() // no lock is held
		events = append(events, event+" "+e.Kind.String()+" "+e.Label)
	}
	library := open(t, table, handles.Library, "l", nil)
	kernel := open(t, table, handles.Kernel, "k", nil, library)
	closeAndDrop(t, table, library)
	closeAndDrop(t, table, kernel)
	require.Equal(t, []string{"open library l", "open kernel k", "close library l", "close kernel k",
		"release kernel k", "release library l"}, events)
}

func TestDropUnlessLast(t *testing.T) {
	table := handles.New()
	ended := 0
	e, err := table.Open(handles.Library, "", nil, func() { ended++ })
	require.NoError(t, err)
	again, err := table.Acquire(e.Handle, handles.Library)
	require.NoError(t, err)
	require.True(t, again.DropUnlessLast())
	require.False(t, again.DropUnlessLast(), "the last reference stays")
	require.Zero(t, ended)
	e.Drop()
	require.Equal(t, 1, ended)
}

// What outlives its release stays in the table, with what it holds, until it is gone.
func TestOutlive(t *testing.T) {
	table := handles.New()
	var events []string
	table.Trace = func(event string, e *handles.Entry) { events = append(events, event+" "+e.Label) }
	library := open(t, table, handles.Library, "l", nil)
	var array *handles.Entry
	array = open(t, table, handles.Array, "a", func() { array.Outlive() }, library)
	closeAndDrop(t, table, library)
	closeAndDrop(t, table, array)
	require.Empty(t, table.Live())
	infos := table.Entries()
	require.Len(t, infos, 2)
	require.Equal(t, []int{1, 0}, []int{infos[0].References, infos[1].References})
	require.NotEqual(t, array.Handle.Slot(), open(t, table, handles.Array, "b", nil).Handle.Slot(), "its place is taken")
	events = nil
	array.Gone()
	require.Equal(t, []string{"release a", "release l"}, events)
	require.Len(t, table.Entries(), 1)
}

type sized struct{}

func (sized) DeviceBytes() uint64 { return 96 }

func TestWhatTheReportTells(t *testing.T) {
	table := handles.New()
	library := open(t, table, handles.Library, "l", nil)
	array, err := table.Open(handles.Array, "a", sized{}, nil, library)
	require.NoError(t, err)
	require.NoError(t, table.Annotate(array.Handle, "here"))
	require.NoError(t, table.Annotate(array.Handle, "there"))
	require.NoError(t, table.Disown(array.Handle))
	require.Equal(t, []handles.Handle{array.Handle}, library.HeldBy())
	require.Equal(t, []*handles.Entry{library}, array.Holds())
	infos := table.Entries()
	require.Equal(t, []uint64{0, 96}, []uint64{infos[0].Bytes, infos[1].Bytes})
	require.Equal(t, []string{"", "there"}, []string{infos[0].Origin, infos[1].Origin})
	require.Equal(t, []bool{false, true}, []bool{infos[0].Disowned, infos[1].Disowned})
	closeAndDrop(t, table, array)
	closed := fmt.Sprintf("array handle %d is closed already", array.Handle)
	refuse(t, table.Annotate(array.Handle, ""), status.Handle, closed)
	refuse(t, table.Disown(array.Handle), status.Handle, closed)
}

func TestHold(t *testing.T) {
	table := handles.New()
	ended := 0
	library := open(t, table, handles.Library, "l", func() { ended++ })
	kernel := open(t, table, handles.Kernel, "k", nil, library)
	closeAndDrop(t, table, library)
	require.True(t, library.Hold(), "closed, but the kernel holds it")
	closeAndDrop(t, table, kernel)
	require.Zero(t, ended)
	library.Drop()
	require.Equal(t, 1, ended)
	require.False(t, library.Hold())
}

// What an entry keeps from some time on is held as what it held from the beginning.
func TestKeepAndLetGo(t *testing.T) {
	table := handles.New()
	var released []string
	note := func(name string) func() { return func() { released = append(released, name) } }
	library := open(t, table, handles.Library, "library", note("library"))
	first, second := open(t, table, handles.Array, "first", note("first")), open(t, table, handles.Array, "second", note("second"))
	for _, e := range []*handles.Entry{first, first, second} {
		acquired, err := table.Acquire(e.Handle, handles.Array)
		require.NoError(t, err)
		library.Keep(acquired)
	}
	closeAndDrop(t, table, first)
	closeAndDrop(t, table, second)
	require.Equal(t, []handles.Handle{library.Handle, library.Handle}, table.Entries()[1].HeldBy)
	library.LetGo(first)
	first.Drop()
	require.Empty(t, released, "it is kept twice")
	library.LetGo(first)
	first.Drop()
	require.Equal(t, []string{"first"}, released)
	closeAndDrop(t, table, library)
	require.Equal(t, []string{"first", "library", "second"}, released)
	require.Empty(t, table.Entries())
}
