package launch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// A parameter that is an array or a vector is passed as its bytes: a float is not
// taken for one of its elements, nor for a float of its size.
func TestArraysByValue(t *testing.T) {
	e, _ := newEngine(t)
	for _, c := range []struct {
		declared string
		size     uint32
	}{
		{".f32 p[2]", 8}, {".f32 p[4]", 16}, {".f64 p[2]", 16}, {".v2 .f32 p", 8}, {".b32 p[2]", 8}, {".u64 p[3]", 24}, {".b8 p[4]", 4},
	} {
		t.Run(c.declared, func(t *testing.T) {
			lib, err := e.Load([]byte(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry saxpy(.param "+c.declared+") { ret; }\n"), launch.LibraryOptions{})
			require.NoError(t, err)
			k, err := e.GetKernel(lib, "saxpy")
			require.NoError(t, err)
			refused(t, run(e, k, config(), float(1)), status.Argument, "a float given")
			refused(t, run(e, k, config(), exec.Arg{Kind: exec.ArgInt, Value: 1}), status.Argument, "an integer given")
			bytes := []float32{1, 2, 3, 4, 5, 6}
			require.NoError(t, run(e, k, config(), exec.Arg{Kind: exec.ArgBytes, Size: c.size, Value: addressOf(bytes)}))
			require.Equal(t, bytesAt(addressOf(bytes), uint64(c.size)), exectest.Params())
		})
	}
}
