package dlpack_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	"dlaunch/internal/status"
)

func refuse(t *testing.T, err error, code status.Code, message string) {
	t.Helper()
	var e *status.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code)
	require.Equal(t, message, e.Message)
}

// The public list: name, DLPack code, bits.
var public = []struct {
	name       string
	code, bits uint8
}{
	{"bool", 6, 8}, {"i8", 0, 8}, {"i16", 0, 16}, {"i32", 0, 32}, {"i64", 0, 64},
	{"u8", 1, 8}, {"u16", 1, 16}, {"u32", 1, 32}, {"u64", 1, 64}, {"f16", 2, 16}, {"f32", 2, 32}, {"f64", 2, 64},
	{"bf16", 4, 16}, {"c32", 5, 32}, {"c64", 5, 64}, {"c128", 5, 128}, {"f8e3m4", 7, 8}, {"f8e4m3", 8, 8},
	{"f8e4m3b11fnuz", 9, 8}, {"f8e4m3fn", 10, 8}, {"f8e4m3fnuz", 11, 8}, {"f8e5m2", 12, 8}, {"f8e5m2fnuz", 13, 8},
	{"f8e8m0fnu", 14, 8}, {"f6e2m3fn", 15, 6}, {"f6e3m2fn", 16, 6}, {"f4e2m1fn", 17, 4},
}

func TestTypeNames(t *testing.T) {
	var listed []string
	for _, p := range public {
		want := dlpack.DataType{Code: p.code, Bits: p.bits, Lanes: 1}
		got, err := dlpack.ParseType(p.name)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, p.name, want.String())
		require.NoError(t, want.Check())
		listed = append(listed, p.name)
	}
	require.Equal(t, listed, dlpack.TypeNames())

	vector, err := dlpack.ParseType("f32x4")
	require.NoError(t, err)
	require.Equal(t, dlpack.DataType{Code: 2, Bits: 32, Lanes: 4}, vector)
	require.Equal(t, "f32x4", vector.String())
	require.Equal(t, uint64(128), vector.ItemBits())

	for text, want := range map[dlpack.DataType]string{
		{Code: 3, Bits: 64, Lanes: 1}: "DLDataType{3, 64, 1}", {Code: 0, Bits: 4, Lanes: 1}: "DLDataType{0, 4, 1}",
		{Code: 2, Bits: 32, Lanes: 0}: "DLDataType{2, 32, 0}", {Code: 200, Bits: 1, Lanes: 2}: "DLDataType{200, 1, 2}",
	} {
		require.Equal(t, want, text.String())
	}
}

func TestNoType(t *testing.T) {
	for _, text := range []string{"", "f", "F32", "float32", "f32 ", " f32", "i4", "any", "b32", "ptr", "f128", "x4"} {
		_, err := dlpack.ParseType(text)
		var e *status.Error
		require.True(t, errors.As(err, &e), text)
		require.Equal(t, status.Argument, e.Code)
		require.ErrorContains(t, err, "is not known; the names are bool i8 i16", text)
	}
	for _, text := range []string{"f32x", "f32x0", "f32x1", "f32x04", "f32x+4", "f32x-4", "f32x65536", "f32x4x4", "f32x4 "} {
		_, err := dlpack.ParseType(text)
		require.ErrorContains(t, err, "is no number of lanes", text)
	}
}

func TestCheckType(t *testing.T) {
	refuse(t, dlpack.DataType{Code: 2, Bits: 0, Lanes: 1}.Check(), status.Tensor,
		"dtype DLDataType{2, 0, 1} has no size; bits and lanes of at least 1 are wanted")
	refuse(t, dlpack.DataType{Code: 2, Bits: 32, Lanes: 0}.Check(), status.Tensor,
		"dtype DLDataType{2, 32, 0} has no size; bits and lanes of at least 1 are wanted")
	refuse(t, dlpack.DataType{Code: 17, Bits: 8, Lanes: 1}.Check(), status.Tensor,
		"dtype DLDataType{17, 8, 1}: f4e2m1fn has 4 bits, not 8")
	refuse(t, dlpack.DataType{Code: 15, Bits: 8, Lanes: 1}.Check(), status.Tensor,
		"dtype DLDataType{15, 8, 1}: f6e2m3fn has 6 bits, not 8")
	require.NoError(t, dlpack.DataType{Code: 0, Bits: 4, Lanes: 1}.Check(), "int4 has a size, if no name")
}

func TestBytes(t *testing.T) {
	parse := func(name string) dlpack.DataType {
		dtype, err := dlpack.ParseType(name)
		require.NoError(t, err)
		return dtype
	}
	for _, test := range []struct {
		name     string
		dtype    string
		elements uint64
		padded   bool
		want     uint64
	}{
		{"none", "f32", 0, false, 0},
		{"floats", "f32", 10, false, 40},
		{"complex", "c128", 3, false, 48},
		{"vectors", "f16x4", 3, false, 24},
		{"fp4", "f4e2m1fn", 7, false, 4},
		{"fp4, a byte each", "f4e2m1fn", 7, true, 7},
		{"fp6", "f6e3m2fn", 5, false, 4},
		{"fp6, a byte each", "f6e3m2fn", 5, true, 5},
		{"fp4 pairs", "f4e2m1fnx2", 7, false, 7},
		{"largest", "i8", math.MaxInt64, false, math.MaxInt64},
		{"many fp4", "f4e2m1fn", math.MaxUint64, false, 1 << 63}, // refused below
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := parse(test.dtype).Bytes(test.elements, test.padded)
			if test.want > math.MaxInt64 {
				refuse(t, err, status.Tensor, "18446744073709551615 elements of f4e2m1fn are more than 2^63-1 bytes")
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

func TestBytesAgainstBigNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	limit := new(big.Int).Lsh(big.NewInt(1), 63)
	fits := 0
	for range 20000 {
		dtype := dlpack.DataType{Code: 0, Bits: uint8(1 + random.IntN(255)), Lanes: uint16(1 + random.IntN(65535))}
		elements := random.Uint64() >> random.IntN(64)
		padded := random.IntN(2) == 0
		each := int64(dtype.Bits) * int64(dtype.Lanes)
		if padded {
			each = (int64(dtype.Bits) + 7) / 8 * 8 * int64(dtype.Lanes)
		}
		want := new(big.Int).Mul(new(big.Int).SetUint64(elements), big.NewInt(each))
		want.Add(want, big.NewInt(7)).Rsh(want, 3)
		got, err := dtype.Bytes(elements, padded)
		if want.Cmp(limit) >= 0 {
			require.Error(t, err)
			continue
		}
		fits++
		require.NoError(t, err)
		require.Equal(t, want.Uint64(), got)
	}
	require.Greater(t, fits, 1000)
}
