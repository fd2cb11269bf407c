package launch_test

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/handles"
	"dlaunch/internal/exec"
	"dlaunch/launch"
)

// The PTX that most tests load; its body is never read by a driver like this.
const saxpyPTX = `.version 8.0
.target sm_75
.address_size 64
.visible .entry saxpy(
	.param .f32 saxpy_param_0,
	.param .u64 saxpy_param_1,
	.param .u64 saxpy_param_2,
	.param .u32 saxpy_param_3
)
{
	ret;
}
`

const saxpyPrototype = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"

func load(t *testing.T, e *launch.Engine) handles.Handle {
	t.Helper()
	lib, err := e.Load([]byte(saxpyPTX), launch.LibraryOptions{})
	require.NoError(t, err)
	return lib
}

func getKernel(t *testing.T, e *launch.Engine, text string) handles.Handle {
	t.Helper()
	k, err := e.GetKernel(load(t, e), text)
	require.NoError(t, err)
	return k
}

func config() *exec.Config {
	return &exec.Config{StructSize: uint32(unsafe.Sizeof(exec.Config{})), Grid: [3]uint32{4}, Block: [3]uint32{32}}
}

// run launches as the gate does: the executor first, then what Go does about it.
func run(e *launch.Engine, k handles.Handle, cfg *exec.Config, args ...exec.Arg) error {
	fault := exec.LaunchAgain(uint64(k), cfg, args, nil, false)
	if fault.Reason == exec.OK {
		return nil
	}
	return e.Launch(k, cfg, args, fault)
}

// rawTensor is a DLTensor of f32 in Go memory that stays in place.
type rawTensor struct {
	data           unsafe.Pointer
	device, number int32
	ndim           int32
	dtype          uint32
	shape, strides *int64
	offset         uint64
}

func tensorArg(t *testing.T, data []float32, device int32, shape, strides []int64) exec.Arg {
	t.Helper()
	x := &rawTensor{device: device, ndim: int32(len(shape)), dtype: 2 | 32<<8 | 1<<16}
	var pinner runtime.Pinner
	t.Cleanup(pinner.Unpin)
	if len(data) > 0 {
		x.data = unsafe.Pointer(&data[0])
		pinner.Pin(&data[0])
	}
	if len(shape) > 0 {
		x.shape = &shape[0]
		pinner.Pin(x.shape)
	}
	if len(strides) > 0 {
		x.strides = &strides[0]
		pinner.Pin(x.strides)
	}
	pinner.Pin(x)
	return exec.Arg{Kind: exec.ArgTensor, Value: uint64(uintptr(unsafe.Pointer(x)))}
}

func addressOf(x []float32) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) }

// readOnly gives the versioned form of a tensor argument, with its flag set.
func readOnly(t *testing.T, arg exec.Arg) exec.Arg {
	t.Helper()
	v := &dlpack.ManagedTensorVersioned{Version: dlpack.Version{Major: 1}, Flags: dlpack.ReadOnly}
	v.Tensor = *(*dlpack.Tensor)(unsafe.Pointer(unsafe.SliceData(bytesAt(arg.Value, uint64(unsafe.Sizeof(v.Tensor))))))
	var pinner runtime.Pinner
	pinner.Pin(v)
	t.Cleanup(pinner.Unpin)
	return exec.Arg{Kind: exec.ArgVersioned, Value: uint64(uintptr(unsafe.Pointer(v)))}
}
