package handles_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/handles"
)

// Goroutines open libraries and kernels on them, and close, find and acquire
// each other's, by numbers that may be stale. Each thing must be released
// exactly once, never while it is acquired, and a kernel before its library.
func TestHammer(t *testing.T) {
	const rounds, shared = 3000, 16
	workers := 4 * runtime.GOMAXPROCS(0)
	table := handles.Sized(12, 24)

	type thing struct {
		released atomic.Int32
		needs    *thing
	}
	var numbers [shared]atomic.Uint64
	var opened, released atomic.Int64
	var faults sync.Map
	fault := func(what string) { faults.Store(what, true) }

	finish := func(h handles.Handle) {
		if e, err := table.Close(h, handles.Any); err == nil {
			e.Drop()
		}
	}
	start := func(needs *thing, kind handles.Kind, holds ...*handles.Entry) (*handles.Entry, error) {
		it := &thing{needs: needs}
		e, err := table.Open(kind, "", it, func() {
			released.Add(1)
			if it.released.Add(1) != 1 {
				fault("released twice")
			}
			if it.needs != nil && it.needs.released.Load() != 0 {
				fault("library gone before its kernel")
			}
		}, holds...)
		if err == nil {
			opened.Add(1)
		}
		return e, err
	}

	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				at := &numbers[random.IntN(shared)]
				switch h := handles.Handle(at.Load()); random.IntN(4) {
				case 0:
					if e, err := start(nil, handles.Library); err != nil {
						fault(err.Error())
					} else {
						finish(handles.Handle(at.Swap(uint64(e.Handle))))
					}
				case 1:
					library, err := table.Acquire(h, handles.Library)
					if err != nil {
						continue
					}
					needs := library.Value.(*thing)
					kernel, err := start(needs, handles.Kernel, library)
					if needs.released.Load() != 0 {
						fault("released while acquired")
					}
					library.Drop()
					if err != nil {
						fault(err.Error())
						continue
					}
					finish(handles.Handle(at.Swap(uint64(kernel.Handle))))
				case 2:
					finish(h)
				case 3:
					if e, err := table.Acquire(h, handles.Any); err == nil {
						if e.Handle != h || e.Value.(*thing).released.Load() != 0 {
							fault("stale number found something")
						}
						e.Drop()
					}
				}
			}
		})
	}
	wait.Wait()

	for i := range numbers {
		finish(handles.Handle(numbers[i].Load()))
	}
	faults.Range(func(what, _ any) bool { t.Error(what); return true })
	require.Positive(t, opened.Load())
	require.Equal(t, opened.Load(), released.Load())
	require.Empty(t, table.Live())
	require.Empty(t, table.Entries())
}

// Of all goroutines that close one number, exactly one succeeds.
func TestCloseRace(t *testing.T) {
	table := handles.New()
	for range 300 {
		var released, closed atomic.Int32
		e := open(t, table, handles.Tensor, "", func() { released.Add(1) })
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				if e, err := table.Close(e.Handle, handles.Tensor); err == nil {
					closed.Add(1)
					e.Drop()
				}
			})
		}
		wait.Wait()
		require.Equal(t, int32(1), closed.Load())
		require.Equal(t, int32(1), released.Load())
	}
}
