package ptx

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseReadsTheCorpus(t *testing.T) {
	for name, text := range corpus(t) {
		module, err := Parse(text)
		require.NoError(t, err, name)
		image, err := Inspect(text)
		require.NoError(t, err, name)
		var entries []Entry
		for _, f := range module.Functions {
			if f.Entry {
				entries = append(entries, Entry{f.Name, f.Line, f.Params, f.ParamsSize, f.ReqNTID, f.MaxNTID})
				require.NotEmpty(t, f.Instructions, name)
			}
		}
		require.Equal(t, image.Entries, entries, name)
	}
}

const header = ".version 8.0\n.target sm_80\n.address_size 64\n"

func TestParseResolvesNames(t *testing.T) {
	module, err := Parse([]byte(header + `.file 1 "k.cu"
.global .align 4 .b8 table[8] = {1, 0x2, 3};
.global .u64 where = table+4;
.func (.param .b32 r) f (.param .b32 a);
.entry k(.param .u64 p) {
  .reg .b32 %r<5>; .reg .pred %p<2>; .reg .v2 .f32 v;
  .shared .f64 s[3][2];
  .loc 1 12 3
again:
  @!%p1 bra done;
  ld.global.v2.b32 {%r1, _}, [%r2+-8];
  { .reg .b32 %r1; .param .b32 param0; 
    mov.b32 %r1, %tid.x;
    bra inner; inner: call.uni (param0), f, (param0); }
  setp.lt.and.f32 %p0|%p1, v.y, 1.5, !%p0;
  ld.param.u64 %r2, [p+4];
  mov.u64 %r2, table+3*(1+1);
  bra again;
done: ret;
}
`))
	require.NoError(t, err)
	require.Equal(t, []Initial{{Offset: 0, Size: 1, Bits: 1}, {Offset: 1, Size: 1, Bits: 2}, {Offset: 2, Size: 1, Bits: 3}}, module.Variables[0].Initial)
	require.Equal(t, []Initial{{Size: 8, Bits: 4, Symbol: "table"}}, module.Variables[1].Initial)
	k := module.Functions[1]
	require.Equal(t, uint64(48), k.Variables[0].Size)
	require.Equal(t, Source{"k.cu", 12}, k.Instructions[0].Source)
	i := k.Instructions
	require.Equal(t, "bra", i[0].Name)
	require.True(t, i[0].Guard.Negated)
	require.Equal(t, Operand{Kind: LabelOperand, Index: 9}, i[0].Operands[0])
	require.Equal(t, "ld.global.v2.b32", i[1].Text())
	require.Equal(t, int64(-8), i[1].Operands[1].Offset)
	outer, inner := i[1].Operands[0].Elements[0].Register, i[2].Operands[0].Register
	require.NotEqual(t, outer, inner, "an inner scope's register is another one")
	require.Equal(t, Operand{Kind: LabelOperand, Index: 4}, i[3].Operands[0])
	require.Equal(t, "f", i[4].Operands[1].Name)
	require.Equal(t, FunctionOperand, i[4].Operands[1].Kind)
	require.Equal(t, PairOperand, i[5].Operands[0].Kind)
	require.Equal(t, int8(1), i[5].Operands[1].Component)
	require.True(t, i[5].Operands[3].Negated)
	require.Equal(t, ParamOperand, i[6].Operands[1].Elements[0].Kind)
	require.Equal(t, int64(4), i[6].Operands[1].Offset)
	require.Equal(t, int64(6), i[7].Operands[1].Offset)
	require.Equal(t, Operand{Kind: LabelOperand, Index: 0}, i[8].Operands[0])
}

