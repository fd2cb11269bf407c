package launch

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"dlaunch/handles"
	"dlaunch/internal/exec"
)

// log writes a line for each handle that is made or closed, each thing that is
// gone, and each launch, as DLAUNCH_LOG asks. It is set before the first call.
type log struct {
	write    func(line []byte) // whole lines, from any thread; nil when off
	json     bool
	launches bool
	now      func() time.Time
}

// Log begins what a value of DLAUNCH_LOG asks for; an error says what is wrong with
// it, and nothing is logged. It is called before any other method.
func (e *Engine) Log(value string) error {
	s, err := parseLog(value)
	if err != nil || s.off {
		return err
	}
	file, err := openLog(s.file)
	if err != nil {
		return err
	}
	e.logTo(log{write: file.write, json: s.json, launches: s.launches, now: time.Now})
	return nil
}

func (e *Engine) logTo(l log) {
	e.log = l
	e.table.Trace = e.log.handle
	if l.launches {
		exec.SetAttention(exec.Tracing)
	}
}

// events are the log's words for the table's.
var events = map[string]string{"open": "create", "origin": "origin", "close": "close", "release": "destroy"}

type handleLine struct {
	Time   string           `json:"time"`
	Event  string           `json:"event"`
	Kind   string           `json:"kind"`
	Handle handles.Handle   `json:"handle"`
	Label  string           `json:"label"`
	Bytes  uint64           `json:"bytes,omitempty"`
	Holds  []handles.Handle `json:"holds,omitempty"`
	HeldBy []handles.Handle `json:"held_by,omitempty"`
	Origin string           `json:"origin,omitempty"`
}

// handle is the table's Trace.
func (l *log) handle(event string, entry *handles.Entry) {
	line := handleLine{Time: l.time(), Event: events[event], Kind: entry.Kind.String(), Handle: entry.Handle, Label: entry.Label}
	switch event {
	case "open":
		line.Bytes = entry.Bytes()
		for _, held := range entry.Holds() {
			line.Holds = append(line.Holds, held.Handle)
		}
	case "origin":
		line.Origin = entry.Origin()
	case "close":
		line.HeldBy = entry.HeldBy()
	case "release":
		line.Bytes = entry.Bytes()
	}
	l.put(line)
}

func (l handleLine) String() string {
	text := fmt.Sprintf("%s dlaunch: %s %s %d %q", l.Time, l.Event, l.Kind, l.Handle, l.Label)
	if l.Bytes > 0 {
		text += fmt.Sprintf(", %d bytes", l.Bytes)
	}
	if len(l.Holds) > 0 {
		text += ", holds " + numbers(l.Holds)
	}
	if len(l.HeldBy) > 0 {
		text += ", held by " + numbers(l.HeldBy)
	}
	if l.Origin != "" {
		text += fmt.Sprintf(", made at %q", l.Origin)
	}
	return text
}

func numbers(all []handles.Handle) string { return strings.Trim(fmt.Sprint(all), "[]") }

type launchLine struct {
	Time      string         `json:"time"`
	Event     string         `json:"event"`
	Kernel    handles.Handle `json:"kernel"`
	Label     string         `json:"label"`
	Grid      [3]uint32      `json:"grid"`
	Block     [3]uint32      `json:"block"`
	Shared    uint32         `json:"shared"`
	Stream    uint64         `json:"stream"`
	Device    *int           `json:"device,omitempty"` // of a launch that came about
	Arguments int            `json:"arguments"`
	Path      string         `json:"path"` // "fast", or why it needed Go
	Error     string         `json:"error,omitempty"`
}

// logLaunch writes the line of a call that is over but for its end.
func (c *call) logLaunch(arguments int, failed error) {
	l := &c.engine.log
	line := launchLine{Time: l.time(), Event: "launch", Kernel: c.entry.Handle, Label: c.kernel.name, Arguments: arguments, Path: c.path()}
	if config := c.config; config != nil && uintptr(config.StructSize) >= unsafe.Sizeof(*config) {
		line.Grid, line.Block, line.Shared, line.Stream = config.Grid, config.Block, config.SharedBytes, config.Stream
	}
	if failed != nil {
		line.Error = failed.Error()
	} else if device, fault := exec.DeviceOf(uint64(c.entry.Handle), c.config, c.args); fault.Reason == exec.OK {
		line.Device = &device
	}
	l.put(line)
}

// path names what the launch needed of Go, logging apart.
func (c *call) path() string {
	var needed []string
	for _, fault := range c.met {
		if !onlyTraced(fault) {
			needed = append(needed, fault.Reason.String())
		}
	}
	if len(needed) == 0 {
		return "fast"
	}
	return strings.Join(needed, ", ")
}

// onlyTraced says whether a launch left the fast path for nothing but its line.
func onlyTraced(fault exec.Fault) bool {
	return fault.Reason == exec.Attention && fault.Found == int64(exec.Tracing)
}

func (l launchLine) String() string {
	text := fmt.Sprintf("%s dlaunch: %s kernel %d %q, grid %s, block %s, shared %d, stream %d", l.Time, l.Event, l.Kernel, l.Label,
		extents(l.Grid), extents(l.Block), l.Shared, l.Stream)
	if l.Device != nil {
		text += fmt.Sprintf(", device %d", *l.Device)
	}
	text += fmt.Sprintf(", %d arguments, %s", l.Arguments, l.Path)
	if l.Error != "" {
		text += fmt.Sprintf(", failed: %q", l.Error)
	}
	return text
}

func extents(axes [3]uint32) string { return fmt.Sprintf("%dx%dx%d", axes[0], axes[1], axes[2]) }

const timeLayout = "2006-01-02T15:04:05.000000Z"

func (l *log) time() string { return l.now().UTC().Format(timeLayout) }

// put writes a line in the form that was asked for.
func (l *log) put(line fmt.Stringer) {
	text := []byte(line.String())
	if l.json {
		text, _ = json.Marshal(line) // numbers and strings always marshal
	}
	l.write(append(text, '\n'))
}
