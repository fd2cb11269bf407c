package dlpack

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"dlaunch/internal/status"
)

// The codes of a DLDataType.
const (
	Int            uint8 = 0
	UInt           uint8 = 1
	Float          uint8 = 2
	OpaqueHandle   uint8 = 3
	Bfloat         uint8 = 4
	Complex        uint8 = 5 // its bits are those of both parts
	Bool           uint8 = 6
	Float8E3M4     uint8 = 7
	Float8E4M3     uint8 = 8
	Float8E4M3B11  uint8 = 9
	Float8E4M3FN   uint8 = 10
	Float8E4M3FNUZ uint8 = 11
	Float8E5M2     uint8 = 12
	Float8E5M2FNUZ uint8 = 13
	Float8E8M0FNU  uint8 = 14
	Float6E2M3FN   uint8 = 15
	Float6E3M2FN   uint8 = 16
	Float4E2M1FN   uint8 = 17
)

// names are those of prototypes, messages and dtype strings.
var names = [...]struct {
	name       string
	code, bits uint8
}{
	{"bool", Bool, 8},
	{"i8", Int, 8}, {"i16", Int, 16}, {"i32", Int, 32}, {"i64", Int, 64},
	{"u8", UInt, 8}, {"u16", UInt, 16}, {"u32", UInt, 32}, {"u64", UInt, 64},
	{"f16", Float, 16}, {"f32", Float, 32}, {"f64", Float, 64},
	{"bf16", Bfloat, 16},
	{"c32", Complex, 32}, {"c64", Complex, 64}, {"c128", Complex, 128},
	{"f8e3m4", Float8E3M4, 8},
	{"f8e4m3", Float8E4M3, 8},
	{"f8e4m3b11fnuz", Float8E4M3B11, 8},
	{"f8e4m3fn", Float8E4M3FN, 8},
	{"f8e4m3fnuz", Float8E4M3FNUZ, 8},
	{"f8e5m2", Float8E5M2, 8},
	{"f8e5m2fnuz", Float8E5M2FNUZ, 8},
	{"f8e8m0fnu", Float8E8M0FNU, 8},
	{"f6e2m3fn", Float6E2M3FN, 6},
	{"f6e3m2fn", Float6E3M2FN, 6},
	{"f4e2m1fn", Float4E2M1FN, 4},
}

// TypeNames lists the names that ParseType knows, without lanes.
func TypeNames() []string {
	list := make([]string, len(names))
	for i := range names {
		list[i] = names[i].name
	}
	return list
}

// ParseType reads "f32", or with lanes "f32x4".
func ParseType(text string) (DataType, error) {
	name, lanes, vector := strings.Cut(text, "x")
	n := uint64(1)
	if vector {
		var err error
		n, err = strconv.ParseUint(lanes, 10, 16)
		// One spelling a type: no "f32x1", no "f32x04".
		if err != nil || n < 2 || lanes[0] == '0' || lanes[0] == '+' {
			return DataType{}, status.Errorf(status.Argument, "dtype %q: %q is no number of lanes; 2 to 65535 is wanted, as in f32x4", text, lanes)
		}
	}
	for _, known := range names {
		if known.name == name {
			return DataType{Code: known.code, Bits: known.bits, Lanes: uint16(n)}, nil
		}
	}
	return DataType{}, status.Errorf(status.Argument, "dtype %q is not known; the names are %s", text, strings.Join(TypeNames(), " "))
}

// String gives the name, which ParseType reads; a type without one is spelt by
// its numbers.
func (t DataType) String() string {
	for _, known := range names {
		if known.code == t.Code && known.bits == t.Bits {
			switch t.Lanes {
			case 0:
				continue
			case 1:
				return known.name
			}
			return fmt.Sprintf("%sx%d", known.name, t.Lanes)
		}
	}
	return fmt.Sprintf("DLDataType{%d, %d, %d}", t.Code, t.Bits, t.Lanes)
}

// Check refuses what has no size, and a float of a width that its code does not
// have: DLPack asks consumers to stop at those.
func (t DataType) Check() error {
	if t.Bits == 0 || t.Lanes == 0 {
		return status.Errorf(status.Tensor, "dtype %v has no size; bits and lanes of at least 1 are wanted", t)
	}
	if t.Code >= Float8E3M4 && t.Code <= Float4E2M1FN {
		for _, known := range names {
			if known.code == t.Code && known.bits != t.Bits {
				return status.Errorf(status.Tensor, "dtype %v: %s has %d bits, not %d", t, known.name, known.bits, t.Bits)
			}
		}
	}
	return nil
}

// Packed is the type as one number, in the bytes that a DLDataType has.
func (t DataType) Packed() uint32 {
	return uint32(t.Code) | uint32(t.Bits)<<8 | uint32(t.Lanes)<<16
}

// Unpack reads what Packed gave.
func Unpack(packed uint32) DataType {
	return DataType{Code: uint8(packed), Bits: uint8(packed >> 8), Lanes: uint16(packed >> 16)}
}

// ItemBits is the size of one element in bits, all lanes together, when packed.
func (t DataType) ItemBits() uint64 { return uint64(t.Bits) * uint64(t.Lanes) }

// storedBits is what one element takes in memory.
func (t DataType) storedBits(padded bool) uint64 {
	if padded {
		return (uint64(t.Bits) + 7) / 8 * 8 * uint64(t.Lanes)
	}
	return t.ItemBits()
}

// Bytes is the size of a contiguous array: sub-byte elements are packed unless
// they are padded to a byte each, and the total is rounded up.
func (t DataType) Bytes(elements uint64, padded bool) (uint64, error) {
	n, ok := bitsToBytes(elements, t.storedBits(padded))
	if !ok {
		return 0, status.Errorf(status.Tensor, "%d elements of %v are more than 2^63-1 bytes", elements, t)
	}
	return n, nil
}

// bitsToBytes is ceil(count*each/8), if that is below 2^63.
func bitsToBytes(count, each uint64) (uint64, bool) {
	high, low := bits.Mul64(count, each)
	low, carry := bits.Add64(low, 7, 0)
	high += carry
	if high >= 4 {
		return 0, false
	}
	return high<<61 | low>>3, true
}
