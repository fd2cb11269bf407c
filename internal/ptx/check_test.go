package ptx

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checked reads a kernel of one instruction.
func checked(version, instruction string) error {
	module, err := Parse([]byte(".version " + version + "\n.target sm_90\n.address_size 64\n.global .u32 g;\n.func f(.param .b32 x);\n.entry k(.param .u64 out) {\n" +
		".reg .pred %p<3>; .reg .b16 %rs<4>; .reg .f16 %h<2>; .reg .b32 %r<6>; .reg .u32 %u<2>; .reg .s32 %s<2>; .reg .f32 %f<5>; " +
		".reg .b64 %rd<5>; .reg .f64 %fd<4>; .reg .v2 .b32 %v;\n" + instruction + "\nhere: ret;\n}\n"))
	if err == nil {
		_, err = module.Check()
	}
	return err
}

// Each is one that ptxas 13.0 takes.
func TestCheckTakes(t *testing.T) {
	for _, instruction := range []string{
		"ld.global.u32 %r1, [%rd1];",
		"ld.u32.global %r1, [%rd1];", // in any order
		"ld.param.u64 %rd1, [out];",
		"ld.global.u8 %rs1, [%rd1];", // into what is wider
		"ld.global.s32 %rd2, [%rd1];",
		"ld.volatile.shared.f32 %f1, [%r1+4];",
		"ld.relaxed.gpu.global.L1::no_allocate.L2::128B.v2.f32 {%f1, _}, [%rd1];",
		"ld.global.nc.L2::cache_hint.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1], %rd2;",
		"ld.global.v2.b32 %v, [%rd1];",
		"st.global.b32 [%rd1], {%r1};",
		"st.global.b32 [%rd1], %f1;", // bits of whatever is as wide
		"st.global.f32 [g], 1.0;",
		"mov.u32 %r1, %tid.x;",
		"mov.u16 %rs1, %ctaid.y;",
		"mov.u64 %rd1, %globaltimer;",
		"mov.u32 %r1, %envreg31;",
		"mov.u32 %r1, %pm7;",
		"mov.pred %p1, %is_explicit_cluster;",
		"mov.u64 %rd1, g;",
		"mov.b32 %r1, 0f3F800000;",
		"mov.b32 %f1, %r1;",
		"mov.f32 %f1, %r1;",
		"mov.b64 {%r1, %r2}, %rd1;",
		"mov.b32 %r1, {%rs1, %rs2};",
		"mov.u32 %r1, WARP_SZ;",
		"add.s32 %r1, %u1, %s1;", // signs do not count
		"add.cc.u32 %r1, %r2, 1;",
		"add.rn.ftz.sat.f32 %f1, %r2, %f3;",
		"add.f16 %h1, %h1, %rs1;",
		"mul.wide.s32 %rd1, %r1, 4;",
		"mad.wide.u16 %r1, %rs1, %rs2, %r2;",
		"mad.lo.cc.u64 %rd1, %rd2, %rd3, %rd4;",
		"fma.rn.relu.f16x2 %r1, %r2, %r3, %r4;",
		"cvt.rn.f32.s64 %f1, %rd1;",
		"cvt.u16.u64 %rs1, %rd1;",
		"cvt.rzi.ftz.s32.f32 %r1, %f1;",
		"cvt.s64.s32 %rd1, %r1;",
		"cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;",
		"cvta.to.global.u64 %rd1, %rd2;",
		"setp.lt.and.s32 %p1|%p2, %r1, 7, !%p0;",
		"setp.geu.ftz.f32 %p1, %f1, 0f00000000;",
		"selp.b32 %r1, 1, 0, !%p1;",
		"set.lt.u32.f32 %r1, %f1, %f2;",
		"prmt.b32.f4e %r1, %r2, %r3, %r4;",
		"shf.l.wrap.b32 %r1, %r2, %r3, 5;",
		"shl.b64 %rd1, %rd2, %r1;",
		"lop3.b32 %r1, %r2, %r3, %r4, 0x96;",
		"atom.global.add.f32 %f1, [%rd1], %f2;",
		"atom.acq_rel.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;",
		"atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4};",
		"red.relaxed.gpu.global.add.noftz.f16x2 [%rd1], %r1;",
		"shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, -1;",
		"vote.sync.ballot.b32 %r1, !%p1, -1;",
		"barrier.sync.aligned 0;",
		"bar.red.popc.u32 %r1, 0, %p1;",
		"fence.acq_rel.gpu;",
		"cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16, %r2;",
		"cp.async.bulk.commit_group;",
		"createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %rd1, 0f3F000000;",
		"prefetch.global.L2 [%rd1];",
		"bra.uni here;",
		"call.uni f, (%r1);",
		"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, %fd1};", // which the simulator lacks
	} {
		require.NoError(t, checked("9.0", instruction), instruction)
	}
	require.NoError(t, checked("6.3", "shfl.down.b32 %r1, %r2, 1, 31;"), "what was PTX once")
}

