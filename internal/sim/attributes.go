package sim

import "dlaunch/internal/driver"

// defaultDynamic is how much dynamic shared memory a launch may have before
// more is asked for.
func (p *program) defaultDynamic() uint32 {
	return uint32(max(0, defaultShared-int64(p.dynamicBase)))
}

// threads gives the most that a block may have.
func (p *program) threads() uint32 {
	for _, bounds := range [][3]uint32{p.reqNTID, p.maxNTID} {
		if bounds != ([3]uint32{}) {
			return uint32(min(uint64(bounds[0])*uint64(bounds[1])*uint64(bounds[2]), maxThreadsPerBlock))
		}
	}
	return maxThreadsPerBlock
}

// Attributes of kernels (CUfunction_attribute) beyond those of package driver.
const (
	kernelConstBytes    = 2
	kernelLocalBytes    = 3
	kernelRegisters     = 4
	kernelPTXVersion    = 5
	kernelBinaryVersion = 6
	lastKernelAttribute = 15
)

func (s *Simulator) kernelAttribute(attribute int32, id driver.Kernel, device driver.Device) (int32, driver.Result) {
	k := s.kernel(id)
	switch {
	case k == nil:
		return 0, driver.ResultInvalidHandle
	case !s.hasDevice(device):
		return 0, driver.ResultInvalidDevice
	}
	p := k.program
	switch attribute {
	case driver.KernelMaxThreadsPerBlock:
		return int32(p.threads()), driver.ResultSuccess
	case driver.KernelStaticShared:
		return int32(p.statics), driver.ResultSuccess
	case kernelLocalBytes:
		return int32(p.localBytes), driver.ResultSuccess
	case kernelRegisters: // a compiler would share them; 64 bits count as two at most
		return min(registersPerThread, max(16, p.slots)), driver.ResultSuccess
	case kernelPTXVersion:
		return int32(targetOf(k.library.module.Target)), driver.ResultSuccess
	case kernelBinaryVersion:
		return architecture, driver.ResultSuccess
	case driver.KernelMaxDynamicShared:
		s.mu.Lock()
		defer s.mu.Unlock()
		return int32(k.maxDynamic[device]), driver.ResultSuccess
	case kernelConstBytes:
		return 0, driver.ResultSuccess
	}
	if attribute < 0 || attribute > lastKernelAttribute {
		return 0, driver.ResultInvalidValue
	}
	return 0, driver.ResultSuccess
}

func (s *Simulator) kernelSetAttribute(attribute, value int32, id driver.Kernel, device driver.Device) driver.Result {
	k := s.kernel(id)
	switch {
	case k == nil:
		return driver.ResultInvalidHandle
	case !s.hasDevice(device):
		return driver.ResultInvalidDevice
	}
	switch attribute {
	case driver.KernelMaxDynamicShared:
		if value < 0 || uint64(value)+k.program.dynamicBase > optinShared {
			return driver.ResultInvalidValue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		k.maxDynamic[device] = uint32(value)
		return driver.ResultSuccess
	case 9, driver.KernelNonPortableCluster: // the carve-out and the like: hints
		return driver.ResultSuccess
	}
	return driver.ResultInvalidValue
}
