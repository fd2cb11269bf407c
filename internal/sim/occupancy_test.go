package sim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

// kernelText is a kernel with directives, a static array of so many bytes in shared
// memory, and so many registers that it uses.
func kernelText(directives string, static, registers int) []byte {
	text := fmt.Sprintf(testHeader+`.const .align 8 .b8 table[20]; .const .f64 factor = 0d3FF0000000000000;
.entry k() %s { .reg .b32 r<%d>; .shared .align 4 .b8 tile[%d]; mov.u32 r0, tile;`, directives, registers, max(4, static))
	for i := 1; i < registers; i++ {
		text += fmt.Sprintf("mov.u32 r%d, r%d;", i, i-1)
	}
	return []byte(text + "ret; }")
}

func (r *rig) kernel(name string) (driver.Kernel, driver.Function) {
	k, result := r.api.LibraryKernel(r.library, name)
	require.Zero(r.t, result)
	f, result := r.api.KernelFunction(k)
	require.Zero(r.t, result)
	return k, f
}

func (r *rig) attribute(id int32, k driver.Kernel) int32 {
	value, result := r.api.KernelAttribute(id, k, 0)
	require.Zero(r.t, result)
	return value
}

// Compute capability 9.0: 64 warps, 32 blocks, 65536 registers in units of 256 a
// warp, 228 KiB of shared memory of which each block costs 1 KiB more than it has,
// in units of 128 bytes. The numbers are computed by hand.
func TestActiveBlocks(t *testing.T) {
	for _, c := range []struct {
		directives        string
		static, registers int
		block             int32
		dynamic           uint64
		want              int32
		why               string
	}{
		{"", 0, 1, 32, 0, 32, "blocks: 32, of 64 warps"},
		{"", 0, 1, 64, 0, 32, "blocks and warps"},
		{"", 0, 1, 128, 0, 16, "4 warps of 64"},
		{"", 0, 1, 129, 0, 12, "5 warps: 64 / 5"},
		{"", 0, 1, 1024, 0, 2, "32 warps of 64"},
		{"", 0, 1, 1, 0, 32, "one thread is a warp"},
		{"", 0, 1, 1025, 0, 0, "more than a block may have"},
		{".maxntid 256", 0, 1, 257, 0, 0, "more than the kernel takes"},
		{".reqntid 16, 16", 0, 1, 256, 0, 8, "8 warps"},
		{".maxntid 0", 0, 1, 1, 0, 0, "no block at all"},
		{".maxnreg 64", 0, 200, 256, 0, 4, "64 * 32 a warp: 8 warps a quarter, 32 in all, / 8"},
		{".maxnreg 40", 0, 200, 256, 0, 6, "1280 a warp: 12 a quarter, 48, / 8"},
		{".maxnreg 33", 0, 200, 256, 0, 6, "1056 is rounded to 1280"},
		{".maxntid 128", 0, 250, 128, 0, 2, "250 registers, 8000 rounded to 8192 a warp: 2 a quarter, 8, / 4"},
		{".maxntid 512 .minnctapersm 2", 0, 250, 512, 0, 2, "64 registers, so that two fit"},
		{"", 0, 250, 1024, 0, 1, "64 registers, so that the largest block fits"},
		{"", 8 << 10, 1, 128, 0, 16, "9 KiB: 25, but 16 of warps"},
		{"", 20 << 10, 1, 128, 0, 10, "21 KiB: 228 / 21"},
		{"", 0, 1, 128, 48<<10 - 16, 4, "48 KiB and one more: 228 / 49"},
		{"", 0, 1, 128, 100 << 10, 0, "not opted in"},
		{"", 40 << 10, 1, 128, 8 << 10, 4, "40 + 8 + 1"},
	} {
		r := newRig(t, kernelText(c.directives, c.static, c.registers))
		_, f := r.kernel("k")
		got, result := r.api.MaxActiveBlocks(f, c.block, c.dynamic)
		require.Zero(t, result)
		require.Equal(t, c.want, got, "%s: %+v", c.why, c)
	}
}

