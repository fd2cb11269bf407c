package prototype_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/dlpack"
	. "dlaunch/launch/prototype"
)

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     false,
		"saxpy":                                false,
		"saxpy(":                               false,
		"()":                                   true,
		"( )":                                  true,
		"saxpy()":                              true,
		"saxpy(a: f32)":                        true,
		"saxpy ( a : f32 )":                    true,
		"saxpy(\n\ta: f32\n)\n":                true,
		"(a: f32)":                             true,
		"saxpy(a: f32":                         false,
		"saxpy(a: f32) x":                      false,
		"a: f32)":                              false,
		")":                                    false,
		"f<float, 3>":                          false,
		"f(float*)":                            false,
		"f(float)":                             false,
		"f(unsigned int)":                      false,
		"f(ns::vec)":                           false,
		"f(ns :: vec)":                         false,
		"f(::vec)":                             false,
		"f(float (*)(int))":                    false,
		"f<float, 3>(x: f32[n])":               true,
		"f(int)::g()":                          true,
		"f(x: bytes(8, 8), y: f32)":            true,
		"f(x: i64 = stride(y, 0), y: f32[n])":  true,
		"f(x: f32[n], s: ptr = scratch(8, 8))": true,
		"f(3: f32)":                            false,
		"_Z4addfPKfS0_":                        false,
		"name$with.dots(a: f32)":               true,
	} {
		require.Equal(t, want, Is(text), "%q", text)
	}
}

func TestParseScalars(t *testing.T) {
	// Every name of the public list, with its DLPack code and bits.
	for name, want := range map[string]dlpack.DataType{
		"bool": {Code: 6, Bits: 8}, "i8": {Bits: 8}, "i16": {Bits: 16}, "i32": {Bits: 32}, "i64": {Bits: 64},
		"u8": {Code: 1, Bits: 8}, "u16": {Code: 1, Bits: 16}, "u32": {Code: 1, Bits: 32}, "u64": {Code: 1, Bits: 64},
		"f16": {Code: 2, Bits: 16}, "f32": {Code: 2, Bits: 32}, "f64": {Code: 2, Bits: 64}, "bf16": {Code: 4, Bits: 16},
		"c32": {Code: 5, Bits: 32}, "c64": {Code: 5, Bits: 64}, "c128": {Code: 5, Bits: 128},
		"f8e3m4": {Code: 7, Bits: 8}, "f8e4m3": {Code: 8, Bits: 8}, "f8e4m3b11fnuz": {Code: 9, Bits: 8},
		"f8e4m3fn": {Code: 10, Bits: 8}, "f8e4m3fnuz": {Code: 11, Bits: 8}, "f8e5m2": {Code: 12, Bits: 8},
		"f8e5m2fnuz": {Code: 13, Bits: 8}, "f8e8m0fnu": {Code: 14, Bits: 8}, "f6e2m3fn": {Code: 15, Bits: 6},
		"f6e3m2fn": {Code: 16, Bits: 6}, "f4e2m1fn": {Code: 17, Bits: 4},
	} {
		want.Lanes = 1
		p, err := Parse("k(x: " + name + "[])")
		require.NoError(t, err)
		require.Equal(t, Scalar{Type: want}, p.Params[0].Scalar)
		if want.Bits >= 8 {
			p, err = Parse("k(x: " + name + ")")
			require.NoError(t, err)
			require.False(t, p.Params[0].Tensor)
		}
	}
	p, err := Parse("k(a: b32, b: b64[n], c: any[])")
	require.NoError(t, err)
	require.Equal(t, Scalar{Wildcard: Width, Type: dlpack.DataType{Bits: 32, Lanes: 1}}, p.Params[0].Scalar)
	require.Equal(t, Scalar{Wildcard: Width, Type: dlpack.DataType{Bits: 64, Lanes: 1}}, p.Params[1].Scalar)
	require.Equal(t, Scalar{Wildcard: Anything}, p.Params[2].Scalar)
}

func f32() Scalar { return Scalar{Type: dlpack.DataType{Code: 2, Bits: 32, Lanes: 1}} }
func f16() Scalar { return Scalar{Type: dlpack.DataType{Code: 2, Bits: 16, Lanes: 1}} }
func i32() Scalar { return Scalar{Type: dlpack.DataType{Code: 0, Bits: 32, Lanes: 1}} }
func i64() Scalar { return Scalar{Type: dlpack.DataType{Code: 0, Bits: 64, Lanes: 1}} }

