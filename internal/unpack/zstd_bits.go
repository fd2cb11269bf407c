package unpack

import (
	"encoding/binary"
	"math/bits"
)

// backward reads bits from the end of bytes to their beginning: the last byte's
// highest 1 only marks where they begin. Beyond are zeros, and left is below 0.
type backward struct {
	bytes []byte
	left  int // bits
}

func newBackward(packed []byte) (*backward, error) {
	if len(packed) == 0 || packed[len(packed)-1] == 0 {
		return nil, ErrDamaged
	}
	return &backward{packed, 8*len(packed) - 8 + bits.Len8(packed[len(packed)-1]) - 1}, nil
}

// read gives the next bits, 32 at most.
func (b *backward) read(count int) int {
	b.left -= count
	return b.at(b.left, count)
}

// peek gives the next bits, which stay.
func (b *backward) peek(count int) int { return b.at(b.left-count, count) }

func (b *backward) at(from, count int) int {
	if from < 0 {
		if from+count <= 0 {
			return 0
		}
		return b.at(0, from+count) << -from
	}
	var word uint64
	if first := from >> 3; first+8 <= len(b.bytes) {
		word = binary.LittleEndian.Uint64(b.bytes[first:])
	} else {
		for i, next := range b.bytes[first:] {
			word |= uint64(next) << (8 * i)
		}
	}
	return int(word >> (from & 7) & (1<<count - 1))
}

// forward reads bits from the beginning of bytes.
type forward struct {
	bytes []byte
	taken int // bits
}

func (b *forward) read(count int) int {
	value := 0
	for i := range count {
		if at := b.taken + i; at>>3 < len(b.bytes) {
			value |= int(b.bytes[at>>3]>>(at&7)&1) << i
		}
	}
	b.taken += count
	return value
}

// rest gives the bytes behind those that were begun.
func (b *forward) rest() ([]byte, error) {
	if begun := (b.taken + 7) / 8; begun <= len(b.bytes) {
		return b.bytes[begun:], nil
	}
	return nil, ErrDamaged
}
