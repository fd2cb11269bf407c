package launch_test

import (
	"bytes"
	"fmt"
	osexec "os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/exec/exectest"
	"dlaunch/launch"
)

// A C++ program that includes dlaunch_device.cuh, as a plain compiler reads it
// and as one of CUDA does.
func viewProgram(t *testing.T, standard string, more ...string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "view_layout")
	args := append([]string{"-std=" + standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-I../include", "testdata/view_layout.cpp", "-o", program}, more...)
	output, err := osexec.Command("g++", args...).CombinedOutput()
	require.NoError(t, err, string(output))
	return program
}

// tensorOf makes a device tensor of any type.
func tensorOf(t *testing.T, data unsafe.Pointer, dtype uint32, shape, strides []int64) exec.Arg {
	t.Helper()
	x := &rawTensor{data: data, device: cudaDevice, ndim: int32(len(shape)), dtype: dtype,
		shape: unsafe.SliceData(shape), strides: unsafe.SliceData(strides)}
	var pinner runtime.Pinner
	t.Cleanup(pinner.Unpin)
	for _, p := range []any{x, x.shape, x.strides} {
		if !reflect.ValueOf(p).IsNil() {
			pinner.Pin(p)
		}
	}
	pinner.Pin((*byte)(data))
	return exec.Arg{Kind: exec.ArgTensor, Value: uint64(uintptr(unsafe.Pointer(x)))}
}

const viewPTX = `.version 8.0
.target sm_75
.address_size 64
.visible .entry saxpy(.param .align 8 .b8 x[56], .param .f32 s, .param .align 8 .b8 y[8], .param .align 8 .b8 z[24]) { ret; }
`

// What a launch packs is what a kernel finds in its dlaunch::view parameters.
func TestViewsArePackedAsTheHeaderDeclaresThem(t *testing.T) {
	e, _ := newEngine(t)
	lib, err := e.Load([]byte(viewPTX), launch.LibraryOptions{})
	require.NoError(t, err)
	k, err := e.GetKernel(lib, "saxpy(x: f32[a,b,c] @view, s: f32, y: out f64[] @view, z: i8[n] @view)")
	require.NoError(t, err)
	x, y, z := make([]float32, 100), make([]float64, 1), make([]int8, 8)
	require.NoError(t, run(e, k, config(),
		tensorOf(t, unsafe.Pointer(&x[40]), 2|32<<8|1<<16, []int64{2, 3, 4}, []int64{-40, 1, 7}), float(2.5),
		tensorOf(t, unsafe.Pointer(&y[0]), 2|64<<8|1<<16, nil, nil),
		tensorOf(t, unsafe.Pointer(&z[0]), 0|8<<8|1<<16, []int64{8}, nil)))
	said := fmt.Sprintf(`offsets 0 56 64 72, rank 3 of 56 bytes
x %p size 24: 2/-40 3/1 4/7
x(1, 2, 3) is -17 elements on
s 2.5
y %p size 1
z %p size 8: 8/1
`, &x[40], &y[0], &z[0])
	const carries = "(x: f32[a,b,c] @view, s: f32, y: out f64[] @view, z: i8[n] @view)\n"
	params := exectest.Params()
	require.Len(t, params, 96)
	for _, standard := range []string{"c++11", "c++20"} {
		for _, mode := range []struct {
			name, prints string
			flags        []string
		}{
			{"plain", "", nil},
			{"CUDA", carries, []string{"-D__CUDACC__", "-D__device__=", "-D__host__="}},
		} {
			t.Run(standard+"/"+mode.name, func(t *testing.T) {
				program := osexec.Command(viewProgram(t, standard, mode.flags...))
				program.Stdin = bytes.NewReader(params)
				output, err := program.Output()
				require.NoError(t, err)
				require.Equal(t, said+mode.prints+"1 9\n", string(output))
			})
		}
	}
}