func named(name string, size int) Dim { return Dim{Kind: Named, Name: name, Size: size} }

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text string
		want Prototype
	}{
		{"saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)", Prototype{Name: "saxpy", Sizes: []string{"n"}, Params: []Param{
			{Name: "a", Column: 7, Scalar: f32()},
			{Name: "x", Column: 15, Scalar: f32(), Tensor: true, Dims: []Dim{named("n", 0)}},
			{Name: "y", Column: 26, Mode: InOut, Scalar: f32(), Tensor: true, Dims: []Dim{named("n", 0)}},
			{Name: "n", Column: 43, Scalar: i64(), Fill: &Expr{Column: 52, Factors: []Factor{{Kind: Size, Name: "n", Column: 52}}}},
		}}},
		{"gemm(a: f16[m,k] @strided, lda: i32 = stride(a,0), c: out f32[m,3])", Prototype{Name: "gemm", Sizes: []string{"m", "k"}, Params: []Param{
			{Name: "a", Column: 6, Scalar: f16(), Tensor: true, Dims: []Dim{named("m", 0), named("k", 1)}, Attrs: Attrs{Strided: true}},
			{Name: "lda", Column: 28, Scalar: i32(), Fill: &Expr{Column: 39, Factors: []Factor{{Kind: Stride, Name: "a", Column: 46}}}},
			{Name: "c", Column: 52, Mode: Out, Scalar: f32(), Tensor: true, Dims: []Dim{named("m", 0), {Kind: Fixed, Extent: 3}}},
		}}},
		{"(state: inout any[...], p: bytes(24,8), tmap: bytes(128,64), q: bytes(12), raw: ptr)", Prototype{Params: []Param{
			{Name: "state", Column: 2, Mode: InOut, Scalar: Scalar{Wildcard: Anything}, Tensor: true, OpenRank: true},
			{Name: "p", Column: 25, Bytes: Bytes{24, 8}},
			{Name: "tmap", Column: 41, Bytes: Bytes{128, 64}},
			{Name: "q", Column: 62, Bytes: Bytes{12, 4}},
			{Name: "raw", Column: 76, Pointer: true},
		}}},
		{"k(x: in f32[..., _, n]? @align(16) @peer, b: i32, m: i32 @multiple(8), v: i64 = -2*b*stride(y,1), y: any[2,n] @fortran @view, s: ptr = scratch(64,16))",
			Prototype{Name: "k", Sizes: []string{"n"}, Params: []Param{
				{Name: "x", Column: 3, Scalar: f32(), Tensor: true, OpenRank: true, Nullable: true, Dims: []Dim{{Kind: Free}, named("n", 0)}, Attrs: Attrs{Align: 16, Peer: true}},
				{Name: "b", Column: 43, Scalar: i32()},
				{Name: "m", Column: 51, Scalar: i32(), Attrs: Attrs{Multiple: 8}},
				{Name: "v", Column: 72, Scalar: i64(), Fill: &Expr{Negative: true, Column: 81, Factors: []Factor{
					{Kind: Number, Value: 2, Column: 82}, {Kind: Parameter, Name: "b", Index: 1, Column: 84}, {Kind: Stride, Name: "y", Index: 4, Axis: 1, Column: 93}}}},
				{Name: "y", Column: 99, Scalar: Scalar{Wildcard: Anything}, Tensor: true, Dims: []Dim{{Extent: 2}, named("n", 0)}, Attrs: Attrs{Fortran: true, View: true}},
				{Name: "s", Column: 127, Pointer: true, Fill: &Expr{Column: 136, Factors: []Factor{{Kind: Scratch, Value: 64, Align: 16, Column: 136}}}},
			}}},
	} {
		p, err := Parse(test.text)
		require.NoError(t, err, test.text)
		require.Equal(t, &test.want, p, test.text)
	}
}

