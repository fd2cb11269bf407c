package launch

import "time"

// LogInto begins a log whose lines and clock are the test's.
func LogInto(e *Engine, json, launches bool, now func() time.Time, write func(line []byte)) {
	e.logTo(log{write: write, json: json, launches: launches, now: now})
}