// Each is one that ptxas 13.0 refuses.
func TestCheckRefuses(t *testing.T) {
	for instruction, message := range map[string]string{
		"ad.s32 %r1, %r2, 1;":                        "there is no such instruction; did you mean add?",
		"frobnicate %r1;":                            "there is no such instruction",
		"ld.gobal.u32 %r1, [%rd1];":                  ".gobal is no modifier of ld; did you mean .global?",
		"ld.global.u33 %r1, [%rd1];":                 ".u33 is no modifier of ld; did you mean .u32?",
		"ld.global.frob.u32 %r1, [%rd1];":            ".frob is no modifier of ld",
		"ld.global [%rd1];":                          "one of .b8, .b16, .b32, .b64, .b128, .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f32, .f64 is wanted",
		"ld.global.shared.u32 %r1, [%rd1];":          ".shared does not go with .global",
		"cp.async.cc.shared.global [%r1], [%rd1];":   ".cc is no modifier of cp; did you mean .ca?",
		"mul.s32 %r1, %r2, 3;":                       "one of .lo, .hi, .wide is wanted",
		"mul.lo.f32 %f1, %f2, %f3;":                  ".f32 does not go with .lo",
		"cvt.b32 %r1, %r2;":                          ".b32 does not go with cvt",
		"ex2.f32 %f1, %f2;":                          ".approx is wanted",
		"setp.lt.b32 %p1, %r1, %r2;":                 ".b32 does not go with .lt",
		"add.s64 %r1, %r2, %r3;":                     "%r1 is .b32; .s64 is wanted",
		"add.s32 %r1, %r2, %rd1;":                    "%rd1 is .b64; .s32 is wanted",
		"add.s32 %r1, %f1, 1;":                       "%f1 is .f32; .s32 is wanted",
		"add.f32 %f1, %u1, %f2;":                     "%u1 is .u32; .f32 is wanted",
		"add.f32 %f1, %f2, 1;":                       "an integer stands where .f32 is wanted: write 1.0",
		"mov.u32 %r1, 1.5;":                          "a floating-point number stands where .u32 is wanted",
		"mov.u64 %rd1, %clock;":                      "%clock is .u32; .u64 is wanted",
		"mul.wide.s32 %r1, %r2, 4;":                  "%r1 is .b32; .s64 is wanted, twice as wide as .s32",
		"ld.global.u64 %r1, [%rd1];":                 "%r1 is .b32; .u64 is wanted, or wider",
		"ld.global.v2.f32 {%f1, %fd1}, [%rd1];":      "%fd1 is .f64; .f32 is wanted",
		"ld.global.u32 %r1, [%f1];":                  "%f1 is .f32, which holds no address; .u64 is wanted",
		"cvt.rn.f32.s64 %f1, %r1;":                   "%r1 is .b32; .s64 is wanted, or wider",
		"mov.b64 {%r1, %rd2}, %rd1;":                 "%rd2 is .b64; .b32 is wanted",
		"mov.f64 {%r1, %r2}, %rd1;":                  "what stands in braces is moved as .b64, not as .f64",
		"setp.lt.s32 %r1, %r2, %r3;":                 "%r1 is no predicate",
		"selp.b32 %r1, %r2, %r3, %r4;":               "%r4 is no predicate",
		"and.b32 %r1, %p1, %p2;":                     "%p1 is a predicate; a register is wanted",
		"shfl.sync.idx.b32 %r1|%r2, %r3, 0, 31, -1;": "%r2 is no predicate",
		"shl.b32 %r1, %r2, %rd1;":                    "%rd1 is .b64; .u32 is wanted",
	} {
		require.EqualError(t, checked("9.0", instruction), message, instruction)
	}
}

