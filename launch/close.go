package launch

import (
	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// Close makes a handle stale at once and drops the caller's reference when no
// launch can see the thing any more; what else holds it keeps it.
func (e *Engine) Close(h handles.Handle, kind handles.Kind) error {
	entry, err := e.table.Close(h, kind)
	if err != nil {
		return err
	}
	e.bury(entry)
	if kind == handles.Array {
		e.reaper.awaitIfQuick()
	}
	return nil
}

// Retire is Close for finalizers: of any kind, and it never waits for the GPU.
func (e *Engine) Retire(h handles.Handle) error {
	entry, err := e.table.Close(h, handles.Any)
	if err != nil {
		return err
	}
	if entry.Kind == handles.Library || entry.Kind == handles.Kernel {
		exec.Unpublish(uint64(h))
		e.reaper.later(func() { e.graves.Retire(entry.Drop) }) // an unload waits for running kernels
		return nil
	}
	e.bury(entry)
	return nil
}

func (e *Engine) bury(entry *handles.Entry) {
	switch entry.Kind {
	case handles.Library, handles.Event: // no launch reads them
		entry.Drop()
	default:
		exec.Unpublish(uint64(entry.Handle))
		e.graves.Retire(entry.Drop)
	}
}

// Drain finishes what closing left.
func (e *Engine) Drain() error {
	exec.AwaitLaunches()
	e.graves.Reclaim()
	e.reaper.drain()
	return nil
}

// Check says whether a handle is open and of a kind: it goes before every other
// check of a call.
func (e *Engine) Check(h handles.Handle, kind handles.Kind) error {
	_, err := e.table.Get(h, kind)
	return err
}
