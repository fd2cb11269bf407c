package launch

import (
	"fmt"
	"strings"

	"dlaunch/handles"
	"dlaunch/internal/status"
)

// LeakMode is what DLAUNCH_LEAK says of handles that are open when the process exits.
type LeakMode int

const (
	LeaksIgnored  LeakMode = iota
	LeaksReported          // on stderr
	LeaksFail              // and the process's exit status is not 0
)

// ParseLeakMode reads a value of DLAUNCH_LEAK.
func ParseLeakMode(value string) (LeakMode, error) {
	switch value {
	case "", "off":
		return LeaksIgnored, nil
	case "report":
		return LeaksReported, nil
	case "error":
		return LeaksFail, nil
	}
	return LeaksIgnored, status.Errorf(status.Argument, "DLAUNCH_LEAK is %q; off, report or error is wanted; nothing is looked for", value)
}

// Leaks words what is open, "" if nothing is but what was disowned. It touches no
// driver.
func (e *Engine) Leaks() string {
	var lines []string
	var bytes uint64
	for _, info := range e.table.Entries() {
		if !info.Open || info.Disowned {
			continue
		}
		line := fmt.Sprintf("  %v %d %q", info.Kind, info.Handle, info.Label)
		if info.Bytes > 0 {
			line += fmt.Sprintf(", %d bytes", info.Bytes)
			bytes += info.Bytes
		}
		if info.Origin != "" {
			line += fmt.Sprintf(", made at %q", info.Origin)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	what := "handles are"
	if len(lines) == 1 {
		what = "handle is"
	}
	return fmt.Sprintf("%d %s open at exit, with %d bytes of device memory (DLAUNCH_LEAK):\n%s", len(lines), what, bytes, strings.Join(lines, "\n"))
}

// Annotate keeps where a handle was made, for the log and the reports.
func (e *Engine) Annotate(h handles.Handle, origin string) error { return e.table.Annotate(h, origin) }

// Disown says that a handle stays open on purpose.
func (e *Engine) Disown(h handles.Handle) error { return e.table.Disown(h) }
