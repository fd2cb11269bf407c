package launch

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

func codeOf(err error) status.Code {
	var e *status.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return status.OK
}

func TestJITOptionsNeedADriver(t *testing.T) {
	for _, c := range []struct {
		id      int32
		version int
		code    status.Code
	}{
		{0, 12000, status.OK}, {14, 12000, status.OK}, {3, 13000, status.Argument}, {6, 13000, status.Argument},
		{31, 12020, status.Unsupported}, {31, 12030, status.OK}, {32, 12030, status.Unsupported}, {33, 12040, status.OK},
		{34, 12090, status.Unsupported}, {34, 13000, status.OK},
	} {
		require.Equal(t, c.code, codeOf(checkJITOptions([]driver.JITOption{{ID: c.id}}, c.version)), "%d on %d", c.id, c.version)
	}
}

func TestJITOptionsOfNVJitLink(t *testing.T) {
	list, err := jitLinkerOptions([]driver.JITOption{{ID: 0, Value: 32}, {ID: 7, Value: 2}, {ID: 11, Value: 0}, {ID: 12, Value: 1}, {ID: 13, Value: 1}, {ID: 34, Value: 4}}, 90)
	require.NoError(t, err)
	require.Equal(t, []string{"-lto", "-maxrregcount=32", "-O2", "-verbose", "-lineinfo", "-split-compile=4", "-arch=sm_90"}, list)
	for target, want := range map[uint64]string{90: "sm_90", 65626: "sm_90a", 131172: "sm_100f"} {
		list, err = jitLinkerOptions([]driver.JITOption{{ID: 9, Value: target}}, 75)
		require.NoError(t, err)
		require.Equal(t, []string{"-lto", "-arch=" + want}, list)
	}
	_, err = jitLinkerOptions([]driver.JITOption{{ID: 14, Value: 1}}, 90)
	require.Equal(t, status.Unsupported, codeOf(err))
}
