package unpack

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// reference has the standard library unpack zstd, which it does only in sections
// of ELF files.
func reference(packed []byte, size int) ([]byte, error) {
	const section, content, file = 64, 128, 152
	word, image := binary.LittleEndian, make([]byte, file)
	copy(image, "\x7fELF\x02\x01\x01")
	word.PutUint16(image[16:], uint16(elf.ET_REL))
	word.PutUint32(image[20:], uint32(elf.EV_CURRENT))
	word.PutUint64(image[40:], section)
	word.PutUint16(image[52:], 64)
	word.PutUint16(image[58:], 64)
	word.PutUint16(image[60:], 1)
	word.PutUint32(image[section+4:], uint32(elf.SHT_PROGBITS))
	word.PutUint64(image[section+8:], uint64(elf.SHF_COMPRESSED))
	word.PutUint64(image[section+24:], content)
	word.PutUint64(image[section+32:], uint64(file-content+len(packed)))
	word.PutUint32(image[content:], uint32(elf.COMPRESS_ZSTD))
	word.PutUint64(image[content+8:], uint64(size))
	f, err := elf.NewFile(bytes.NewReader(append(image, packed...)))
	if err != nil {
		return nil, err
	}
	unpacked, err := io.ReadAll(io.LimitReader(f.Sections[0].Open(), int64(size)+1))
	if err == nil && len(unpacked) != size {
		err = io.ErrUnexpectedEOF
	}
	return unpacked, err
}

// frames gives zstd frames that fatbinary made, and what they become.
func frames(t testing.TB) map[string]int {
	found := map[string]int{}
	for _, file := range []string{"callee.o", "caller.o", "whole.o", "whole.fatbin"} {
		image, err := os.ReadFile("../../testdata/linking/" + file)
		require.NoError(t, err)
		for at := range image {
			if !bytes.HasPrefix(image[at:], []byte{0x28, 0xb5, 0x2f, 0xfd}) {
				continue
			}
			for header := 64; header < 128; header += 8 { // the member's, somewhere before
				if m := image[at-header:]; binary.LittleEndian.Uint16(m[2:]) == 0x101 && int(binary.LittleEndian.Uint32(m[4:])) == header {
					found[string(image[at:][:binary.LittleEndian.Uint32(m[16:])])] = int(binary.LittleEndian.Uint64(m[56:]))
				}
			}
		}
	}
	require.GreaterOrEqual(t, len(found), 5)
	return found
}

func TestZstd(t *testing.T) {
	for packed, size := range frames(t) {
		want, err := reference([]byte(packed), size)
		require.NoError(t, err)
		got, err := Zstd([]byte(packed), size)
		require.NoError(t, err)
		require.Equal(t, want, got)
		for _, wrong := range []int{0, size - 1, size + 1} {
			_, err := Zstd([]byte(packed), wrong)
			require.ErrorIs(t, err, ErrDamaged)
		}
	}
}

// words.zst is what zstd -19 made of this text, in several blocks.
func TestZstdOfManyBlocks(t *testing.T) {
	var text []byte
	words, x := []string{"tensor ", "of ", "threads, ", "grid\n"}, uint32(1)
	for range 50000 {
		x = x*1103515245 + 12345
		text = append(text, words[x>>16&3]...)
	}
	packed, err := os.ReadFile("testdata/words.zst")
	require.NoError(t, err)
	got, err := Zstd(packed, len(text))
	require.NoError(t, err)
	require.True(t, bytes.Equal(text, got))
	for end := 0; end < len(packed); end += 61 {
		_, err := Zstd(packed[:end], len(text))
		require.ErrorIs(t, err, ErrDamaged)
	}
}

// FuzzZstd says what the standard library says, of what it takes.
func FuzzZstd(f *testing.F) {
	for packed, size := range frames(f) {
		f.Add([]byte(packed), size)
	}
	for _, packed := range []string{
		"\x28\xb5\x2f\xfd\x20\x03\x19\x00\x00abc",              // bytes as they are
		"\x28\xb5\x2f\xfd\x20\x08\x43\x00\x00x",                // one of them, repeated
		"\x28\xb5\x2f\xfd\x24\x03\x19\x00\x00abc\x99\xe9\xd8D", // with a checksum
		"\x28\xb5\x2f\xfd\x00\x58\x19\x00\x00abc",              // with a window
	} {
		f.Add([]byte(packed), 8)
		f.Add([]byte(packed), 3)
	}
	f.Fuzz(func(t *testing.T, packed []byte, size int) {
		if size < 0 || size > 1<<20 {
			return
		}
		got, err := Zstd(packed, size)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		require.Len(t, got, size)
		if want, err := reference(packed, size); err == nil {
			require.True(t, bytes.Equal(want, got))
		}
	})
}

func TestLZ4(t *testing.T) {
	for name, c := range map[string]struct{ packed, whole string }{
		"nothing":           {"", ""},
		"bytes":             {"\x30abc", "abc"},
		"a copy":            {"\x32abc\x03\x00\x10d", "abcabcabcd"},
		"one byte repeated": {"\x1fa\x01\x00\x00\x00", "aaaaaaaaaaaaaaaaaaaa"},
		"a long beginning":  {"\xf0\x02abcdefghijklmnopq", "abcdefghijklmnopq"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LZ4([]byte(c.packed), len(c.whole))
			require.NoError(t, err)
			require.Equal(t, c.whole, string(got))
			for _, wrong := range []int{len(c.whole) - 1, len(c.whole) + 1} {
				_, err := LZ4([]byte(c.packed), wrong)
				require.ErrorIs(t, err, ErrDamaged)
			}
		})
	}
	for name, packed := range map[string]string{
		"a step cut short": "\x40abc", "a copy cut short": "\x32abc\x03", "from before the beginning": "\x32abc\x04\x00",
		"from nowhere": "\x32abc\x00\x00", "a length without end": "\xf0\xff\xff",
	} {
		_, err := LZ4([]byte(packed), 9)
		require.ErrorIs(t, err, ErrDamaged, name)
	}
}
