package launch_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

// maxActiveBlocks is of a device of 2048 threads, 32 blocks and 228 KiB, of which
// each block takes one for itself, a multiprocessor.
func (f *fake) maxActiveBlocks(g driver.Function, block int32, shared uint64) (int32, driver.Result) {
	if g != 0x2001 || block <= 0 {
		return 0, driver.ResultInvalidValue
	}
	if shared > uint64(f.dynamic) {
		return 0, driver.ResultSuccess
	}
	return min(32, 2048/block, int32(228<<10/(2048+shared))), driver.ResultSuccess
}

// clustersOf looks at what it is given as the driver would.
func (f *fake) clustersOf(_ driver.Function, config uintptr) (int32, driver.Result) {
	if f.lacksClusters {
		return 0, driver.ResultNotSupported
	}
	f.configured = wordsAt(uint64(config), 14)
	f.cluster = wordsAt(uint64(f.configured[10])|uint64(f.configured[11])<<32, 5)
	return 6, driver.ResultSuccess
}

func wordsAt(address uint64, n int) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(bytesAt(address+uint64(4*i), 4))
	}
	return words
}

func TestOccupancy(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	for _, c := range []struct {
		block  uint32
		shared uint64
		want   int32
	}{
		{128, 0, 16}, {32, 0, 32}, {1024, 0, 2}, {1025, 0, 0}, {128, 48 << 10, 4},
		{128, 100 << 10, 2}, {128, fakeSharedOptIn - 1024, 1}, {128, fakeSharedOptIn - 1023, 0}, {128, math.MaxUint64, 0},
	} {
		got, err := e.MaxActiveBlocks(k, 0, c.block, c.shared)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%+v", c)
	}
	require.EqualValues(t, fakeSharedOptIn-1024, f.dynamic, "opted in")
	for _, block := range []uint32{0, 1 << 31} {
		_, err := e.MaxActiveBlocks(k, 0, block, 0)
		refused(t, err, status.Config, "a block of")
		_, err = e.AvailableShared(k, 0, 1, block)
		refused(t, err, status.Config, "a block of")
	}
	shared, err := e.AvailableShared(k, 1, 2, 128)
	require.NoError(t, err)
	require.EqualValues(t, 328, shared)
	for _, blocks := range []uint32{0, 17, 1 << 31} {
		_, err = e.AvailableShared(k, 0, blocks, 128)
		refused(t, err, status.Config, "blocks of 128 threads do not fit a multiprocessor of device 0")
	}
}

func TestPotentialBlockSize(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy") // 512 threads at most, on 100 multiprocessors
	for _, c := range []struct {
		base, perThread uint64
		limit           uint32
		grid, block     int32
	}{
		{0, 0, 0, 400, 512},         // 4 * 512 threads; 8 * 256 are as many, but smaller
		{0, 0, 300, 800, 256},       // 8 * 256 = 2048; 6 * 300 and 7 * 288 are less
		{0, 0, 20, 3200, 20},        // 32 blocks of less than a warp
		{0, 256, 0, 200, 448},       // two blocks of 114 KiB; one of more threads, three of 288, are less
		{100 << 10, 0, 0, 200, 512}, // two of 102 KiB
		{0, 64, 0, 400, 512},        // four of 34 KiB
	} {
		grid, block, err := e.MaxPotentialBlockSize(k, 0, c.base, c.perThread, c.limit)
		require.NoError(t, err)
		require.Equal(t, [2]int32{c.grid, c.block}, [2]int32{grid, block}, "%+v", c)
	}
	for _, too := range [][2]uint64{{fakeSharedOptIn, 0}, {0, 1 << 20}, {math.MaxUint64, math.MaxUint64}} {
		_, _, err := e.MaxPotentialBlockSize(k, 0, too[0], too[1], 0)
		refused(t, err, status.Config, "no block fits")
	}
}

func TestClusters(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy")
	cfg := config()
	cfg.Cluster, cfg.SharedBytes = [3]uint32{2}, 60000
	_, err := e.MaxClusterSize(k, 0, cfg)
	refused(t, err, status.Unsupported, "launches clusters")
	f.clusters = 1
	for _, ask := range []func() (int32, error){
		func() (int32, error) { return e.MaxClusterSize(k, 0, cfg) },
		func() (int32, error) { return e.MaxActiveClusters(k, 0, cfg) },
	} {
		n, err := ask()
		require.NoError(t, err)
		require.EqualValues(t, 6, n)
		require.Equal(t, []uint32{4, 1, 1, 32, 1, 1, 60000, 0, 0, 0}, f.configured[:10])
		require.EqualValues(t, 1, f.configured[12])
		require.Equal(t, []uint32{4, 0, 2, 1, 1}, f.cluster)
	}
	require.EqualValues(t, 60000, f.dynamic)
	f.lacksClusters = true // a driver before 11.7
	_, err = e.MaxClusterSize(k, 0, cfg)
	se := refused(t, err, status.Unsupported, "cuOccupancyMaxPotentialClusterSize", "801")
	require.EqualValues(t, driver.ResultNotSupported, se.Driver)
	f.lacksClusters = false
	cfg.Cluster = [3]uint32{3}
	_, err = e.MaxActiveClusters(k, 0, cfg)
	refused(t, err, status.Config, "grid.x is 4, which is no multiple of the cluster's 3")
	_, err = e.MaxActiveClusters(k, 0, nil)
	refused(t, err, status.Argument, "config is NULL")
	_, err = e.MaxActiveClusters(k, 0, &exec.Config{StructSize: 8})
	refused(t, err, status.Argument, "config.struct_size is 8")
}
