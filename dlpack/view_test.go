package dlpack_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/internal/status"
)

var f32 = dlpack.DataType{Code: 2, Bits: 32, Lanes: 1}

func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// view lets a struct lie in memory as a producer's does, and reads it.
func view(t *testing.T, tensor dlpack.Tensor, shape, strides []int64) (*dlpack.View, error) {
	t.Helper()
	var pin runtime.Pinner
	defer pin.Unpin()
	if len(shape) > 0 {
		pin.Pin(&shape[0])
		tensor.Shape = address(&shape[0])
	}
	if len(strides) > 0 {
		pin.Pin(&strides[0])
		tensor.Strides = address(&strides[0])
	}
	versioned := &dlpack.ManagedTensorVersioned{Version: dlpack.Version{Major: 1, Minor: 9}, Tensor: tensor}
	managed := &dlpack.ManagedTensor{Tensor: tensor}
	pin.Pin(versioned)
	pin.Pin(managed)
	v, err := dlpack.ReadVersioned(address(versioned))
	other, otherErr := dlpack.ReadManaged(address(managed))
	require.Equal(t, v, other)
	require.Equal(t, err, otherErr)
	other, otherErr = dlpack.Read(address(&managed.Tensor))
	require.Equal(t, v, other)
	require.Equal(t, err, otherErr)
	return v, err
}

func TestViews(t *testing.T) {
	fp4 := dlpack.DataType{Code: 17, Bits: 4, Lanes: 1}
	for _, test := range []struct {
		name      string
		dtype     dlpack.DataType
		data      uintptr
		offset    uint64
		shape     []int64
		strides   []int64
		want      []int64
		size      int64
		c, f      bool
		low, high uint64
		bytes     uint64
	}{
		{"scalar", f32, 0x1000, 0, nil, nil, nil, 1, true, true, 0x1000, 0x1004, 4},
		{"vector", f32, 0x1000, 16, []int64{5}, nil, []int64{1}, 5, true, true, 0x1010, 0x1024, 20},
		{"matrix, no strides", f32, 0x1000, 0, []int64{2, 3}, nil, []int64{3, 1}, 6, true, false, 0x1000, 0x1018, 24},
		{"matrix, C", f32, 0x1000, 0, []int64{2, 3}, []int64{3, 1}, []int64{3, 1}, 6, true, false, 0x1000, 0x1018, 24},
		{"matrix, F", f32, 0x1000, 0, []int64{2, 3}, []int64{1, 2}, []int64{1, 2}, 6, false, true, 0x1000, 0x1018, 24},
		{"matrix, neither", f32, 0x1000, 0, []int64{2, 3}, []int64{6, 2}, []int64{6, 2}, 6, false, false, 0x1000, 0x102c, 24},
		{"reversed", f32, 0x1010, 0, []int64{5}, []int64{-1}, []int64{-1}, 5, false, false, 0x1000, 0x1014, 20},
		{"broadcast", f32, 0x1000, 0, []int64{4, 3}, []int64{0, 1}, []int64{0, 1}, 12, false, false, 0x1000, 0x100c, 48},
		{"strides of 1-extents are ignored", f32, 0x1000, 0, []int64{1, 3, 1}, []int64{-77, 1, math.MinInt64},
			[]int64{3, 1, 1}, 3, true, true, 0x1000, 0x100c, 12},
		{"empty", f32, 0, 0, []int64{3, 0, 2}, []int64{9, 9, 9}, []int64{9, 2, 9}, 0, true, true, 0, 0, 0},
		{"empty with data", f32, 0x1000, 8, []int64{0}, nil, []int64{1}, 0, true, true, 0x1008, 0x1008, 0},
		{"empty, an offset from nowhere", f32, 0, 8, []int64{0}, nil, []int64{1}, 0, true, true, 0, 0, 0},
		{"packed", fp4, 0x1000, 0, []int64{7}, nil, []int64{1}, 7, true, true, 0x1000, 0x1004, 4},
		{"packed, reversed", fp4, 0x1010, 0, []int64{4}, []int64{-1}, []int64{-1}, 4, false, false, 0x100e, 0x1011, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			device := dlpack.Device{Type: dlpack.CUDA, ID: 1}
			v, err := view(t, dlpack.Tensor{Data: test.data, Device: device, Rank: int32(len(test.shape)),
				Type: test.dtype, ByteOffset: test.offset}, test.shape, test.strides)
			require.NoError(t, err)
			if test.data != 0 {
				require.Equal(t, uint64(test.data)+test.offset, v.Address)
			} else {
				require.Zero(t, v.Address)
			}
			require.Equal(t, device, v.Device)
			require.Equal(t, test.dtype, v.Type)
			require.Equal(t, len(test.shape), v.Rank())
			require.True(t, slices.Equal(test.shape, v.Shape))
			require.True(t, slices.Equal(test.want, v.Strides), "%v", v.Strides)
			require.Equal(t, test.size, v.Size)
			require.Equal(t, []bool{test.c, test.f}, []bool{v.C, v.Fortran})
			require.Equal(t, []uint64{test.low, test.high}, []uint64{v.Low, v.High})
			require.Equal(t, test.bytes, v.Bytes())
		})
	}
}

