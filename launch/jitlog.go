package launch

import (
	"strings"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
)

// jitLog is where the driver writes the compiler's messages: it does so as late
// as the first cuLibraryGetKernel (580), so the memory lives as long as the
// library.
type jitLog struct{ errors, info *exec.Buffer }

const (
	jitLogBytes = 8192

	jitInfoLog      = 3 // CU_JIT_INFO_LOG_BUFFER and so on, cuda.h
	jitInfoLogSize  = 4
	jitErrorLog     = 5
	jitErrorLogSize = 6
)

func newJITLog() (*jitLog, error) {
	errors, err := exec.NewBuffer(jitLogBytes)
	if err != nil {
		return nil, err
	}
	info, err := exec.NewBuffer(jitLogBytes)
	if err != nil {
		errors.Free()
		return nil, err
	}
	return &jitLog{errors, info}, nil
}

func (l *jitLog) options() []driver.JITOption {
	return []driver.JITOption{
		{ID: jitInfoLog, Value: l.info.Address}, {ID: jitInfoLogSize, Value: jitLogBytes},
		{ID: jitErrorLog, Value: l.errors.Address}, {ID: jitErrorLogSize, Value: jitLogBytes},
	}
}

// write logs what another compiler than the driver's said.
func (l *jitLog) write(text string) { copy(l.info.Bytes[:jitLogBytes-1], text) }

// text gives what was logged, errors first.
func (l *jitLog) text() string {
	return strings.TrimSpace(cString(l.errors.Bytes) + "\n" + cString(l.info.Bytes))
}

func cString(b []byte) string {
	text, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(text)
}

func (l *jitLog) free() {
	l.errors.Free()
	l.info.Free()
}
