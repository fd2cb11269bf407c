package launch_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/status"
	"dlaunch/launch"
)

// carrying is saxpyPTX with a prototype in it.
func carrying(prototype string) []byte {
	variable := fmt.Sprintf(".visible .global .align 1 .b8 dlaunch_prototype_saxpy[%d] = {", len(prototype)+1)
	for _, b := range []byte(prototype) {
		variable += fmt.Sprintf("%d, ", b)
	}
	return []byte(strings.Replace(saxpyPTX, ".visible", variable+"0};\n.visible", 1))
}

func TestANameTakesThePrototypeThatTheImageCarries(t *testing.T) {
	e, _ := newEngine(t)
	lib, err := e.Load(carrying("(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"), launch.LibraryOptions{})
	require.NoError(t, err)
	k, err := e.GetKernel(lib, "saxpy")
	require.NoError(t, err)
	text, err := e.KernelPrototype(k)
	require.NoError(t, err)
	require.Equal(t, "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)", text)
	parameter, err := e.KernelParameter(k, 2)
	require.NoError(t, err)
	require.Equal(t, launch.Parameter{Name: "y", Type: "f32[n]", Offset: 16, Size: 8, Mode: exec.ArgIn | exec.ArgOut}, parameter)
	x, y := []float32{1, 2}, []float32{1, 2, 3}
	refused(t, run(e, k, config(), float(2), tensorArg(t, x, cudaDevice, []int64{2}, nil), tensorArg(t, y, cudaDevice, []int64{3}, nil)),
		status.Tensor, "argument 2 (y)", "extent 3, 2 wanted")

	k, err = e.GetKernel(lib, "(b: f32, p: ptr, q: ptr, m: u32)")
	require.NoError(t, err)
	text, err = e.KernelPrototype(k)
	require.NoError(t, err)
	require.Equal(t, "saxpy(b: f32, p: ptr, q: ptr, m: u32)", text, "the caller's is taken instead")
}

// Of a cubin the driver tells the parameters, and their sizes only.
func TestACubinCarriesItsPrototype(t *testing.T) {
	image, err := os.ReadFile("../testdata/kernels/saxpy_carried.cubin")
	require.NoError(t, err)
	// The fake driver's only kernel is saxpy.
	image = bytes.ReplaceAll(image, []byte("dlaunch_prototype_saxpy_carried"), []byte("dlaunch_prototype_saxpy\x00carried"))
	for name, c := range map[string]struct {
		params  [][2]uint64
		message string
	}{
		"as it says":   {[][2]uint64{{0, 4}, {8, 8}, {16, 8}, {24, 4}}, ""},
		"another size": {[][2]uint64{{0, 4}, {8, 8}, {16, 8}, {24, 8}}, "parameter 3 (n: i32) has 4 bytes"},
		"old driver":   {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, f := newEngine(t)
			f.params = c.params
			lib, err := e.Load(image, launch.LibraryOptions{})
			require.NoError(t, err)
			k, err := e.GetKernel(lib, "saxpy")
			if c.message != "" {
				refused(t, err, status.Prototype, `kernel "saxpy"`, "that the image carries", c.message)
				return
			}
			require.NoError(t, err)
			parameter, err := e.KernelParameter(k, 3)
			require.NoError(t, err)
			require.Equal(t, launch.Parameter{Name: "n", Type: "i32", Offset: 24, Size: 4, Mode: exec.ArgIn}, parameter)
		})
	}
}

func TestWithoutAnyPrototypeThereIsNone(t *testing.T) {
	e, _ := newEngine(t)
	text, err := e.KernelPrototype(getKernel(t, e, "saxpy"))
	require.NoError(t, err)
	require.Empty(t, text)
	_, err = e.KernelPrototype(0)
	refused(t, err, status.Handle)
}

func TestCarriedPrototypesThatContradictTheKernel(t *testing.T) {
	for name, c := range map[string]struct{ prototype, message string }{
		"too few":     {"saxpy(a: f32)", "has 1 parameters, the kernel has 4"},
		"wrong size":  {"(a: f64, x: f32[n], y: inout f32[n], n: i32 = n)", "column 2: parameter 0 (a: f64) has 8 bytes"},
		"wrong class": {"(a: i32, x: f32[n], y: inout f32[n], n: i32 = n)", "declared i32, but the kernel's PTX says .f32"},
		"no type":     {"(a: float)", "it is called f32"},
		"not closed":  {"saxpy(a: f32", "prototype, column"},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newEngine(t)
			lib, err := e.Load(carrying(c.prototype), launch.LibraryOptions{})
			require.NoError(t, err, "the image may be used all the same")
			_, err = e.GetKernel(lib, "saxpy")
			refused(t, err, status.Prototype, `kernel "saxpy"`, "that the image carries", c.message)
			_, err = e.GetKernel(lib, saxpyPrototype)
			require.NoError(t, err)
		})
	}
}