func TestParseRefuses(t *testing.T) {
	body := func(s string) string {
		return header + ".entry k() {\n.reg .b32 %r<4>; .reg .pred %p<2>;\n" + s + "\n}"
	}
	for name, c := range map[string]struct{ text, message string }{
		"empty":            {"", "PTX line 1: there is no .version, with which every PTX text begins"},
		"prose":            {header + "hello", "PTX line 4: \"hello\" stands where a directive is wanted: `hello`"},
		"32 bits":          {".version 8.0\n.address_size 32", "PTX line 2: addresses of 32 bits: only 64 are supported: `.address_size 32`"},
		"unknown label":    {body("bra nowhere;"), "PTX line 6: nowhere is not declared: `bra nowhere;`"},
		"label twice":      {body("a: ret;\na: ret;"), "PTX line 7: the label a stands twice: `a: ret;`"},
		"no semicolon":     {body("mov.u32 %r1, 1\nret;"), "PTX line 7: \"ret\" stands where a comma or a semicolon is wanted: `ret;`"},
		"no predicate":     {body("@%r1 ret;"), "PTX line 6: %r1 is not a predicate: `@%r1 ret;`"},
		"unfinished body":  {header + ".entry k() {\nret;", "PTX line 5: the text ends within the body of k: `ret;`"},
		"undeclared":       {body("mov.u32 %r3, table;"), "PTX line 6: table is not declared: `mov.u32 %r3, table;`"},
		"division by zero": {header + ".global .u32 a = 1/0;", "PTX line 4: division by zero: `.global .u32 a = 1/0;`"},
		"too much initial": {header + ".global .u8 a[2] = {1,2,3};", "PTX line 4: a has 2 bytes, its initial value 3: `.global .u8 a[2] = {1,2,3};`"},
		"deep":             {header + ".global .u32 a = " + strings.Repeat("(", 100), "PTX line 4: the expression is nested more than 64 deep: `.global .u32 a = " + strings.Repeat("(", 100) + "`"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			require.EqualError(t, err, c.message)
		})
	}
}

func TestParseMakesOnlyTheRegistersThatAreUsed(t *testing.T) {
	module, err := Parse([]byte(header + ".entry k() { .reg .b32 %r<99999999>; mov.b32 %r99999998, 1; ret; }"))
	require.NoError(t, err)
	require.Equal(t, []Register{{"%r99999998", ".b32", 0}}, module.Functions[0].Registers)
}

func TestConstants(t *testing.T) {
	for text, bits := range map[string]uint64{
		"1+2*3": 7, "(1+2)*3": 9, "-1": 1<<64 - 1, "~0": 1<<64 - 1, "0x10U": 16, "010": 8, "0b101": 5, "1<<4|1": 17,
		"7/2-7 % 2": 2, "1 ? 2 : 3": 2, "0x7fffffffffffffff": 1<<63 - 1, "!0": 1, "3>2": 1, "8>>1": 4, "2-1-1": 0,
	} {
		module, err := Parse([]byte(header + ".global .u64 a = " + text + ";"))
		require.NoError(t, err, text)
		require.Equal(t, bits, module.Variables[0].Initial[0].Bits, text)
	}
	for text, bits := range map[string]uint64{"1.5": 0x3fc00000, "-0f3F800000": 0xbf800000, "2": 0x40000000, "1e-1": 0x3dcccccd, "0d3FF8000000000000": 0x3fc00000} {
		module, err := Parse([]byte(header + ".global .f32 a = " + text + ";"))
		require.NoError(t, err, text)
		require.Equal(t, bits, module.Variables[0].Initial[0].Bits, text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range corpus(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		module, err := Parse(text)
		if err != nil {
			return
		}
		if _, err := module.Check(); err != nil {
			return
		}
		for _, function := range module.Functions {
			for _, i := range function.Instructions {
				for _, o := range i.Operands {
					if o.Kind == LabelOperand && (o.Name != "" || o.Index > len(function.Instructions)) {
						t.Fatalf("line %d: %q is not resolved", i.Line, o.Name)
					}
				}
			}
		}
	})
}

// NVRTC writes .file at the end of its text.
func TestFilesAreNamedAfterwards(t *testing.T) {
	m, err := Parse([]byte(".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n.loc 1 7 3\nret;\n}\n.file 1 \"/src/k.cu\"\n"))
	require.NoError(t, err)
	require.Equal(t, Source{File: "/src/k.cu", Line: 7}, m.Functions[0].Instructions[0].Source)
}