func TestOptedIn(t *testing.T) {
	r := newRig(t, kernelText("", 0, 1))
	k, f := r.kernel("k")
	for dynamic, want := range map[uint64]int32{100 << 10: 2, 113<<10 - 128: 2, 113 << 10: 1, 227<<10 - 16: 1} {
		require.Zero(t, r.api.KernelSetAttribute(driver.KernelMaxDynamicShared, int32(dynamic), k, 0))
		got, result := r.api.MaxActiveBlocks(f, 128, dynamic)
		require.Zero(t, result)
		require.Equal(t, want, got, dynamic)
	}
	_, result := r.api.MaxActiveBlocks(f, 0, 0)
	require.Equal(t, driver.ResultInvalidValue, result)
	_, result = r.api.MaxActiveBlocks(f+1, 32, 0)
	require.Equal(t, driver.ResultInvalidHandle, result)
	require.Zero(t, r.api.ContextSetCurrent(0))
	_, result = r.api.MaxActiveBlocks(f, 32, 0)
	require.Equal(t, driver.ResultInvalidContext, result)
}

func TestAvailableShared(t *testing.T) {
	r := newRig(t, kernelText("", 4<<10, 1))
	k, f := r.kernel("k")
	require.Zero(t, r.api.KernelSetAttribute(driver.KernelMaxDynamicShared, 223<<10, k, 0))
	for blocks, want := range map[int32]uint64{
		1: 223 << 10, // 227 and the static four
		2: 109 << 10, // 114, without one and four
		// 228 KiB / 5 is 46694.4: 364 units of 128
		5: 364*128 - 5<<10,
	} {
		got, result := r.api.AvailableShared(f, blocks, 128)
		require.Zero(t, result)
		require.Equal(t, want, got, blocks)
		fit, _ := r.api.MaxActiveBlocks(f, 128, got)
		require.GreaterOrEqual(t, fit, blocks)
		if got < 223<<10 {
			fit, _ = r.api.MaxActiveBlocks(f, 128, got+128)
			require.Less(t, fit, blocks)
		}
	}
	require.Zero(t, r.api.KernelSetAttribute(driver.KernelMaxDynamicShared, 1000, k, 0))
	got, _ := r.api.AvailableShared(f, 1, 128)
	require.EqualValues(t, 1000, got, "no more than is allowed")
	for _, bad := range [][2]int32{{0, 128}, {1, 0}, {17, 128}, {1, 1025}} {
		_, result := r.api.AvailableShared(f, bad[0], bad[1])
		require.Equal(t, driver.ResultInvalidValue, result, bad)
	}
}

func TestKernelAttributes(t *testing.T) {
	r := newRig(t, kernelText(".maxntid 96", 100, 30))
	k, f := r.kernel("k")
	for id, want := range map[int32]int32{0: 96, 1: 100, 2: 32, 3: 0, 6: 90, 7: 0, 8: 48<<10 - int32(alignUp(100, 16)), 9: -1, 10: 0, 11: 0, 14: 0, 15: 0} {
		require.Equal(t, want, r.attribute(id, k), id)
		same, result := r.api.FunctionAttribute(id, f)
		require.Zero(t, result)
		require.Equal(t, want, same)
	}
	require.InDelta(t, 30, r.attribute(4, k), 5)
	require.Zero(t, r.api.KernelSetAttribute(driver.KernelSharedCarveout, 60, k, 0))
	require.EqualValues(t, 60, r.attribute(driver.KernelSharedCarveout, k))
	for _, bad := range [][2]int32{{9, 101}, {9, -2}, {0, 1}, {10, 1}, {14, 1}, {99, 0}, {8, -1}} {
		require.Equal(t, driver.ResultInvalidValue, r.api.KernelSetAttribute(bad[0], bad[1], k, 0), bad)
	}
	_, result := r.api.KernelAttribute(16, k, 0)
	require.Equal(t, driver.ResultInvalidValue, result)

	library, result := r.api.KernelLibrary(k)
	require.Zero(t, result)
	require.Equal(t, r.library, library)
	_, result = r.api.KernelLibrary(driver.Kernel(r.library))
	require.Equal(t, driver.ResultInvalidHandle, result)
}
