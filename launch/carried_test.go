package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/status"
)

func kernelFile(t testing.TB, name string) []byte {
	image, err := os.ReadFile("../testdata/kernels/" + name)
	require.NoError(t, err)
	return image
}

// fatbin puts images together as fatbinary does.
func fatbin(members ...[]byte) []byte {
	var body []byte
	for _, m := range members {
		header := make([]byte, 64)
		binary.LittleEndian.PutUint16(header, 2) // ELF
		binary.LittleEndian.PutUint32(header[4:], uint32(len(header)))
		binary.LittleEndian.PutUint64(header[8:], uint64(len(m)))
		body = append(append(body, header...), m...)
	}
	header := append(bytes.Clone(fatbinMagic), 1, 0, fatbinHeaderBytes, 0)
	return append(binary.LittleEndian.AppendUint64(header, uint64(len(body))), body...)
}

// compressed makes a fatbin of one member, an LZ4 block that has it as it is.
func compressed(m []byte) []byte {
	block := []byte{0xf0}
	for left := len(m) - 15; ; left -= 255 {
		block = append(block, byte(min(left, 255)))
		if left < 255 {
			break
		}
	}
	block = append(block, m...)
	whole := fatbin(block)
	header := whole[fatbinHeaderBytes:]
	binary.LittleEndian.PutUint32(header[16:], uint32(len(block)))
	binary.LittleEndian.PutUint32(header[40:], packedLZ4)
	binary.LittleEndian.PutUint64(header[56:], uint64(len(m)))
	return whole
}

// smallCubin is as little of one as there can be: a symbol dlaunch_prototype_k of
// size bytes at an offset of a section at address, which holds "-(a: f32)\x00-".
func smallCubin(kind uint32, address, offset, size uint64) []byte {
	const names, content = "\x00dlaunch_prototype_k\x00", "-(a: f32)\x00-"
	symbols := make([]byte, 48) // the first is none
	binary.LittleEndian.PutUint32(symbols[24:], 1)
	symbols[28] = symbolObject
	binary.LittleEndian.PutUint16(symbols[30:], 3)
	binary.LittleEndian.PutUint64(symbols[32:], offset)
	binary.LittleEndian.PutUint64(symbols[40:], size)
	image := append(bytes.Clone(elfMagic), make([]byte, elfHeaderBytes-len(elfMagic))...)
	var headers []byte
	for _, part := range []struct {
		kind    uint32
		address uint64
		bytes   []byte
		link    uint32
	}{{}, {2, 0, symbols, 2}, {3, 0, []byte(names), 0}, {kind, address, []byte(content), 0}} {
		header := make([]byte, 64)
		binary.LittleEndian.PutUint32(header[4:], part.kind)
		binary.LittleEndian.PutUint64(header[16:], part.address)
		binary.LittleEndian.PutUint64(header[24:], uint64(len(image)))
		binary.LittleEndian.PutUint64(header[32:], uint64(len(part.bytes)))
		binary.LittleEndian.PutUint32(header[40:], part.link)
		headers, image = append(headers, header...), append(image, part.bytes...)
	}
	binary.LittleEndian.PutUint64(image[40:], uint64(len(image)))
	binary.LittleEndian.PutUint16(image[58:], 64)
	binary.LittleEndian.PutUint16(image[60:], 4)
	return append(image, headers...)
}

func TestWhereSymbolsLie(t *testing.T) {
	const data, nothing = 1, 8
	for name, c := range map[string]struct {
		kind                  uint32
		address, offset, size uint64
		found                 carried
	}{
		"all of it":             {data, 0, 1, 9, carried{"k": {"(a: f32)"}}},
		"without the end":       {data, 0, 1, 8, carried{"k": {"(a: f32)"}}},
		"with more":             {data, 0, 1, 10, carried{"k": {"(a: f32)"}}},
		"of a placed section":   {data, 0x1000, 0x1001, 9, carried{"k": {"(a: f32)"}}},
		"before its section":    {data, 0x1000, 1, 9, carried{}},
		"past its section":      {data, 0, 12, 1, carried{}},
		"longer than it":        {data, 0, 1, 11, carried{}},
		"longer than all":       {data, 0, 1, ^uint64(0), carried{}},
		"with nothing in it":    {nothing, 0, 1, 9, carried{}},
		"of no size, no text":   {data, 0, 1, 0, carried{"k": {""}}},
		"at the end of 64 bits": {data, 0, ^uint64(0), 1, carried{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.found, carriedBy(smallCubin(c.kind, c.address, c.offset, c.size)))
		})
	}
}

// The text as the kernel's source has it.
const saxpyCarried = "(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"