func TestNamesThatAreNotDeclared(t *testing.T) {
	for instruction, message := range map[string]string{
		"mov.u32 %r1, %r6;":       "%r6 is not declared: %r<6> ends at %r5:",
		"mov.u32 %r1, %rr5;":      "%rr5 is not declared; did you mean %r5?",
		"mov.u32 %r1, r2;":        "r2 is not declared; did you mean %r2?",
		"mov.u32 %r1, %tidx;":     "%tidx is not declared; did you mean %tid?",
		"mov.u32 %r1, %envreg32;": "%envreg32 is not declared:",
		"mov.u64 %rd1, ot;":       "ot is not declared; did you mean out?",
		"bra hera;":               "hera is not declared; did you mean here?",
		"@%p3 bra here;":          "%p3 is not declared: %p<3> ends at %p2:",
		"@%q bra here;":           "%q is not declared",
		"@%tid bra here;":         "%tid is not a predicate:",
		"mov.u32 %r1, %tid.q;":    "%tid has no component .q:",
		"mov.u32 %r1, %laneid.x;": "%laneid has no component .x:",
	} {
		require.ErrorContains(t, checked("9.0", instruction), "PTX line 8: "+message, instruction)
		require.ErrorContains(t, checked("9.0", instruction), " `"+instruction+"`")
	}
}

// What PTX will have is not known: its words are no errors, what is wrong in any is.
func TestNewerPTXMayHaveMore(t *testing.T) {
	for _, instruction := range []string{"ld.global.L3::evict_last.u32 %r1, [%rd1];", "fabric.submit;", "mov.u32 %r1, %locality.x;"} {
		require.NoError(t, checked("9.1", instruction))
		require.Error(t, checked("9.0", instruction))
	}
	require.ErrorContains(t, checked("9.1", "mov.u32 %r1, %r6;"), "%r<6> ends at %r5")
	require.EqualError(t, checked("9.1", "add.s64 %r1, %r2, %r3;"), "%r1 is .b32; .s64 is wanted")
}

// No compiler's text is refused: not one in this repository.
func TestCheckTakesWhatCompilersWrite(t *testing.T) {
	texts := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "build" || strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2):
			return filepath.SkipDir
		case filepath.Ext(path) != ".ptx":
			return nil
		}
		texts++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		module, err := Parse(text)
		require.NoError(t, err, path)
		at, err := module.Check()
		require.NoError(t, err, "%s: %+v", path, at)
		return nil
	}))
	require.Greater(t, texts, 50)
}

// A slip in the table would refuse or take too much without a word.
func TestFormTable(t *testing.T) {
	require.NotNil(t, opcodeOf("ld"))
	require.NotContains(t, opcodes, "")
	for name, o := range opcodes {
		require.Equal(t, strings.ToLower(name), name)
		if strings.Contains(" "+strings.Join(strings.Fields(otherOpcodes), " ")+" ", " "+name+" ") {
			require.Empty(t, o.forms, "%s is run, and lacking", name)
			continue
		}
		require.NotEmpty(t, o.forms, name)
		for _, f := range o.forms {
			require.LessOrEqual(t, len(f.groups), 32, name)
			require.LessOrEqual(t, len(f.types), 2+1, name)
			for word, at := range f.words {
				require.Regexp(t, `^[a-z0-9_:]+$|^NaN$|^L[12](::[a-zA-Z0-9_]+)?$`, word, "%s: no list has this name", name)
				require.True(t, at.group < 0 || at.types == 0, "%s: %s is a modifier and a type", name, word)
			}
			for _, w := range f.operands {
				require.Contains(t, "tuwnlp[*", string(w.what), name)
				require.True(t, w.what != 't' && w.what != 'w' || len(f.types) > 0, name)
				require.True(t, w.what != 'u' || len(f.types) > 1, name)
			}
		}
	}
}
