package launch

import (
	"math/bits"

	"dlaunch/internal/driver"
	"dlaunch/internal/status"
)

// poolAlignment is that of all memory from cuMemAlloc (CUDA C++ Programming Guide).
const poolAlignment = 256

// giveScratch allocates what `scratch()` parameters ask for: bytes for each block
// of the grid, until the launch has run.
func (c *call) giveScratch() error {
	if c.scratch != nil {
		return status.Errorf(status.Internal, "kernel %q: the scratch memory does not arrive", c.kernel.name)
	}
	if err := c.findPlace(); err != nil {
		return err
	}
	blocks := uint64(1)
	for _, extent := range c.config.Grid {
		high, low := bits.Mul64(blocks, uint64(max(extent, 1)))
		if high != 0 {
			return status.Errorf(status.Config, "kernel %q: a grid of %v blocks has no room for scratch memory", c.kernel.name, c.config.Grid)
		}
		blocks = low
	}
	c.scratch = make([]uint64, len(c.kernel.scratch))
	return c.onPlace(func(*device) error {
		for i, s := range c.kernel.scratch {
			if s.bytes == 0 {
				continue
			}
			high, total := bits.Mul64(blocks, s.bytes)
			if high != 0 || total > 1<<62 {
				return status.Errorf(status.Memory, "kernel %q: %d blocks of %d bytes of scratch memory are too many", c.kernel.name, blocks, s.bytes)
			}
			if s.align > poolAlignment {
				total += s.align
			}
			m, err := c.allocate(total)
			if err != nil {
				return err
			}
			c.memory = append(c.memory, m)
			c.scratch[i] = uint64((m.address + driver.Address(s.align) - 1) &^ (driver.Address(s.align) - 1))
		}
		return nil
	})
}
