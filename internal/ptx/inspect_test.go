package ptx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func corpus(t testing.TB) map[string][]byte {
	paths, err := filepath.Glob("../../testdata/kernels/*.ptx")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(paths), 15)
	texts := map[string][]byte{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		texts[filepath.Base(path)] = text
	}
	return texts
}

func TestInspectFindsParametersWithTheirOffsets(t *testing.T) {
	image, err := Inspect(corpus(t)["saxpy.ptx"])
	require.NoError(t, err)
	require.Equal(t, Version{9, 0}, image.Version)
	require.Equal(t, "sm_75", image.Target)
	require.Len(t, image.Entries, 1)
	require.Equal(t, "saxpy", image.Entries[0].Name)
	require.Equal(t, []Param{
		{Name: "saxpy_param_0", Type: ".f32", Size: 4, Align: 4, Offset: 0},
		{Name: "saxpy_param_1", Type: ".u64", Size: 8, Align: 8, Offset: 8},
		{Name: "saxpy_param_2", Type: ".u64", Size: 8, Align: 8, Offset: 16},
		{Name: "saxpy_param_3", Type: ".u32", Size: 4, Align: 4, Offset: 24},
	}, image.Entries[0].Params)
	require.Equal(t, uint64(28), image.Entries[0].ParamsSize)
}

func TestInspectReadsHeadersInAllTheirForms(t *testing.T) {
	image, err := Inspect([]byte(`/* .entry no( */ // .entry neither(
.version 8.4
.target sm_90a, debug
.address_size 64
.global .b8 bytes[3] = {1, 2, 3};
.entry none { .reg .b32 %r<2>; { ret; } }
.func (.param .b32 r) f (.param .b32 a) { .pragma "}"; ret; }
.visible .entry e(.param .b8 small, .param .align 16 .b8 s[2][5], .param .u64 .ptr .global .align 1 p,
  .param .v2 .f32 v) .maxntid 16, 8 .reqntid 128 .minnctapersm 2 { ret; }
`))
	require.NoError(t, err)
	require.Equal(t, Version{8, 4}, image.Version)
	require.Equal(t, "sm_90a", image.Target)
	require.Equal(t, []Entry{
		{Name: "none", Line: 6},
		{Name: "e", Line: 8, ParamsSize: 48, MaxNTID: [3]uint32{16, 8, 1}, ReqNTID: [3]uint32{128, 1, 1}, Params: []Param{
			{Name: "small", Type: ".b8", Size: 1, Align: 1},
			{Name: "s", Type: ".b8", Size: 10, Align: 16, Offset: 16, Array: true},
			{Name: "p", Type: ".u64", Size: 8, Align: 8, Offset: 32},
			{Name: "v", Type: ".f32", Size: 8, Align: 8, Offset: 40},
		}},
	}, image.Entries)
}

func TestInspectRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, message string }{
		"nothing":           {"", "PTX: there is no .version, with which every PTX text begins"},
		"no version":        {".target sm_75", "PTX: there is no .version, with which every PTX text begins"},
		"bad version":       {".version nine", "PTX line 1: the version \"nine\" is not a number such as 9.0: `.version nine`"},
		"cut off":           {".version 9.0\n.entry k(.param .u64 a", "PTX line 2: \"\" stands after the parameter a, where a comma or a parenthesis is wanted: `.entry k(.param .u64 a`"},
		"unknown type":      {".version 9.0\n.entry k(.param .q7 a)", "PTX line 2: a parameter has no type that is known: `.entry k(.param .q7 a)`"},
		"alignment of 3":    {".version 9.0\n.entry k(.param .align 3 .b8 a[4])", "PTX line 2: the alignment \"3\" is not a power of two: `.entry k(.param .align 3 .b8 a[4])`"},
		"too many elements": {".version 9.0\n.entry k(.param .b8 a[9999999999][9999999999])", "PTX line 2: an array of 9999999999 times 9999999999 elements is too large: `.entry k(.param .b8 a[9999999999][9999999999])`"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Inspect([]byte(c.text))
			require.EqualError(t, err, c.message)
		})
	}
}

func TestInspectReadsTheCorpus(t *testing.T) {
	for name, text := range corpus(t) {
		image, err := Inspect(text)
		require.NoError(t, err, name)
		require.NotEmpty(t, image.Entries, name)
		require.True(t, IsPTX(text), name)
	}
	require.False(t, IsPTX([]byte("\x7fELF\x02\x01\x01\x00\x00.version")))
}

func FuzzInspect(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		image, err := Inspect(text)
		if err != nil {
			return
		}
		for _, entry := range image.Entries {
			end := uint64(0)
			for _, p := range entry.Params {
				if p.Offset < end || p.Offset%p.Align != 0 {
					t.Fatalf("%s lies at %d, after %d", p.Name, p.Offset, end)
				}
				end = p.Offset + p.Size
			}
		}
	})
}
