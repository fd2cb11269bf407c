// Package unpack undoes what fatbinary packs images with: LZ4 blocks and zstd
// frames. It knows nothing of what is in them.
package unpack

import (
	"encoding/binary"
	"errors"
)

// ErrDamaged says that bytes do not unpack, or not to as many as was said.
var ErrDamaged = errors.New("the compressed bytes are damaged")

// LZ4 unpacks a block that becomes size bytes. It is a list of steps: bytes that
// stand there, then some that came before. The last step has only the former.
func LZ4(packed []byte, size int) ([]byte, error) {
	const fewestCopied = 4
	var out []byte
	for len(packed) > 0 {
		token := packed[0]
		plain, rest, whole := length(int(token>>4), packed[1:])
		if !whole || plain > len(rest) || plain > size-len(out) {
			return nil, ErrDamaged
		}
		out, packed = append(out, rest[:plain]...), rest[plain:]
		if len(packed) == 0 {
			break
		}
		if len(packed) < 2 {
			return nil, ErrDamaged
		}
		back := int(binary.LittleEndian.Uint16(packed))
		copied, rest, whole := length(int(token&15), packed[2:])
		copied += fewestCopied
		if !whole || back == 0 || back > len(out) || copied > size-len(out) {
			return nil, ErrDamaged
		}
		out, packed = repeat(out, back, copied), rest
	}
	if len(out) != size {
		return nil, ErrDamaged
	}
	return out, nil
}

// length reads the rest of a length, of which a token has room for up to 14.
func length(n int, packed []byte) (int, []byte, bool) {
	if n < 15 {
		return n, packed, true
	}
	for i, more := range packed {
		n += int(more)
		if more < 255 {
			return n, packed[i+1:], true
		}
	}
	return 0, nil, false
}

// repeat appends bytes that lie some way back, which may be among those that it appends.
func repeat(out []byte, back, count int) []byte {
	for count > back {
		out = append(out, out[len(out)-back:]...)
		count -= back
		back *= 2
	}
	from := len(out) - back
	return append(out, out[from:from+count]...)
}
