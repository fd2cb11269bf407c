package launch

import (
	"sync"

	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// retired is what finalizers closed and what may wait when it goes: an unload
// waits for running kernels.
type retired struct {
	mu      sync.Mutex
	entries []*handles.Entry
}

// publish makes a new entry visible to launches, or undoes it.
func (e *Engine) publish(entry *handles.Entry, to interface{ Publish(handle uint64) error }) (handles.Handle, error) {
	err := to.Publish(uint64(entry.Handle))
	if err == nil {
		return entry.Handle, nil
	}
	if closed, closing := e.table.Close(entry.Handle, entry.Kind); closing == nil {
		closed.Drop()
	}
	return 0, err
}

// Check says whether a handle is open and of a kind: it goes before every other
// check of a call.
func (e *Engine) Check(h handles.Handle, kind handles.Kind) error {
	_, err := e.table.Get(h, kind)
	return err
}

// Close makes a handle stale at once and drops the caller's reference when no
// launch can see the thing any more; what else holds it keeps it.
func (e *Engine) Close(h handles.Handle, kind handles.Kind) error {
	entry, err := e.table.Close(h, kind)
	if err != nil {
		return err
	}
	exec.Unpublish(uint64(h))
	e.dropEnded()
	if mayWait(kind) {
		e.dropRetired()
		e.unloads.Retire(entry.Drop)
	} else {
		e.deferred.Retire(entry.Drop)
	}
	return nil
}

// mayWait says whether the end of a thing may be that of a library.
func mayWait(kind handles.Kind) bool { return kind == handles.Library || kind == handles.Kernel }

// Retire is Close for finalizers: of any kind, and it never waits for the GPU.
// What ends a library is left to the next load, explicit close or drain.
func (e *Engine) Retire(h handles.Handle) error {
	entry, err := e.table.Close(h, handles.Any)
	if err != nil {
		return err
	}
	exec.Unpublish(uint64(h))
	e.dropEnded()
	if !mayWait(entry.Kind) {
		e.deferred.Retire(entry.Drop)
		return nil
	}
	if k, ok := entry.Value.(*kernel); ok {
		if library, err := e.table.Acquire(k.library, handles.Library); err == nil { // open: the kernel is not its last holder
			e.deferred.Retire(func() {
				entry.Drop()
				e.letGo(library)
			})
			return nil
		}
	}
	e.leaveForLater(entry)
	return nil
}

// letGo drops a library or a kernel without ending a library in this call.
func (e *Engine) letGo(entry *handles.Entry) {
	if !entry.DropUnlessLast() { // its owner has closed it
		e.leaveForLater(entry)
	}
}

func (e *Engine) leaveForLater(entry *handles.Entry) {
	e.retired.mu.Lock()
	defer e.retired.mu.Unlock()
	e.retired.entries = append(e.retired.entries, entry)
}

// dropRetired finishes what Retire left.
func (e *Engine) dropRetired() {
	e.retired.mu.Lock()
	entries := e.retired.entries
	e.retired.entries = nil
	e.retired.mu.Unlock()
	for _, entry := range entries {
		e.unloads.Retire(entry.Drop)
	}
	e.unloads.Reclaim()
}

// Drain finishes all that closing left: it waits for the devices' work.
func (e *Engine) Drain() error {
	const chain = 8 // more than hold each other: a view, its array, a kernel's or library's
	for range chain {
		exec.AwaitLaunches()
		e.reclaim() // which may leave libraries for later: now
		e.dropRetired()
		e.runAllFinished()
		waited, err := e.synchronizeOwing()
		if err != nil {
			return err
		}
		if !waited {
			break
		}
	}
	return e.freeRooms()
}

// synchronizeOwing waits for the devices that something closed waits for. What that
// frees may have held more.
func (e *Engine) synchronizeOwing() (waited bool, err error) {
	for index := range e.devices {
		if e.freesOwedBy(index) == 0 {
			continue // nor is a context made there
		}
		if err := e.Synchronize(index); err != nil {
			return false, err
		}
		waited = true
	}
	return waited, nil
}

// pending counts what is closed and not gone.
func (e *Engine) pending() int {
	e.retired.mu.Lock()
	defer e.retired.mu.Unlock()
	return e.deferred.Pending() + e.unloads.Pending() + e.pendingFrees() + len(e.retired.entries) + e.heldByGraphs()
}