func TestBadTensors(t *testing.T) {
	for _, test := range []struct {
		name    string
		tensor  dlpack.Tensor
		shape   []int64
		strides []int64
		message string
	}{
		{"ndim below 0", dlpack.Tensor{Data: 8, Rank: -1, Type: f32}, nil, nil, "ndim is -1; 0 to 64 is wanted"},
		{"ndim too high", dlpack.Tensor{Data: 8, Rank: 65, Type: f32}, nil, nil, "ndim is 65; 0 to 64 is wanted"},
		{"no shape", dlpack.Tensor{Data: 8, Rank: 2, Type: f32}, nil, nil, "shape is NULL with ndim 2"},
		{"crooked shape", dlpack.Tensor{Data: 8, Rank: 2, Type: f32, Shape: 0x1001}, nil, nil, "shape is at 0x1001, which is no multiple of 8"},
		{"crooked strides", dlpack.Tensor{Data: 8, Rank: 1, Type: f32, Strides: 0x1004}, []int64{2}, nil, "strides is at 0x1004, which is no multiple of 8"},
		{"negative extent", dlpack.Tensor{Data: 8, Rank: 3, Type: f32}, []int64{0, 2, -3}, nil, "axis 2 has the extent -3; 0 or more is wanted"},
		{"no data", dlpack.Tensor{Rank: 1, Type: f32, ByteOffset: 64}, []int64{2}, nil, "data is NULL with 2 elements"},
		{"an offset from NULL", dlpack.Tensor{Data: 4, Type: f32, Rank: 1}, []int64{2}, nil, "data is 0x4, an offset from NULL, with 2 elements"},
		{"no data, scalar", dlpack.Tensor{Type: f32}, nil, nil, "data is NULL with 1 elements"},
		{"no dtype", dlpack.Tensor{Data: 8}, nil, nil, "dtype DLDataType{0, 0, 0} has no size; bits and lanes of at least 1 are wanted"},
		{"product wraps to 0", dlpack.Tensor{Data: 8, Rank: 2, Type: f32}, []int64{1 << 32, 1 << 32}, nil,
			"shape [4294967296 4294967296] has more than 2^63-1 elements"},
		{"product of an empty one", dlpack.Tensor{Rank: 3, Type: f32}, []int64{1 << 32, 0, 1 << 32}, nil,
			"shape [4294967296 0 4294967296] has more than 2^63-1 elements"},
		{"too many bytes", dlpack.Tensor{Data: 0x1000, Rank: 1, Type: f32}, []int64{1 << 61}, []int64{0},
			"shape [2305843009213693952] of f32 is more than 2^63-1 bytes"},
		{"strides wrap", dlpack.Tensor{Data: 0x1000, Rank: 1, Type: f32}, []int64{3}, []int64{math.MaxInt64},
			"shape [3] with strides [9223372036854775807] of f32 from 0x1000 leads past the end of memory"},
		{"the least stride", dlpack.Tensor{Data: 0x1000, Rank: 1, Type: f32}, []int64{2}, []int64{math.MinInt64},
			"shape [2] with strides [-9223372036854775808] of f32 from 0x1000 leads past the end of memory"},
		{"before address 0", dlpack.Tensor{Data: 0x1000, Rank: 1, Type: f32}, []int64{6}, []int64{-1000},
			"shape [6] with strides [-1000] of f32 from 0x1000 leads past the end of memory"},
		{"past the last address", dlpack.Tensor{Data: ^uintptr(3), Rank: 1, Type: f32}, []int64{2}, nil,
			"shape [2] with strides [1] of f32 from 0xfffffffffffffffc leads past the end of memory"},
		{"offset wraps", dlpack.Tensor{Data: 0x1000, Rank: 1, Type: f32, ByteOffset: math.MaxUint64}, []int64{2}, nil,
			"data 0x1000 and byte_offset 18446744073709551615 lead past the end of memory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := view(t, test.tensor, test.shape, test.strides)
			refuse(t, err, status.Tensor, test.message)
			require.Nil(t, v)
		})
	}
}

