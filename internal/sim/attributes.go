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

// constBytes is the constant memory that the kernel's module declares.
func (lib *library) constBytes() uint64 {
	end := uint64(0)
	for i := range lib.module.Variables {
		if v := &lib.module.Variables[i]; v.Space == ".const" {
			end = alignUp(end, v.Align) + v.Size
		}
	}
	return end
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

// setting is an attribute on a device.
type setting struct {
	attribute int32
	device    driver.Device
}

func (s *Simulator) kernelAttribute(attribute int32, id driver.Kernel, device driver.Device) (int32, driver.Result) {
	k := s.kernel(id)
	switch {
	case k == nil:
		return 0, driver.ResultInvalidHandle
	case !s.hasDevice(device):
		return 0, driver.ResultInvalidDevice
	case attribute < 0 || attribute > lastKernelAttribute:
		return 0, driver.ResultInvalidValue
	}
	p := k.program
	switch attribute {
	case driver.KernelMaxThreadsPerBlock:
		return int32(p.threads()), driver.ResultSuccess
	case driver.KernelStaticShared:
		return int32(p.statics), driver.ResultSuccess
	case kernelConstBytes:
		return int32(k.library.constBytes()), driver.ResultSuccess
	case kernelLocalBytes:
		return int32(p.localBytes), driver.ResultSuccess
	case kernelRegisters:
		return int32(p.registers), driver.ResultSuccess
	case kernelPTXVersion:
		return int32(targetOf(k.library.module.Target)), driver.ResultSuccess
	case kernelBinaryVersion:
		return architecture, driver.ResultSuccess
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if attribute == driver.KernelMaxDynamicShared {
		return int32(k.maxDynamic[device]), driver.ResultSuccess
	}
	value, set := k.set[setting{attribute, device}]
	if !set && attribute == driver.KernelSharedCarveout {
		value = -1
	}
	return value, driver.ResultSuccess
}

func (s *Simulator) kernelSetAttribute(attribute, value int32, id driver.Kernel, device driver.Device) driver.Result {
	k := s.kernel(id)
	switch {
	case k == nil:
		return driver.ResultInvalidHandle
	case !s.hasDevice(device):
		return driver.ResultInvalidDevice
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch attribute {
	case driver.KernelMaxDynamicShared:
		if value < 0 || uint64(value)+k.program.dynamicBase > optinShared {
			return driver.ResultInvalidValue
		}
		k.maxDynamic[device] = uint32(value)
	case driver.KernelSharedCarveout: // a hint, which costs and gains nothing here
		if value < -1 || value > 100 {
			return driver.ResultInvalidValue
		}
		k.set[setting{attribute, device}] = value
	default: // the rest are for clusters, or cannot be set
		return driver.ResultInvalidValue
	}
	return driver.ResultSuccess
}

// A function is a kernel here: a device is a context, and nothing is left to load.

func (s *Simulator) kernelFunction(id driver.Kernel) (driver.Function, driver.Result) {
	if s.kernel(id) == nil {
		return 0, driver.ResultInvalidHandle
	}
	return driver.Function(id), driver.ResultSuccess
}

// kernelLibrary is how a caller's number is told from nonsense.
func (s *Simulator) kernelLibrary(id driver.Kernel) (driver.Library, driver.Result) {
	k := s.kernel(id)
	if k == nil {
		return 0, driver.ResultInvalidHandle
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, lib := range s.libraries {
		if lib == k.library {
			return number, driver.ResultSuccess
		}
	}
	return 0, driver.ResultInvalidHandle // it goes just now
}

func (s *Simulator) functionModule(driver.Function) (driver.Module, driver.Result) {
	return 0, driver.ResultInvalidHandle
}

func (s *Simulator) functionName(f driver.Function) (string, driver.Result) {
	return s.kernelName(driver.Kernel(f))
}

func (s *Simulator) functionParam(f driver.Function, index int) (offset, size uint64, r driver.Result) {
	return s.kernelParam(driver.Kernel(f), index)
}

func (s *Simulator) functionLoad(f driver.Function) driver.Result {
	_, r := s.kernelFunction(driver.Kernel(f))
	return r
}

func (s *Simulator) functionAttribute(attribute int32, f driver.Function) (int32, driver.Result) {
	return s.kernelAttribute(attribute, driver.Kernel(f), 0)
}

func (s *Simulator) functionSetAttribute(attribute, value int32, f driver.Function) driver.Result {
	return s.kernelSetAttribute(attribute, value, driver.Kernel(f), 0)
}
