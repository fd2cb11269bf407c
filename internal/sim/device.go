package sim

import (
	"golang.org/x/sys/unix"

	"dlaunch/internal/driver"
)

// What a device of compute capability 9.0 has: CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability"; 132 multiprocessors as an
// H100 SXM.
const (
	warpSize             = 32
	maxThreadsPerBlock   = 1024
	maxBlockXY           = 1024
	maxBlockZ            = 64
	maxGridX             = 1<<31 - 1
	maxGridYZ            = 65535
	defaultShared        = 48 << 10
	optinShared          = 227 << 10
	multiprocessors      = 132
	threadsPerProcessor  = 2048
	blocksPerProcessor   = 32
	registersPerBlock    = 65536
	registersPerThread   = 255
	sharedPerProcessor   = 228 << 10
	constantMemory       = 64 << 10
	computeMajor         = 9
	computeMinor         = 0
	architecture         = 10*computeMajor + computeMinor
	reservedSharedMemory = 1 << 10
)

func (s *Simulator) hasDevice(d driver.Device) bool { return d >= 0 && int(d) < s.devices }

// deviceAttribute answers what programs ask for most (CUdevice_attribute).
func (s *Simulator) deviceAttribute(attribute int32, device driver.Device) (int32, driver.Result) {
	if !s.hasDevice(device) {
		return 0, driver.ResultInvalidDevice
	}
	switch attribute {
	case driver.DeviceMaxThreadsPerBlock:
		return maxThreadsPerBlock, driver.ResultSuccess
	case driver.DeviceMaxBlockX, driver.DeviceMaxBlockY:
		return maxBlockXY, driver.ResultSuccess
	case driver.DeviceMaxBlockZ:
		return maxBlockZ, driver.ResultSuccess
	case driver.DeviceMaxGridX:
		return maxGridX, driver.ResultSuccess
	case driver.DeviceMaxGridY, driver.DeviceMaxGridZ:
		return maxGridYZ, driver.ResultSuccess
	case driver.DeviceMaxSharedPerBlock:
		return defaultShared, driver.ResultSuccess
	case driver.DeviceMaxSharedPerBlockOptin:
		return optinShared, driver.ResultSuccess
	case driver.DeviceWarpSize:
		return warpSize, driver.ResultSuccess
	case driver.DeviceMultiprocessors:
		return multiprocessors, driver.ResultSuccess
	case driver.DeviceComputeMajor:
		return computeMajor, driver.ResultSuccess
	case driver.DeviceComputeMinor:
		return computeMinor, driver.ResultSuccess
	case driver.DeviceCooperativeLaunch:
		return 1, driver.ResultSuccess
	case driver.DeviceClusterLaunch:
		return 0, driver.ResultSuccess
	case 9: // TOTAL_CONSTANT_MEMORY
		return constantMemory, driver.ResultSuccess
	case 12: // MAX_REGISTERS_PER_BLOCK
		return registersPerBlock, driver.ResultSuccess
	case 13: // CLOCK_RATE, kHz: clock registers count nanoseconds
		return 1_000_000, driver.ResultSuccess
	case 39: // MAX_THREADS_PER_MULTIPROCESSOR
		return threadsPerProcessor, driver.ResultSuccess
	case 41: // UNIFIED_ADDRESSING
		return 1, driver.ResultSuccess
	case 81: // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
		return sharedPerProcessor, driver.ResultSuccess
	case 106: // MAX_BLOCKS_PER_MULTIPROCESSOR
		return blocksPerProcessor, driver.ResultSuccess
	case 111: // RESERVED_SHARED_MEMORY_PER_BLOCK
		return reservedSharedMemory, driver.ResultSuccess
	case 115: // MEMORY_POOLS_SUPPORTED
		return 1, driver.ResultSuccess
	}
	if attribute <= 0 || attribute > lastDeviceAttribute {
		return 0, driver.ResultInvalidValue
	}
	return 0, driver.ResultSuccess
}

const lastDeviceAttribute = 148 // of CUDA 13.0

// A context's number says its device.
const firstContext = 0x2000

func contextOf(device driver.Device) driver.Context {
	return firstContext + driver.Context(device)*numberStride
}

func (s *Simulator) deviceOf(context driver.Context) (driver.Device, bool) {
	device := driver.Device((context - firstContext) / numberStride)
	return device, context >= firstContext && s.hasDevice(device) && contextOf(device) == context
}

func (s *Simulator) primaryContextRetain(device driver.Device) (driver.Context, driver.Result) {
	if !s.hasDevice(device) {
		return 0, driver.ResultInvalidDevice
	}
	return contextOf(device), driver.ResultSuccess
}

func (s *Simulator) contextCurrent() (driver.Context, driver.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[unix.Gettid()], driver.ResultSuccess
}

func (s *Simulator) contextSetCurrent(context driver.Context) driver.Result {
	if _, known := s.deviceOf(context); !known && context != 0 {
		return driver.ResultInvalidContext
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if context == 0 {
		delete(s.current, unix.Gettid())
	} else {
		s.current[unix.Gettid()] = context
	}
	return driver.ResultSuccess
}

func (s *Simulator) contextDevice() (driver.Device, driver.Result) {
	context, _ := s.contextCurrent()
	device, known := s.deviceOf(context)
	if !known {
		return 0, driver.ResultInvalidContext
	}
	return device, driver.ResultSuccess
}

// contextSynchronize has nothing to wait for: launches return when done.
func (s *Simulator) contextSynchronize() driver.Result {
	if context, _ := s.contextCurrent(); context == 0 {
		return driver.ResultInvalidContext
	}
	return driver.ResultSuccess
}
