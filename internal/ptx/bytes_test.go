package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	text := []byte(`.version 9.0
.target sm_75
// .global .b8 t_comment[2] = {65, 66};
.global .align 1 .b8 t_first[6] = {97, 98, 0x63, 0, 100};
.visible .const .align 4 .b8 t_const[2] = {0x41U, 66};
.visible .global .u8 t_unsigned[] = {67};
.extern .global .b8 t_extern[4];
.global .b8 t_zeros[4];
.global .b8 t_empty[1] = {};
.global .b8 t_scalar = 65;
.global .b32 t_words[2] = {65, 66};
.global .u64 t_address[1] = {t_first};
.global .align 8 .b8 t_pointer[8] = {0xFF(t_first), 0xFF00(t_first)};
.global .b8 t_negative[1] = {-1};
.global .b8 t_large[1] = {256};
.global .b8 t_nested[2][2] = {{65, 66}, {67, 68}};
.global .b8 another[2] = {65, 66};
.visible .entry k(.param .u64 k_param_0) { .global .b8 t_inside[1] = {65}; ret; }
.global .b8 t_last[2] = {33, 10};
.global .b8 t_cut[9] = {33, `)
	require.Equal(t, map[string]string{
		"t_first": "abc", "t_const": "AB", "t_unsigned": "C", "t_empty": "", "t_last": "!\n",
	}, Bytes(text, "t_"))
	require.Equal(t, map[string]string{"another": "AB"}, Bytes(text, "another"))
	require.Empty(t, Bytes([]byte(".global .b8 a[2] = {1,"+strings.Repeat("1,", mostText)+"1};"), "a"))
}

func TestBytesOfARealCompiler(t *testing.T) {
	require.Equal(t, map[string]string{
		"dlaunch_prototype_saxpy_carried": "(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)",
	}, Bytes(corpus(t)["saxpy_carried.ptx"], "dlaunch_prototype_"))
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte(".global .align 1 .b8 a[3] = {97, 0x62, 0};"))
	f.Add([]byte(".const .b8 a[] = {}; .global .b8 a[1] = {1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, value := range Bytes(text, "a") {
			if !strings.HasPrefix(name, "a") || strings.Contains(value, "\x00") || len(value) > mostText {
				t.Fatalf("%s: %q", name, value)
			}
		}
	})
}
