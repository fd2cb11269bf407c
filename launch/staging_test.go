package launch_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

func TestATensorOfNoDeviceBesideAHostTensor(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	data := make([]float32, 4)
	x, y := tensorArg(t, data, cpuDevice, []int64{4}, nil), tensorArg(t, data, cudaDevice, []int64{4}, nil)
	(*rawTensor)(unsafe.Pointer(&bytesAt(y.Value, 1)[0])).number = 9
	err := refused(t, run(e, k, config(), float(2), x, y), status.Tensor, "argument 2 (y)", "device 9", "2 devices")
	require.EqualValues(t, 2, err.Argument)
	require.Zero(t, f.alive())
}

func TestATypeWithoutASize(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: any[n], y: inout f32[n], n: i32 = n)")
	data := make([]float32, 4)
	for _, device := range []int32{cpuDevice, cudaDevice} {
		x, y := tensorArg(t, data, device, []int64{4}, nil), tensorArg(t, data, device, []int64{4}, nil)
		(*rawTensor)(unsafe.Pointer(&bytesAt(x.Value, 1)[0])).dtype = 2 | 0<<8 | 1<<16
		refused(t, run(e, k, config(), float(2), x, y), status.Tensor, "argument 1 (x)", "has no size")
	}
}

// What a kernel writes whole is not copied in, unless something else lies there too.
func TestWholeHostTensorsAreNotCopiedIn(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], y: out f32[n], n: i32 = n)")
	other, data := []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	x, y := tensorArg(t, other, cpuDevice, []int64{4}, nil), tensorArg(t, data, cpuDevice, []int64{4}, nil)
	for _, c := range []struct {
		name   string
		x      exec.Arg
		flags  uint16
		copies int
	}{
		{"out", x, 0, 2},
		{"whole", x, exec.ArgWhole, 1},
		{"whole, but read by another argument", y, exec.ArgWhole, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.copiesIn = 0
			y := y
			y.Flags = c.flags
			require.NoError(t, run(e, k, config(), float(2), c.x, y))
			require.Equal(t, c.copies, f.copiesIn)
			require.Zero(t, f.alive())
		})
	}
	y.Flags = exec.ArgWhole // no mark by itself
	refused(t, run(e, getKernel(t, e, "saxpy"), config(), float(2), exec.Arg{}, y, exec.Arg{Kind: exec.ArgInt}), status.Tensor, "mark it")
}
