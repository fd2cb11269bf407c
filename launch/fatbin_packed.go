package launch

import (
	"dlaunch/internal/status"
	"dlaunch/internal/unpack"
)

// How members are packed: flags in their headers.
const (
	packedLZ4  = 0x2000 // CUDA 11, and --compress-mode=speed since
	packedZstd = 0x8000
	packedAny  = 0xf000
	scrambled  = 0x10000 // LTO IR
)

// content gives a member unpacked; nothing, and no error, if only the driver can
// tell what is in it.
func (m *member) content() ([]byte, error) {
	const mostBytes = 1 << 30
	compressed := m.packing&packedAny != 0
	switch {
	case uint64(m.packed) > uint64(len(m.bytes)) || compressed != (m.packed > 0):
		return nil, status.Errorf(status.Image, "the fatbin is damaged: of a member's %d bytes, %d are said to be compressed, and its flags are %#x",
			len(m.bytes), m.packed, m.packing)
	case m.packing&scrambled != 0:
		return nil, nil
	case !compressed:
		return m.bytes, nil
	case m.whole > mostBytes:
		return nil, status.Errorf(status.Image, "the fatbin is damaged: a member is said to become %d bytes; at most %d are taken", m.whole, mostBytes)
	}
	var content []byte
	var err error
	switch packed, size := m.bytes[:m.packed], int(m.whole); {
	case m.packing&packedZstd != 0:
		content, err = unpack.Zstd(packed, size)
	case m.packing&packedLZ4 != 0:
		content, err = unpack.LZ4(packed, size)
	}
	if err != nil {
		return nil, status.Errorf(status.Image, "the fatbin is damaged: a member's %d compressed bytes do not become %d, as its header says", m.packed, m.whole)
	}
	return content, nil
}
