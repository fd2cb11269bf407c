package sim

import (
	"time"

	"golang.org/x/sys/unix"

	"dlaunch/internal/driver"
)

// Streams have an order and nothing to wait for: whatever is enqueued is done
// when the call returns.

// event is a time.
type event struct {
	recorded time.Time
	timing   bool
}

// streamPriorityRange is that of an H100; whatever runs is done at once.
func (s *Simulator) streamPriorityRange() (least, greatest int32, r driver.Result) {
	if context, _ := s.contextCurrent(); context == 0 {
		return 0, 0, driver.ResultInvalidContext
	}
	return 0, -5, driver.ResultSuccess
}

func (s *Simulator) streamCreate(uint32, int32) (driver.Stream, driver.Result) {
	context, _ := s.contextCurrent()
	if context == 0 {
		return 0, driver.ResultInvalidContext
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := driver.Stream(s.number())
	s.streams[stream] = context
	return stream, driver.ResultSuccess
}

func (s *Simulator) streamDestroy(stream driver.Stream) driver.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.streams[stream]; !known {
		return driver.ResultInvalidHandle
	}
	delete(s.streams, stream)
	return driver.ResultSuccess
}

func (s *Simulator) streamSynchronize(stream driver.Stream) driver.Result {
	_, r := s.streamContext(stream)
	return r
}

func (s *Simulator) streamContext(stream driver.Stream) (driver.Context, driver.Result) {
	if stream <= driver.PerThreadStream {
		context, _ := s.contextCurrent()
		if context == 0 {
			return 0, driver.ResultInvalidContext
		}
		return context, driver.ResultSuccess
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	context, known := s.streams[stream]
	if !known {
		return 0, driver.ResultInvalidHandle
	}
	return context, driver.ResultSuccess
}

func (s *Simulator) streamWaitEvent(stream driver.Stream, e driver.Event) driver.Result {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return r
	}
	return s.eventQuery(e)
}

func (s *Simulator) eventCreate(flags uint32) (driver.Event, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := driver.Event(s.number())
	s.events[e] = &event{timing: flags&driver.EventDisableTiming == 0}
	return e, driver.ResultSuccess
}

func (s *Simulator) eventRecord(e driver.Event, stream driver.Stream) driver.Result {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.events[e]
	if known == nil {
		return driver.ResultInvalidHandle
	}
	known.recorded = time.Now()
	return driver.ResultSuccess
}

func (s *Simulator) eventQuery(e driver.Event) driver.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events[e] == nil {
		return driver.ResultInvalidHandle
	}
	return driver.ResultSuccess
}

func (s *Simulator) eventDestroy(e driver.Event) driver.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.events[e] == nil {
		return driver.ResultInvalidHandle
	}
	delete(s.events, e)
	return driver.ResultSuccess
}

func (s *Simulator) eventElapsed(start, end driver.Event) (float32, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, to := s.events[start], s.events[end]
	if from == nil || to == nil || !from.timing || !to.timing || from.recorded.IsZero() || to.recorded.IsZero() {
		return 0, driver.ResultInvalidHandle
	}
	return float32(to.recorded.Sub(from.recorded).Seconds() * 1000), driver.ResultSuccess
}

// captureMode is remembered, though no call here is unsafe for a capture.
func (s *Simulator) captureMode(mode int32) (int32, driver.Result) {
	if mode < 0 || mode > 2 {
		return 0, driver.ResultInvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	thread := unix.Gettid()
	former := s.capture[thread]
	s.capture[thread] = mode
	return former, driver.ResultSuccess
}
