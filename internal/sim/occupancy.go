package sim

import (
	"dlaunch/internal/driver"
	"dlaunch/internal/ptx"
)

// What a multiprocessor of compute capability 9.0 hands out, and in which pieces:
// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability",
// and the occupancy calculator's table.
const (
	warpsPerProcessor     = threadsPerProcessor / warpSize
	registersPerProcessor = 65536
	processorParts        = 4   // each has its share of the warps and registers
	registerUnit          = 256 // registers are given to a warp in these
	sharedUnit            = 128 // bytes of shared memory, to a block
)

// leastRegisters is what a thread has however small its kernel is.
const leastRegisters = 16

// estimateRegisters says how many registers a thread has: those of the PTX, which a
// compiler would share, but no more than .maxnreg, and than leaves room for the
// largest block (.minnctapersm times).
func (p *program) estimateRegisters(entry *ptx.Function) uint32 {
	warps := alignUp(divideUp(max(1, uint64(p.threads())), warpSize), processorParts) * max(1, uint64(entry.MinBlocks))
	most := min(registersPerThread, registersPerProcessor/warps/registerUnit*registerUnit/warpSize)
	if entry.MaxRegisters > 0 {
		most = min(most, uint64(entry.MaxRegisters))
	}
	return uint32(max(leastRegisters, min(most, uint64(p.slots))))
}

func divideUp(a, b uint64) uint64 { return (a + b - 1) / b }

// activeBlocks is how many blocks fit a multiprocessor at once: 0 if not one does.
func (p *program) activeBlocks(threads, dynamic uint64) uint64 {
	shared := p.dynamicBase + dynamic
	if threads > uint64(p.threads()) || shared > optinShared {
		return 0
	}
	warps := divideUp(threads, warpSize)
	perWarp := alignUp(uint64(p.registers)*warpSize, registerUnit)
	if perWarp*alignUp(warps, processorParts) > registersPerBlock {
		return 0
	}
	return min(blocksPerProcessor, warpsPerProcessor/warps,
		registersPerProcessor/processorParts/perWarp*processorParts/warps,
		sharedPerProcessor/(alignUp(shared, sharedUnit)+reservedSharedMemory))
}

// occupant gives the kernel of a question about occupancy, and how much dynamic
// shared memory it may have on the device of the current context.
func (s *Simulator) occupant(f driver.Function) (*program, uint64, driver.Result) {
	device, r := s.contextDevice()
	if r != driver.ResultSuccess {
		return nil, 0, r
	}
	k := s.kernel(driver.Kernel(f))
	if k == nil {
		return nil, 0, driver.ResultInvalidHandle
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.program, uint64(k.maxDynamic[device]), driver.ResultSuccess
}

func (s *Simulator) maxActiveBlocks(f driver.Function, block int32, shared uint64) (int32, driver.Result) {
	p, most, r := s.occupant(f)
	if r == driver.ResultSuccess && block <= 0 {
		r = driver.ResultInvalidValue
	}
	if r != driver.ResultSuccess || shared > most {
		return 0, r
	}
	return int32(p.activeBlocks(uint64(block), shared)), r
}

// availableShared refuses blocks of which not so many fit.
func (s *Simulator) availableShared(f driver.Function, blocks, block int32) (uint64, driver.Result) {
	p, most, r := s.occupant(f)
	if r != driver.ResultSuccess {
		return 0, r
	}
	if blocks <= 0 || block <= 0 || p.activeBlocks(uint64(block), 0) < uint64(blocks) {
		return 0, driver.ResultInvalidValue
	}
	each := sharedPerProcessor/uint64(blocks)/sharedUnit*sharedUnit - reservedSharedMemory
	return min(min(each, optinShared)-p.dynamicBase, most), r
}

func (s *Simulator) noClusters(driver.Function, uintptr) (int32, driver.Result) {
	return 0, driver.ResultNotSupported
}
