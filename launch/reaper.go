package launch

import (
	"sync"
	"time"

	"dlaunch/internal/exec"
)

// reaper does, on a thread of its own, what waits for the GPU: cuMemFree, which
// returns when the work that may use the memory is done, and unloads of retired
// libraries. Thus closing never waits, and no stream need be remembered.
type reaper struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	idle    *sync.Cond
}

// later queues work, and starts a goroutine for it if none is at it.
func (r *reaper) later(work func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.idle == nil {
		r.idle = sync.NewCond(&r.mu)
	}
	r.queue = append(r.queue, work)
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *reaper) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.queue) > 0 {
		work := r.queue[0]
		r.queue = r.queue[1:]
		r.mu.Unlock()
		if exec.EnterDriver() { // not once exit has begun: the memory goes with the process
			work()
			exec.LeaveDriver()
		}
		r.mu.Lock()
	}
	r.running = false
	r.idle.Broadcast()
}

// drain returns when everything queued is done.
func (r *reaper) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.running {
		r.idle.Wait()
	}
}

// quick is long enough for a cuMemFree that need not wait.
const quick = time.Millisecond

// awaitIfQuick gives a free that need not wait the time to happen in this call.
func (r *reaper) awaitIfQuick() {
	if r.pending() > 1 { // something before it waits already
		return
	}
	for end := time.Now().Add(quick); r.pending() > 0 && time.Now().Before(end); {
		time.Sleep(quick / 20)
	}
}

// pending counts what is not done yet.
func (r *reaper) pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.queue)
	if r.running {
		n++
	}
	return n
}
