package launch_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

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