func TestBadPointers(t *testing.T) {
	_, err := dlpack.Read(0)
	refuse(t, err, status.Argument, "the DLTensor is NULL")
	_, err = dlpack.ReadManaged(0)
	refuse(t, err, status.Argument, "the DLManagedTensor is NULL")
	_, err = dlpack.ReadVersioned(0)
	refuse(t, err, status.Argument, "the DLManagedTensorVersioned is NULL")
	_, err = dlpack.Read(0x1004)
	refuse(t, err, status.Argument, "0x1004 is no address of a DLTensor; a multiple of 8 is wanted")
}

func TestVersionAndFlags(t *testing.T) {
	// Only the version of a struct with another major one may be read: the rest
	// of this one lies outside the allocation.
	version := &dlpack.Version{Major: 2, Minor: 1}
	_, err := dlpack.ReadVersioned(address(version))
	refuse(t, err, status.Tensor, "the tensor is of DLPack 2.1; version 1.x is wanted")

	fp4 := dlpack.DataType{Code: 17, Bits: 4, Lanes: 1}
	shape := []int64{7}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&shape[0])
	managed := &dlpack.ManagedTensorVersioned{Version: dlpack.Version{Major: 1, Minor: 0}, Flags: dlpack.ReadOnly | dlpack.Padded,
		Tensor: dlpack.Tensor{Data: 0x1000, Rank: 1, Type: fp4, Shape: address(&shape[0])}}
	v, err := dlpack.ReadVersioned(address(managed))
	require.NoError(t, err)
	require.Equal(t, dlpack.Flags(5), v.Flags)
	require.Equal(t, uint64(7), v.Bytes())
	require.Equal(t, uint64(0x1007), v.High)
}

// Small random tensors against a walk over every element: where the lowest and
// highest bytes are, and whether either order visits them one after the other.
func TestViewAgainstEnumeration(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 9))
	var both, neither int
	for range 20000 {
		rank := random.IntN(5)
		shape, strides := make([]int64, rank), make([]int64, rank)
		next := int64(1)
		for _, axis := range random.Perm(rank) {
			shape[axis] = random.Int64N(4)
			strides[axis] = next
			if random.IntN(4) == 0 {
				strides[axis] = random.Int64N(9) - 4
			}
			next *= max(shape[axis], 1)
		}
		const base = 1 << 20
		v, err := view(t, dlpack.Tensor{Data: base, Rank: int32(rank), Type: f32}, shape, strides)
		require.NoError(t, err)

		forward := walk(shape, strides, false)
		require.Equal(t, int64(len(forward)), v.Size)
		low, high := uint64(base), uint64(base)
		if len(forward) > 0 {
			low = uint64(base + 4*slices.Min(forward))
			high = uint64(base + 4*slices.Max(forward) + 4)
		}
		require.Equal(t, []uint64{low, high}, []uint64{v.Low, v.High}, "%v %v", shape, strides)
		require.Equal(t, consecutive(forward), v.C, "%v %v", shape, strides)
		require.Equal(t, consecutive(walk(shape, strides, true)), v.Fortran, "%v %v", shape, strides)
		if v.C && v.Fortran {
			both++
		}
		if !v.C && !v.Fortran {
			neither++
		}
	}
	require.Greater(t, both, 100)
	require.Greater(t, neither, 100)
}

// walk lists element offsets, last axis fastest or first axis fastest.
func walk(shape, strides []int64, firstFastest bool) []int64 {
	offsets := []int64{0}
	for i := range shape {
		axis := i
		if firstFastest {
			axis = len(shape) - 1 - i
		}
		var longer []int64
		for _, offset := range offsets {
			for at := range shape[axis] {
				longer = append(longer, offset+at*strides[axis])
			}
		}
		offsets = longer
	}
	return offsets
}

func consecutive(offsets []int64) bool {
	for i, offset := range offsets {
		if offset != int64(i) {
			return false
		}
	}
	return true
}
