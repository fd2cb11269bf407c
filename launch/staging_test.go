package launch_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
	"dlaunch/internal/exec"
	"dlaunch/internal/status"
)

func TestATensorOfNoDeviceBesideAHostTensor(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	data := make([]float32, 4)
	x, y := tensorArg(t, data, cpuDevice, []int64{4}, nil), tensorArg(t, data, cudaDevice, []int64{4}, nil)
	(*rawTensor)(unsafe.Pointer(&bytesAt(y.Value, 1)[0])).number = 9
	err := refused(t, run(e, k, config(), float(2), x, y), status.Tensor, "argument 2 (y)", "device 9", "2 devices")
	require.EqualValues(t, 2, err.Argument)
	require.Zero(t, f.alive())
}

func TestATypeWithoutASize(t *testing.T) {
	e, _ := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: any[n], y: inout f32[n], n: i32 = n)")
	data := make([]float32, 4)
	for _, device := range []int32{cpuDevice, cudaDevice} {
		x, y := tensorArg(t, data, device, []int64{4}, nil), tensorArg(t, data, device, []int64{4}, nil)
		(*rawTensor)(unsafe.Pointer(&bytesAt(x.Value, 1)[0])).dtype = 2 | 0<<8 | 1<<16
		refused(t, run(e, k, config(), float(2), x, y), status.Tensor, "argument 1 (x)", "has no size")
	}
}

// Host tensors of all sizes and layouts come back right, with and without page-locked
// memory; a drain gives that back.
func TestStagingThroughPinnedMemory(t *testing.T) {
	for _, lacksPinned := range []bool{false, true} {
		e, f := newEngine(t)
		f.lacksPinned = lacksPinned
		k := getKernel(t, e, "saxpy(a: f32, x: f32[n] @strided, y: inout f32[n] @strided, n: i32 = n)")
		for _, elements := range []int64{1, 1000, 1<<18 - 16, 1 << 18, 1<<18 + 1, 1 << 19} {
			x, y := make([]float32, elements), make([]float32, 3*elements)
			for i := range y {
				y[i] = float32(i)
			}
			want := slices.Clone(y)
			strided := tensorArg(t, y, cpuDevice, []int64{elements}, []int64{3})
			require.NoError(t, run(e, k, config(), float(2), tensorArg(t, x, cpuDevice, []int64{elements}, nil), strided))
			require.Equal(t, want, y, "the fake's kernels do nothing")
			require.Zero(t, f.alive())
		}
		require.Equal(t, !lacksPinned, len(f.pinned) == 1, "one launch at a time needs one room")
		require.NoError(t, e.Drain())
		require.Empty(t, f.pinned)
	}
}

// The kernel's results come out of the room, and only the tensor's own elements are written.
func TestWhatAKernelWroteComesBackThroughPinnedMemory(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], y: inout f32[n] @strided, n: i32 = n)")
	x, y := make([]float32, 4), []float32{1, -1, 2, -1, 3, -1, 4}
	f.copiesBack = func(block []byte) { clear(block) } // as if the kernel had written zeros
	require.NoError(t, run(e, k, config(), float(2), tensorArg(t, x, cpuDevice, []int64{4}, nil), tensorArg(t, y, cpuDevice, []int64{4}, []int64{2})))
	require.Equal(t, []float32{0, -1, 0, -1, 0, -1, 0}, y)
}

// When copying back fails midway, the message names the arrays that may no longer be
// as they were; strided ones come through another buffer, and are untouched.
func TestACopyBackThatFailsMidway(t *testing.T) {
	for _, c := range []struct {
		name             string
		xStride, yStride int64
		copiesLeft       int
		syncs            driver.Result
		says             string
	}{
		{"the first copy", 1, 1, 1, driver.ResultSuccess, "; argument 1 (x) may be half written"},
		{"the second copy", 1, 1, 2, driver.ResultSuccess, "; arguments 1 (x), 2 (y) may be half written"},
		{"the second copy, to a strided array", 1, 2, 2, driver.ResultSuccess, "; argument 1 (x) may be half written"},
		{"the first copy, to a strided array", 2, 1, 1, driver.ResultSuccess, "; the arrays are as they were"},
		{"waiting", 2, 1, 0, driver.ResultIllegalAddress, "; argument 2 (y) may be half written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, f := newEngine(t)
			t.Cleanup(func() { exec.ClearAttention(exec.Poisoned) })
			k := getKernel(t, e, "saxpy(a: f32, x: inout f32[n] @strided, y: inout f32[n] @strided, n: i32 = n)")
			f.lacksPinned, f.copiesBackLeft, f.syncs = true, c.copiesLeft, c.syncs
			f.copiesBack = func(block []byte) { clear(block) }
			x, y := []float32{1, -1, 2, -1, 3, -1, 4}, []float32{1, -1, 2, -1, 3, -1, 4}
			err := run(e, k, config(), float(2), tensorArg(t, x, cpuDevice, []int64{4}, []int64{c.xStride}), tensorArg(t, y, cpuDevice, []int64{4}, []int64{c.yStride}))
			var said *status.Error
			require.ErrorAs(t, err, &said)
			require.True(t, strings.HasSuffix(said.Message, c.says), said.Message)
			for stride, array := range map[int64][]float32{c.xStride: x, c.yStride: y} {
				if stride == 2 {
					require.Equal(t, []float32{1, -1, 2, -1, 3, -1, 4}, array)
				}
			}
			if c.syncs == driver.ResultSuccess { // else the context is lost, with all that it has
				require.Zero(t, f.alive())
			}
		})
	}
}

// No more than so many rooms are page-locked, and a launch that finds none goes without.
func TestRoomsAreBounded(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, saxpyPrototype)
	var launches sync.WaitGroup
	for range 64 {
		launches.Add(1)
		go func() {
			defer launches.Done()
			x, y := tensorArg(t, []float32{1, 2}, cpuDevice, []int64{2}, nil), tensorArg(t, []float32{3, 4}, cpuDevice, []int64{2}, nil)
			for range 20 {
				assert.NoError(t, run(e, k, config(), float(2), x, y))
			}
		}()
	}
	launches.Wait()
	require.LessOrEqual(t, len(f.pinned), 32)
	require.Zero(t, f.alive())
}

// What a kernel writes whole is not copied in, unless something else lies there too.
func TestWholeHostTensorsAreNotCopiedIn(t *testing.T) {
	e, f := newEngine(t)
	k := getKernel(t, e, "saxpy(a: f32, x: f32[n], y: out f32[n], n: i32 = n)")
	other, data := []float32{1, 2, 3, 4}, []float32{5, 6, 7, 8}
	x, y := tensorArg(t, other, cpuDevice, []int64{4}, nil), tensorArg(t, data, cpuDevice, []int64{4}, nil)
	for _, c := range []struct {
		name   string
		x      exec.Arg
		flags  uint16
		copies int
	}{
		{"out", x, 0, 2},
		{"whole", x, exec.ArgWhole, 1},
		{"whole, but read by another argument", y, exec.ArgWhole, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.copiesIn = 0
			y := y
			y.Flags = c.flags
			require.NoError(t, run(e, k, config(), float(2), c.x, y))
			require.Equal(t, c.copies, f.copiesIn)
			require.Zero(t, f.alive())
		})
	}
	y.Flags = exec.ArgWhole // no mark by itself
	refused(t, run(e, getKernel(t, e, "saxpy"), config(), float(2), exec.Arg{}, y, exec.Arg{Kind: exec.ArgInt}), status.Tensor, "mark it")
}
