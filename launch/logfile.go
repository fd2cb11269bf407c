package launch

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"dlaunch/internal/status"
)

// logSettings are those of DLAUNCH_LOG.
type logSettings struct {
	off, launches, json bool
	file                string // "" is stderr
}

// parseLog reads LEVEL[:json][:FILE]; a file's name may have colons.
func parseLog(value string) (logSettings, error) {
	level, rest, more := strings.Cut(value, ":")
	s := logSettings{off: value == "" || level == "off", launches: level == "launch"}
	known := s.off || s.launches || level == "lifecycle"
	if more && (rest == "json" || strings.HasPrefix(rest, "json:")) {
		s.json = true
		_, rest, more = strings.Cut(rest, ":")
	}
	if s.file = rest; !known || more && rest == "" {
		return logSettings{}, status.Errorf(status.Argument, "DLAUNCH_LOG is %q; off, lifecycle or launch is wanted, then :json or nothing, then :FILE or nothing; nothing is logged", value)
	}
	return s, nil
}

// logFile is a descriptor that lines are appended to until one fails. A failure ends
// the log, never a call.
type logFile struct {
	mu    sync.Mutex
	fd    int
	ended bool
}

func openLog(path string) (*logFile, error) {
	if path == "" {
		return &logFile{fd: unix.Stderr}, nil
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, status.Errorf(status.Argument, "DLAUNCH_LOG: %q cannot be opened: %v; nothing is logged", path, err)
	}
	return &logFile{fd: fd}, nil
}

// write appends one line, whole, whoever else logs.
func (f *logFile) write(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	if err := writeAll(f.fd, line); err != nil {
		f.ended = true
		if f.fd != unix.Stderr {
			Complain("DLAUNCH_LOG: a line cannot be written: " + err.Error() + "; nothing more is logged")
		}
	}
}

// writeAll is not os.File's: that ends the process when stderr is a broken pipe.
func writeAll(fd int, text []byte) error {
	for len(text) > 0 {
		n, err := unix.Write(fd, text)
		switch err {
		case nil:
			text = text[n:]
		case unix.EINTR:
		case unix.EAGAIN: // somebody made it non-blocking
			const patience = 1000 // milliseconds
			ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, patience)
			if err != unix.EINTR && ready == 0 {
				return unix.EAGAIN
			}
		default:
			return err
		}
	}
	return nil
}

// Complain tells the user, on stderr, of what no call can answer for.
func Complain(text string) { _ = writeAll(unix.Stderr, []byte("dlaunch: "+text+"\n")) }
