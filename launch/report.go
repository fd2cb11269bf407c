package launch

import (
	"encoding/json"
	"sync"

	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// reasons counts the launches that needed Go, by why.
type reasons struct {
	mu     sync.Mutex
	counts map[string]uint64
}

func (r *reasons) add(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]uint64{}
	}
	r.counts[name]++
}

type report struct {
	Live         map[string]int   `json:"live"`
	Handles      []reportedHandle `json:"handles"`
	Pending      int              `json:"pending"`
	DeviceBytes  int64            `json:"device_bytes"`
	LeakedBytes  int64            `json:"leaked_bytes"` // of a poisoned context
	DeviceMemory *[2]uint64       `json:"device_memory,omitempty"`
	Launches     reportedLaunches `json:"launches"`
}

type reportedHandle struct {
	Kind   string           `json:"kind"`
	Handle handles.Handle   `json:"handle"`
	Label  string           `json:"label"`
	Open   bool             `json:"open"`
	HeldBy []handles.Handle `json:"held_by,omitempty"`

	Created  string `json:"created"`
	Origin   string `json:"origin,omitempty"`
	Bytes    uint64 `json:"bytes,omitempty"`
	InUse    bool   `json:"in_use,omitempty"` // closed, and work that was submitted uses it
	Disowned bool   `json:"disowned,omitempty"`
}

type reportedLaunches struct {
	Fast    uint64            `json:"fast"`
	Slow    uint64            `json:"slow"`
	Reasons map[string]uint64 `json:"reasons"`
}

// Report describes what is alive and what was done, as JSON. It needs no driver.
func (e *Engine) Report() string {
	r := report{Live: map[string]int{}, Handles: []reportedHandle{}, DeviceBytes: e.bytes.Load(), LeakedBytes: e.leaked.Load(), DeviceMemory: e.memory.Load()}
	r.Pending = e.pending()
	for kind, n := range e.table.Live() {
		r.Live[kind.String()] = n
	}
	for _, info := range e.table.Entries() {
		r.Handles = append(r.Handles, reportedHandle{
			Kind: info.Kind.String(), Handle: info.Handle, Label: info.Label, Open: info.Open, HeldBy: info.HeldBy,
			Created: info.Created.UTC().Format(timeLayout), Origin: info.Origin, Bytes: info.Bytes,
			InUse: info.References == 0, Disowned: info.Disowned,
		})
	}
	e.slow.mu.Lock()
	defer e.slow.mu.Unlock()
	r.Launches = reportedLaunches{Fast: exec.FastLaunches(), Reasons: map[string]uint64{}}
	for name, n := range e.slow.counts {
		r.Launches.Reasons[name] = n
		r.Launches.Slow += n
	}
	text, err := json.Marshal(r)
	if err != nil {
		return "{}" // a struct of numbers and strings always marshals
	}
	return string(text)
}
