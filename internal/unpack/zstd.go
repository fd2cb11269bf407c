package unpack

import "encoding/binary"

// What RFC 8878 limits.
const (
	zstdMagic = 0xfd2fb528
	mostBlock = 128 << 10 // bytes that a block becomes, or is packed in
)

// frame is a zstd frame that is unpacked, with what its blocks leave to the next.
type frame struct {
	out     []byte
	size    int
	codes   *prefixCodes
	tables  [3]*stateTable // of literal lengths, offsets, match lengths
	offsets [3]int         // that were used last
}

// Zstd unpacks a frame that becomes size bytes. A checksum, which fatbinary does
// not write, is passed over.
func Zstd(packed []byte, size int) ([]byte, error) {
	rest, checksum, err := frameHeader(packed, size)
	if err != nil {
		return nil, err
	}
	f := &frame{size: size, offsets: [3]int{1, 4, 8}}
	for last := false; !last; {
		if len(rest) < 3 {
			return nil, ErrDamaged
		}
		header := int(rest[0]) | int(rest[1])<<8 | int(rest[2])<<16
		last = header&1 != 0
		if rest, err = f.block(header>>1&3, header>>3, rest[3:]); err != nil {
			return nil, err
		}
	}
	if len(f.out) != size || len(rest) != checksum {
		return nil, ErrDamaged
	}
	return f.out, nil
}

// frameHeader gives what is behind it, and how many bytes the checksum has there.
func frameHeader(packed []byte, size int) (rest []byte, checksum int, err error) {
	if len(packed) < 6 || binary.LittleEndian.Uint32(packed) != zstdMagic {
		return nil, 0, ErrDamaged
	}
	const reserved, dictionary, hasChecksum, single = 1 << 3, 3, 1 << 2, 1 << 5
	flags, rest := packed[4], packed[5:]
	if flags&(reserved|dictionary) != 0 {
		return nil, 0, ErrDamaged
	}
	sizeBytes := []int{0, 2, 4, 8}[flags>>6]
	if flags&single == 0 {
		rest = rest[1:] // the window, which is nothing to one who keeps everything
	} else {
		sizeBytes = max(1, sizeBytes)
	}
	if len(rest) < sizeBytes {
		return nil, 0, ErrDamaged
	}
	if sizeBytes > 0 {
		var field [8]byte
		copy(field[:], rest[:sizeBytes])
		said := binary.LittleEndian.Uint64(field[:])
		if sizeBytes == 2 {
			said += 256
		}
		if said != uint64(size) {
			return nil, 0, ErrDamaged
		}
	}
	if flags&hasChecksum != 0 {
		checksum = 4
	}
	return rest[sizeBytes:], checksum, nil
}

// block unpacks one, and gives what is behind it.
func (f *frame) block(kind, size int, packed []byte) ([]byte, error) {
	const plain, repeated, compressed = 0, 1, 2
	inFile := size
	if kind == repeated {
		inFile = 1
	}
	if size > mostBlock || inFile > len(packed) || kind != compressed && size > f.size-len(f.out) {
		return nil, ErrDamaged
	}
	content, rest := packed[:inFile], packed[inFile:]
	switch kind {
	case plain:
		f.out = append(f.out, content...)
	case repeated:
		for range size {
			f.out = append(f.out, content[0])
		}
	case compressed:
		literals, sequences, err := f.literals(content)
		if err != nil {
			return nil, err
		}
		return rest, f.sequences(literals, sequences)
	default:
		return nil, ErrDamaged
	}
	return rest, nil
}
