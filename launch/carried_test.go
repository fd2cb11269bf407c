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

func inSymbols(cubin []byte, at int) bool {
	for _, s := range cubinSections(cubin) {
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
	cubin := kernelFile(f, "saxpy_carried.cubin")
	f.Add(cubin)
	f.Add(fatbin(cubin, cubin))
	f.Add(kernelFile(f, "saxpy_carried.ptx"))
	f.Fuzz(func(t *testing.T, image []byte) {
		for kernel, texts := range carriedBy(image) {
			for _, text := range texts {
				if !bytes.Contains(image, []byte(carriedPrefix+kernel)) || bytes.IndexByte([]byte(text), 0) >= 0 {
					t.Fatalf("%q: %q", kernel, text)
				}
			}
			_, _ = carriedBy(image).prototype(kernel)
		}
	})
}
