package dlpack

import "fmt"

// DeviceType is a DLDeviceType.
type DeviceType int32

const (
	CPU         DeviceType = 1
	CUDA        DeviceType = 2
	CUDAHost    DeviceType = 3 // page-locked host memory
	OpenCL      DeviceType = 4
	Vulkan      DeviceType = 7
	Metal       DeviceType = 8
	VPI         DeviceType = 9
	ROCM        DeviceType = 10
	ROCMHost    DeviceType = 11
	ExtDev      DeviceType = 12
	CUDAManaged DeviceType = 13
	OneAPI      DeviceType = 14
	WebGPU      DeviceType = 15
	Hexagon     DeviceType = 16
	MAIA        DeviceType = 17
	Trn         DeviceType = 18
)

// String gives the name that messages use.
func (t DeviceType) String() string {
	switch t {
	case CPU:
		return "cpu"
	case CUDA:
		return "cuda"
	case CUDAHost:
		return "cuda_host"
	case OpenCL:
		return "opencl"
	case Vulkan:
		return "vulkan"
	case Metal:
		return "metal"
	case VPI:
		return "vpi"
	case ROCM:
		return "rocm"
	case ROCMHost:
		return "rocm_host"
	case ExtDev:
		return "ext_dev"
	case CUDAManaged:
		return "cuda_managed"
	case OneAPI:
		return "oneapi"
	case WebGPU:
		return "webgpu"
	case Hexagon:
		return "hexagon"
	case MAIA:
		return "maia"
	case Trn:
		return "trn"
	}
	return fmt.Sprintf("device type %d", int32(t))
}

// Numbered says whether a device's number means anything: producers give 0 for
// host, page-locked and managed memory, which is not device 0.
func (t DeviceType) Numbered() bool {
	switch t {
	case CPU, CUDAHost, ROCMHost, CUDAManaged:
		return false
	}
	return true
}

// String gives "cuda:1", and "cpu" where the number means nothing.
func (d Device) String() string {
	if !d.Type.Numbered() {
		return d.Type.String()
	}
	return fmt.Sprintf("%v:%d", d.Type, d.ID)
}