// Texts that must be taken: those of the design, and real kernels'.
var good = []string{
	"saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)",
	"gemm(a: f16[m,k] @strided, lda: i32 = stride(a,0), b: f16[k,n], c: out f32[m,n], m: i32 = m, n: i32 = n, k: i32 = k)",
	"softmax(y: out bf16[rows,cols] @view, x: bf16[rows,cols] @view, mask: bool[cols]?, scale: f32)",
	"fill(dst: out b32[n], value: b32, n: u64 = n)",
	"step(state: inout any[...], p: bytes(24,8), tmap: bytes(128,64), seed: u64)",
	"triton_add(x: f32[n] @align(16), y: f32[n] @align(16), z: out f32[n], n: i32 = n, scratch: ptr = 0, prof: ptr = 0)",
	"triton_add(x: f32[n] @align(16), y: f32[n] @align(16), z: out f32[n] @align(16), n: i32 = n, scratch: ptr = 0, prof: ptr = 0)",
	"()", "k()", " k ( ) ", "k(x: f32[])", "k(x: f32[0])", "k(x: f32[_,_])", "k(x: f32[...,n])",
	"_Z14template_scaleIfLi3EEvPT_i(x: inout f32[n], n: i32 = n)",
	"$x.y%z(a: i8)", "scale<float, 3>(x: f32[n])", "(anonymous namespace)::k(x: ptr)", "f(int)::g()",
	"(x_meminfo: ptr = 0, x_nitems: i64 = n, x_itemsize: i64 = 4, x: in f32[n], x_shape: i64 = n, x_stride: i64 = 4)",
	"strided_copy(src: f32[n] @strided, src_stride: i64 = stride(src, 0), dst: inout f32[n] @strided, n: i32 = n)",
	"stride(stride: f32[scratch], scratch: i32 = scratch, in: i32, out: i32 = in)", // words are words only where they mean something
	"k(n: i64, x: f32[n], m: i64 = n)",
	"k(x: f32[n], flag: bool = 1, h: f16 = 65504, b: bf16 = -256, f: f32 = 16777216, w: b8 = 255, v: b8 = -128, z: i64 = -9223372036854775807)",
	"k(x: f32[9223372036854775807], p: ptr = 4096, t: i32 @multiple(16) = 32)",
	"k(a: f32[...,n], ld: i64 = stride(a,0))",
	"k(x: f32[n] @numba @strided, y: f32[n] @view @strided)",
}

func TestRoundTrip(t *testing.T) {
	for _, text := range good {
		checkRoundTrip(t, text)
	}
}

func checkRoundTrip(t *testing.T, text string) {
	t.Helper()
	first, err := Parse(text)
	require.NoError(t, err, text)
	canonical := first.String()
	second, err := Parse(canonical)
	require.NoError(t, err, "%s\n%s", text, canonical)
	require.Equal(t, canonical, second.String())
	require.True(t, Is(canonical), canonical)
	require.Equal(t, withoutColumns(first), withoutColumns(second), "%s\n%s", text, canonical)
}

func withoutColumns(p *Prototype) *Prototype {
	for i := range p.Params {
		p.Params[i].Column = 0
		if e := p.Params[i].Fill; e != nil {
			e.Column = 0
			for j := range e.Factors {
				e.Factors[j].Column = 0
			}
		}
	}
	return p
}

func TestString(t *testing.T) {
	for text, want := range map[string]string{
		" k ( x :in f32 [ ... , n ,3,_ ] ?  @align( 16 )@peer@strided,\n b:bytes ( 12 ),n:i32=-  2 *n2 , n2 :  i32 @multiple(4) )": "k(x: f32[...,n,3,_]? @strided @peer @align(16), b: bytes(12,4), n: i32 = -2*n2, n2: i32 @multiple(4))",
		"(p:ptr=scratch ( 8 , 8 ))":                                   "(p: ptr = scratch(8,8))",
		"k(y:out f64[]@fortran, s:i64=stride( z,1 ),z:u8[a,b]@numba)": "k(y: out f64[] @fortran, s: i64 = stride(z,1), z: u8[a,b] @numba)",
	} {
		p, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, p.String())
	}
}

func TestConstant(t *testing.T) {
	for text, want := range map[string]struct {
		product int64
		only    bool
	}{"k(v: i64 = 6)": {6, true}, "k(v: i64 = -2*3)": {-6, true}, "k(v: i64 = -2*n*5, x: f32[n])": {-10, false}, "k(v: i64 = n, x: f32[n])": {1, false}} {
		p, err := Parse(text)
		require.NoError(t, err)
		product, only := p.Params[0].Fill.Constant()
		require.Equal(t, want.product, product)
		require.Equal(t, want.only, only)
	}
}

func TestAgree(t *testing.T) {
	p, err := Parse("saxpy(a: f32)")
	require.NoError(t, err)
	require.NoError(t, p.Agree("saxpy"))
	require.EqualError(t, p.Agree("daxpy"), `prototype, column 1: it is of the kernel "saxpy"; the call is for "daxpy"`)
	p, err = Parse("(a: f32)")
	require.NoError(t, err)
	require.NoError(t, p.Agree("daxpy"))
}
