package main_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ended runs a program, and gives its exit status and what it wrote to each.
func ended(t *testing.T, environment []string, command ...string) (code int, output, complaints string) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), environment...)
	var out, errors bytes.Buffer
	c.Stdout, c.Stderr = &out, &errors
	if err := c.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return c.ProcessState.ExitCode(), out.String(), errors.String()
}

func TestLeaksAtExit(t *testing.T) {
	p := projectPaths(t)
	client := program(t, p, compilers[1], "leaks")
	const three = "dlaunch: 3 handles are open at exit, with 1024 bytes of device memory (DLAUNCH_LEAK):\n"
	for _, c := range []struct {
		leak, how string
		code      int
		says      string
	}{
		{"", "open", 0, ""},
		{"off", "open", 0, ""},
		{"report", "", 0, ""},
		{"error", "", 0, ""},
		{"report", "open", 0, three},
		{"error", "open", 23, three},
		{"error", "fails", 7, three},
		{"error", "disowned", 0, ""},
		{"error", "forked", 0, ""},
		{"error", "late", 0, ""},
	} {
		t.Run(c.leak+"/"+c.how, func(t *testing.T) {
			command := []string{client, p.kernels, p.library}
			if c.how != "" {
				command = append(command, c.how)
			}
			code, output, complaints := ended(t, []string{"DLAUNCH_DRIVER=sim", "DLAUNCH_LEAK=" + c.leak}, command...)
			require.Equal(t, c.code, code, complaints)
			if c.how != "disowned" && c.how != "late" {
				require.Equal(t, "still buffered", output)
			}
			if c.says == "" {
				require.Empty(t, complaints)
				return
			}
			require.True(t, strings.HasPrefix(complaints, c.says), complaints)
			lines := strings.Split(strings.TrimSuffix(complaints, "\n"), "\n")
			require.Len(t, lines, 4)
			require.Regexp(t, `^  library \d+ "saxpy.ptx"$`, lines[1])
			require.Regexp(t, `^  kernel \d+ "saxpy"$`, lines[2])
			require.Regexp(t, `^  array \d+ "f32\[256\] on device 0", 1024 bytes, made at "leaks.c:7"$`, lines[3])
		})
	}
}

// A value that is none is said once, and nothing else changes.
func TestSettingsThatAreNone(t *testing.T) {
	p := projectPaths(t)
	client := program(t, p, compilers[1], "leaks")
	for setting, says := range map[string]string{
		"DLAUNCH_LEAK=yes":         "dlaunch: DLAUNCH_LEAK is \"yes\"; off, report or error is wanted; nothing is looked for\n",
		"DLAUNCH_LOG=debug":        "dlaunch: DLAUNCH_LOG is \"debug\"; off, lifecycle or launch is wanted, then :json or nothing, then :FILE or nothing; nothing is logged\n",
		"DLAUNCH_LOG=launch:/no/f": "dlaunch: DLAUNCH_LOG: \"/no/f\" cannot be opened: no such file or directory; nothing is logged\n",
	} {
		code, _, complaints := ended(t, []string{"DLAUNCH_DRIVER=sim", setting}, client, p.kernels, p.library)
		require.Zero(t, code)
		require.Equal(t, says, complaints)
	}
	for setting, says := range map[string]string{
		"DLAUNCH_SIM_DEVICES=0":    `DLAUNCH_SIM_DEVICES is "0"; a number from 1 to 16 is wanted`,
		"DLAUNCH_SIM_DEVICES=many": `DLAUNCH_SIM_DEVICES is "many"`,
		"DLAUNCH_SIM_POISON=yes":   `DLAUNCH_SIM_POISON is "yes"; 0 or 1 is wanted`,
	} {
		code, _, complaints := ended(t, []string{"DLAUNCH_DRIVER=sim", setting}, client, p.kernels, p.library)
		require.Equal(t, 1, code)
		require.Contains(t, complaints, says)
	}
}

// Whatever the programs make is closed once and destroyed once, in lines that are
// whole, whoever else logs.
func TestLogOfPrograms(t *testing.T) {
	p := projectPaths(t)
	launches := 0
	for _, name := range []string{"launch", "handles", "ownership", "events", "threads", "contexts"} {
		client := program(t, p, compilers[1], name)
		path := filepath.Join(t.TempDir(), "log")
		run(t, []string{"DLAUNCH_DRIVER=sim", "DLAUNCH_LOG=lifecycle:json:" + path}, client, p.kernels, p.library)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotEmpty(t, text)
		type life struct{ create, close, destroy int }
		lives := map[uint64]*life{}
		for line := range bytes.Lines(text) {
			var one struct {
				Event  string
				Handle uint64
			}
			require.NoError(t, json.Unmarshal(line, &one), "%s: %s", name, line)
			if lives[one.Handle] == nil {
				lives[one.Handle] = &life{}
			}
			l := lives[one.Handle]
			switch one.Event {
			case "create":
				l.create++
			case "close":
				l.close++
			case "destroy":
				l.destroy++
			default:
				require.Fail(t, "an event that is none", "%s", line)
			}
		}
		for handle, l := range lives {
			require.Equal(t, life{1, 1, 1}, *l, "%s: handle %d", name, handle)
		}
	}
	client := program(t, p, compilers[1], "events")
	_, _, lines := ended(t, []string{"DLAUNCH_DRIVER=sim", "DLAUNCH_LOG=launch"}, client, p.kernels, p.library)
	for line := range strings.Lines(lines) {
		require.Regexp(t, `^\d{4}-\d\d-\d\dT[\d:.]+Z dlaunch: (create|close|destroy|launch) .*\n$`, line)
		if strings.Contains(line, " dlaunch: launch kernel ") {
			require.Regexp(t, `"saxpy", grid 1x0x0, block 32x0x0, shared 0, stream \d+, device 0, 3 arguments, (fast|first on a device)\n$`, line)
			launches++
		}
	}
	require.Equal(t, 21, launches)
}

// A log that nobody reads any more ends no process.
func TestLogIntoABrokenPipe(t *testing.T) {
	p := projectPaths(t)
	client := program(t, p, compilers[1], "threads")
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer writer.Close()
	c := exec.Command(client, p.kernels, p.library)
	c.Env = append(os.Environ(), "DLAUNCH_DRIVER=sim", "DLAUNCH_LOG=launch")
	c.Stderr = writer
	require.NoError(t, c.Run())
}

func TestSeveralSimulatedDevices(t *testing.T) {
	p := projectPaths(t)
	for _, name := range []string{"contexts", "launch", "handles", "events", "threads"} {
		run(t, []string{"DLAUNCH_DRIVER=sim", "DLAUNCH_SIM_DEVICES=3"}, program(t, p, compilers[1], name), p.kernels, p.library)
	}
}