func TestCarriedPrototypesAreFound(t *testing.T) {
	cubin, text := kernelFile(t, "saxpy_carried.cubin"), kernelFile(t, "saxpy_carried.ptx")
	other := bytes.Replace(cubin, []byte("(a: f32, x"), []byte("(b: f32, x"), 1)
	one := carried{"saxpy_carried": {saxpyCarried}}
	for name, c := range map[string]struct {
		image []byte
		found carried
	}{
		"PTX":                              {text, one},
		"PTX that ends in NUL":             {append(bytes.Clone(text), 0, 0), one},
		"PTX that has none":                {kernelFile(t, "saxpy.ptx"), carried{}},
		"PTX that mentions one":            {[]byte(".version 8.0 // dlaunch_prototype_saxpy"), carried{}},
		"a cubin":                          {cubin, one},
		"a fatbin of cubins that agree":    {fatbin(cubin, cubin), one},
		"a fatbin of cubins that do not":   {fatbin(cubin, other), carried{"saxpy_carried": {saxpyCarried, "(b" + saxpyCarried[2:]}}},
		"a fatbin of a cubin and PTX":      {fatbin(cubin, text), one},
		"a fatbin that holds what is none": {fatbin([]byte("dlaunch_prototype_"), cubin), one},
		"a fatbin of a compressed cubin":   {compressed(cubin), one},
		"a fatbin in a fatbin":             {fatbin(fatbin(cubin)), carried{}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.found, carriedBy(c.image)) })
	}
}

// Wherever a cubin is cut, or whatever its headers say, nothing is read outside.
func TestBrokenCubinsAreReadWithinTheirBounds(t *testing.T) {
	cubin := kernelFile(t, "saxpy_carried.cubin")
	for end := range cubin {
		carriedBy(cubin[:end:end])
		carriedBy(fatbin(cubin)[:end:end])
	}
	sections := binary.LittleEndian.Uint64(cubin[40:])
	for at := range cubin {
		if at >= elfHeaderBytes && uint64(at) < sections && !inSymbols(cubin, at) {
			continue
		}
		for _, value := range []byte{0, 1, 0x7f, 0xff} {
			broken := bytes.Clone(cubin)
			broken[at] = value
			carriedBy(broken)
		}
	}
}

func carriedBy(image []byte) carried {
	c := newContents()
	c.read(image)
	return c.carried
}

func inSymbols(cubin []byte, at int) bool {
	for _, s := range elfSections(cubin) {
		if offset := bytes.Index(cubin, s.bytes); s.kind == 2 && at >= offset && at < offset+len(s.bytes) {
			return true
		}
	}
	return false
}

func TestCarriedPrototypesThatCannotBe(t *testing.T) {
	for name, c := range map[string]struct {
		texts   []string
		message string
	}{
		"no prototype": {[]string{"saxpy"}, "kernel \"k\": the prototype that the image carries (DLAUNCH_PROTOTYPE) cannot be used; give one, or correct it: " +
			"prototype, column 6: \"(\" is wanted, the end found: a prototype is name(parameter: type, ...)\n  saxpy\n       ^"},
		"another kernel's": {[]string{"saxpy(a: f32)"}, "kernel \"k\": the prototype that the image carries (DLAUNCH_PROTOTYPE) cannot be used; give one, or correct it: " +
			"prototype, column 1: it is of the kernel \"saxpy\"; the call is for \"k\""},
		"two": {[]string{"k(a: f32)", "(a: f64)"}, "kernel \"k\": the image carries prototypes that differ: \"k(a: f32)\" and \"(a: f64)\"; give one"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := carried{"k": c.texts}.prototype("k")
			require.EqualError(t, err, c.message)
			var e *status.Error
			require.True(t, errors.As(err, &e))
			require.Equal(t, status.Prototype, e.Code)
		})
	}
	proto, err := carried{"k": {"k(a: f32)"}}.prototype("other")
	require.NoError(t, err)
	require.Nil(t, proto)
}

func FuzzCarried(f *testing.F) {
	small := smallCubin(1, 0, 1, 9)
	f.Add(small)
	f.Add(fatbin(small, small))
	f.Add([]byte(".version 8.0 .global .b8 dlaunch_prototype_k[2] = {40, 41};"))
	f.Add(kernelFile(f, "saxpy_carried.cubin"))
	f.Fuzz(func(t *testing.T, image []byte) {
		found := carriedBy(image)
		for kernel, texts := range found {
			for _, text := range texts {
				if !bytes.Contains(image, []byte(carriedPrefix+kernel)) || bytes.IndexByte([]byte(text), 0) >= 0 {
					t.Fatalf("%q: %q", kernel, text)
				}
			}
			_, _ = found.prototype(kernel)
		}
	})
}
