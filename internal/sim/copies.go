package sim

import (
	"dlaunch/internal/driver"
)

func (s *Simulator) memAlloc(bytes uint64) (driver.Address, driver.Result) {
	if bytes == 0 {
		return 0, driver.ResultInvalidValue
	}
	r := s.arena.allocate(bytes)
	if r == nil {
		return 0, driver.ResultOutOfMemory
	}
	return driver.Address(r.base), driver.ResultSuccess
}

func (s *Simulator) memFree(address driver.Address) driver.Result {
	if address == 0 {
		return driver.ResultSuccess
	}
	s.running.Lock()
	defer s.running.Unlock()
	if !s.arena.free(uint64(address), false) {
		return driver.ResultInvalidValue
	}
	return driver.ResultSuccess
}

func (s *Simulator) memAllocAsync(bytes uint64, stream driver.Stream) (driver.Address, driver.Result) {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return 0, r
	}
	address, r := s.memAlloc(bytes)
	if r == driver.ResultSuccess {
		s.keepMemory(address, stream)
	}
	return address, r
}

func (s *Simulator) memFreeAsync(address driver.Address, stream driver.Stream) driver.Result {
	if captured, r := s.streamCapturing(stream); captured || r != driver.ResultSuccess {
		return r // a graph keeps what it allocates
	}
	return s.memFree(address)
}

func (s *Simulator) memHostAlloc(bytes uint64) (uintptr, driver.Result) {
	if bytes == 0 {
		return 0, driver.ResultInvalidValue
	}
	address := s.arena.allocateHost(bytes)
	if address == 0 {
		return 0, driver.ResultOutOfMemory
	}
	return uintptr(address), driver.ResultSuccess
}

func (s *Simulator) memHostFree(host uintptr) driver.Result {
	s.running.Lock()
	defer s.running.Unlock()
	if !s.arena.freeHost(uint64(host)) {
		return driver.ResultInvalidValue
	}
	return driver.ResultSuccess
}

func (s *Simulator) memInfo() (free, total uint64, r driver.Result) {
	if context, _ := s.contextCurrent(); context == 0 {
		return 0, 0, driver.ResultInvalidContext
	}
	free, total = s.arena.info()
	return free, total, driver.ResultSuccess
}

func (s *Simulator) copyHostToDevice(dst driver.Address, src uintptr, bytes uint64, stream driver.Stream) driver.Result {
	return s.copyMemory(uint64(dst), uint64(src), uint64(dst), bytes, stream)
}

func (s *Simulator) copyDeviceToHost(dst uintptr, src driver.Address, bytes uint64, stream driver.Stream) driver.Result {
	return s.copyMemory(uint64(dst), uint64(src), uint64(src), bytes, stream)
}

// copyMemory copies; the device's side is checked, and stays while it does.
func (s *Simulator) copyMemory(dst, src, device, bytes uint64, stream driver.Stream) driver.Result {
	if r := s.streamSynchronize(stream); r != driver.ResultSuccess {
		return r
	}
	if bytes == 0 {
		return driver.ResultSuccess
	}
	s.running.RLock()
	defer s.running.RUnlock()
	if around, found := s.arena.around(device); !found || bytes > around.high-device {
		return driver.ResultInvalidValue
	}
	copy(view(dst, bytes), view(src, bytes))
	return driver.ResultSuccess
}
