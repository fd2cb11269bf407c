package sim

import "slices"

// fixedSpecials are the registers that say the same in every launch: there are
// no clusters, so each block is a cluster of its own.
var fixedSpecials = map[string]uint64{
	"%nsmid": multiprocessors, "%warpsize": warpSize,
	"%cluster_ctaid.x": 0, "%cluster_ctaid.y": 0, "%cluster_ctaid.z": 0,
	"%cluster_nctaid.x": 1, "%cluster_nctaid.y": 1, "%cluster_nctaid.z": 1,
	"%cluster_ctarank": 0, "%cluster_nctarank": 1, "%gridid": 1, "%reserved_smem_offset_begin": 0,
}

// Registers that depend on the block, then on the thread.
var (
	blockSpecials = []string{"%ntid.x", "%ntid.y", "%ntid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z",
		"%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x", "%nclusterid.y", "%nclusterid.z", "%nwarpid", "%warpid", "%smid",
		"%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%envreg1", "%envreg2"}
	threadSpecials = []string{"%tid.x", "%tid.y", "%tid.z", "%laneid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge"}
)

func isSpecial(name string) bool {
	return slices.Contains(blockSpecials, name) || slices.Contains(threadSpecials, name)
}

// blockSpecial gives a register that all lanes of a warp share.
func (w *warp) blockSpecial(name string) uint64 {
	r := w.block.run
	axis := int(name[len(name)-1] - 'x')
	switch name[:len(name)-1] {
	case "%ntid.":
		return uint64(r.Block[axis])
	case "%nctaid.", "%nclusterid.":
		return uint64(r.Grid[axis])
	case "%ctaid.", "%clusterid.":
		return uint64(w.block.index[axis])
	}
	switch name {
	case "%nwarpid":
		return uint64(len(w.block.warps))
	case "%warpid":
		return uint64(w.number)
	case "%smid":
		return w.block.linear % multiprocessors
	case "%dynamic_smem_size":
		return uint64(r.Shared)
	case "%envreg1": // the grid's barrier memory, upper and lower half
		return r.workspace >> 32
	case "%envreg2":
		return r.workspace & maskOf(32)
	}
	return uint64(len(w.block.shared)) // %total_smem_size, %aggr_smem_size
}

// threadSpecial gives a lane's own.
func (w *warp) threadSpecial(name string, lane int) uint64 {
	at := uint64(1) << lane
	switch name {
	case "%laneid":
		return uint64(lane)
	case "%lanemask_eq":
		return at
	case "%lanemask_lt":
		return at - 1
	case "%lanemask_le":
		return at<<1 - 1
	case "%lanemask_gt":
		return allLanes &^ (at<<1 - 1)
	case "%lanemask_ge":
		return allLanes &^ (at - 1)
	}
	return uint64(w.block.threadOf(w.number*warpSize + lane)[name[len(name)-1]-'x'])
}

// fillSpecials prepares the registers that a program reads; threads' own only
// when the warp is another one than before.
func (w *warp) fillSpecials(threads bool) {
	for _, s := range w.block.run.program.specials {
		register := &w.registers[s.slot]
		if !slices.Contains(threadSpecials, s.name) {
			value := w.blockSpecial(s.name)
			for lane := range register {
				register[lane] = value
			}
		} else if threads {
			for lane := range register {
				register[lane] = w.threadSpecial(s.name, lane)
			}
		}
	}
}

// Clocks count nanoseconds; %clock_hi and %globaltimer_hi give the upper half.
const (
	flagUpper = 1 << 6
	flagSince = 1 << 7 // of the launch, not of 1970
)

func clockMask(name string) uint64 {
	if name == "%clock64" || name == "%globaltimer" {
		return maskOf(64)
	}
	return maskOf(32)
}

func clockFlags(name string) uint8 {
	flags := uint8(0)
	if name[1] == 'c' {
		flags |= flagSince
	}
	if name[len(name)-1] == 'i' {
		flags |= flagUpper
	}
	return flags
}
