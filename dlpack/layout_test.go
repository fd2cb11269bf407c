package dlpack_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
)

// Sizes and offsets as gcc gives them for dlpack.h 1.3 on LP64.
func TestLayout(t *testing.T) {
	var device dlpack.Device
	var dataType dlpack.DataType
	var tensor dlpack.Tensor
	var managed dlpack.ManagedTensor
	var version dlpack.Version
	var versioned dlpack.ManagedTensorVersioned
	for _, test := range []struct {
		name      string
		got, want uintptr
	}{
		{"DLDevice", unsafe.Sizeof(device), 8},
		{"DLDevice.device_type", unsafe.Offsetof(device.Type), 0},
		{"DLDevice.device_id", unsafe.Offsetof(device.ID), 4},
		{"DLDataType", unsafe.Sizeof(dataType), 4},
		{"DLDataType.code", unsafe.Offsetof(dataType.Code), 0},
		{"DLDataType.bits", unsafe.Offsetof(dataType.Bits), 1},
		{"DLDataType.lanes", unsafe.Offsetof(dataType.Lanes), 2},
		{"DLTensor", unsafe.Sizeof(tensor), 48},
		{"DLTensor.data", unsafe.Offsetof(tensor.Data), 0},
		{"DLTensor.device", unsafe.Offsetof(tensor.Device), 8},
		{"DLTensor.ndim", unsafe.Offsetof(tensor.Rank), 16},
		{"DLTensor.dtype", unsafe.Offsetof(tensor.Type), 20},
		{"DLTensor.shape", unsafe.Offsetof(tensor.Shape), 24},
		{"DLTensor.strides", unsafe.Offsetof(tensor.Strides), 32},
		{"DLTensor.byte_offset", unsafe.Offsetof(tensor.ByteOffset), 40},
		{"DLManagedTensor", unsafe.Sizeof(managed), 64},
		{"DLManagedTensor.dl_tensor", unsafe.Offsetof(managed.Tensor), 0},
		{"DLManagedTensor.manager_ctx", unsafe.Offsetof(managed.Context), 48},
		{"DLManagedTensor.deleter", unsafe.Offsetof(managed.Deleter), 56},
		{"DLPackVersion", unsafe.Sizeof(version), 8},
		{"DLPackVersion.major", unsafe.Offsetof(version.Major), 0},
		{"DLPackVersion.minor", unsafe.Offsetof(version.Minor), 4},
		{"DLManagedTensorVersioned", unsafe.Sizeof(versioned), 80},
		{"DLManagedTensorVersioned.version", unsafe.Offsetof(versioned.Version), 0},
		{"DLManagedTensorVersioned.manager_ctx", unsafe.Offsetof(versioned.Context), 8},
		{"DLManagedTensorVersioned.deleter", unsafe.Offsetof(versioned.Deleter), 16},
		{"DLManagedTensorVersioned.flags", unsafe.Offsetof(versioned.Flags), 24},
		{"DLManagedTensorVersioned.dl_tensor", unsafe.Offsetof(versioned.Tensor), 32},
	} {
		require.Equal(t, test.want, test.got, test.name)
	}
}

func TestDevices(t *testing.T) {
	for device, want := range map[dlpack.Device]string{
		{Type: 1}: "cpu", {Type: 2, ID: 1}: "cuda:1", {Type: 3}: "cuda_host", {Type: 4}: "opencl:0",
		{Type: 7}: "vulkan:0", {Type: 8}: "metal:0", {Type: 9}: "vpi:0", {Type: 10, ID: 3}: "rocm:3",
		{Type: 11}: "rocm_host", {Type: 12}: "ext_dev:0", {Type: 13}: "cuda_managed", {Type: 14}: "oneapi:0",
		{Type: 15}: "webgpu:0", {Type: 16}: "hexagon:0", {Type: 17}: "maia:0", {Type: 18}: "trn:0",
		{Type: 99, ID: 2}: "device type 99:2",
	} {
		require.Equal(t, want, device.String())
	}
}
