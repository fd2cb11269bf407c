package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

const testHeader = ".version 8.6\n.target sm_90\n.address_size 64\n"

// snippet makes a kernel of one instruction or more: operands a, b, c are loaded
// as raw bits; what `d` or `p` holds is stored.
func snippet(body string) []byte {
	return []byte(testHeader + `.visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c) {
	.reg .b64 o, a64, b64, c64, d64, t64; .reg .b32 a32, b32, c32, d32, t32, e32; .reg .b16 a16, b16, c16, d16; .reg .pred p, q;
	ld.param.u64 o, [out]; mov.u32 t32, %tid.x; mul.wide.u32 t64, t32, 8; add.s64 o, o, t64;
	ld.param.u64 a64, [a]; ld.param.u64 b64, [b]; ld.param.u64 c64, [c];
	cvt.u32.u64 a32, a64; cvt.u32.u64 b32, b64; cvt.u32.u64 c32, c64; cvt.u16.u64 a16, a64; cvt.u16.u64 b16, b64; cvt.u16.u64 c16, c64;
	mov.u64 d64, 0; mov.u32 d32, 0; mov.u16 d16, 0; setp.ne.u32 p, a32, a32; mov.pred q, p;
	` + body + `
	ret; }`)
}

// store ends a snippet: the name of the result decides how it is stored.
func store(body string) string {
	switch {
	case strings.Contains(body, "d64"):
		return body + "\n st.global.u64 [o], d64;"
	case strings.Contains(body, "d32"):
		return body + "\n cvt.u64.u32 d64, d32; st.global.u64 [o], d64;"
	case strings.Contains(body, "d16"):
		return body + "\n cvt.u64.u16 d64, d16; st.global.u64 [o], d64;"
	}
	return body + "\n selp.u64 d64, 1, 0, p; @q or.b64 d64, d64, 2; st.global.u64 [o], d64;"
}

func f(v float64) uint64  { return uint64(math.Float32bits(float32(v))) }
func df(v float64) uint64 { return math.Float64bits(v) }

const (
	inf32, nan32 = 0x7f800000, 0x7fffffff
	neg          = 1<<64 - 1 // -1
	neg32        = 1<<32 - 1
)

// Results by hand, or from the PTX ISA's text. An H200 with driver 580 gives the
// same, for one thread and for 32.
var instructionCases = []struct {
	body             string
	a, b, c, results uint64
}{
	{"add.s32 d32, a32, b32;", neg32, 3, 0, 2},
	{"add.s64 d64, a64, b64;", neg, 3, 0, 2},
	{"add.u16 d16, a16, b16;", 0xffff, 3, 0, 2},
	{"add.sat.s32 d32, a32, b32;", 0x7fffffff, 3, 0, 0x7fffffff},
	{"sub.sat.s32 d32, a32, b32;", 0x80000000, 3, 0, 0x80000000},
	{"sub.s32 d32, a32, b32;", 2, 3, 0, neg32},
	{"mul.lo.s32 d32, a32, b32;", 0x10001, 0x10001, 0, 0x20001},
	{"mul.hi.s32 d32, a32, b32;", neg32, 5, 0, neg32},
	{"mul.hi.u32 d32, a32, b32;", neg32, 5, 0, 4},
	{"mul.hi.s64 d64, a64, b64;", neg, 5, 0, neg},
	{"mul.hi.u64 d64, a64, b64;", neg, 5, 0, 4},
	{"mul.wide.s32 d64, a32, b32;", neg32, 5, 0, neg - 4},
	{"mul.wide.u32 d64, a32, b32;", neg32, 5, 0, 5*neg32 + 0},
	{"mul.wide.s16 d32, a16, b16;", 0xffff, 5, 0, neg32 - 4},
	{"mul24.lo.s32 d32, a32, b32;", 0xffffff, 5, 0, neg32 - 4},
	{"mul24.hi.u32 d32, a32, b32;", 0xffffff, 0x10000, 0, 0xffffff},
	{"mad.lo.s32 d32, a32, b32, c32;", 7, 6, 5, 47},
	{"mad.hi.u32 d32, a32, b32, c32;", neg32, 5, 10, 14},
	{"mad.wide.s32 d64, a32, b32, c64;", neg32, 5, 6, 1},
	{"div.s32 d32, a32, b32;", neg32 - 6, 2, 0, neg32 - 2},
	{"div.u64 d64, a64, b64;", 7, 2, 0, 3},
	{"div.s32 d32, a32, b32;", 0x80000000, neg32, 0, 0x80000000},
	{"rem.s32 d32, a32, b32;", neg32 - 6, 2, 0, neg32},
	{"rem.u32 d32, a32, b32;", 7, 4, 0, 3},
	{"abs.s32 d32, a32;", neg32 - 6, 0, 0, 7},
	{"neg.s32 d32, a32;", 7, 0, 0, neg32 - 6},
	{"min.s32 d32, a32, b32;", neg32, 3, 0, neg32},
	{"min.u32 d32, a32, b32;", neg32, 3, 0, 3},
	{"max.s64 d64, a64, b64;", neg, 3, 0, 3},
	{"sad.s32 d32, a32, b32, c32;", neg32, 3, 10, 14},
	{"and.b32 d32, a32, b32;", 12, 10, 0, 8},
	{"or.b64 d64, a64, b64;", 12, 10, 0, 14},
	{"xor.b16 d16, a16, b16;", 12, 10, 0, 6},
	{"not.b16 d16, a16;", 12, 0, 0, 0xfff3},
	{"cnot.b32 d32, a32;", 0, 0, 0, 1},
	{"shl.b32 d32, a32, b32;", 1, 31, 0, 1 << 31},
	{"shl.b32 d32, a32, b32;", 1, 32, 0, 0},
	{"shr.s32 d32, a32, b32;", 0x80000000, 40, 0, neg32},
	{"shr.u32 d32, a32, b32;", 0x80000000, 4, 0, 0x08000000},
	{"shr.s64 d64, a64, b32;", neg - 15, 2, 0, neg - 3},
	{"shf.l.wrap.b32 d32, a32, b32, c32;", 0x80000000, 1, 33, 3},
	{"shf.r.clamp.b32 d32, a32, b32, c32;", 0x80000000, 1, 40, 1},
	{"bfe.u32 d32, a32, b32, c32;", 0xabcd1234, 8, 8, 0x12},
	{"bfe.s32 d32, a32, b32, c32;", 0xabcd8234, 8, 8, 0xffffff82},
	{"bfe.s64 d64, a64, b32, c32;", neg, 60, 20, neg},
	{"bfi.b32 d32, a32, b32, 8, 4;", 0xff, 0, 0, 0xf00},
	{"bfind.u32 d32, a32;", 0x100, 0, 0, 8},
	{"bfind.s32 d32, a32;", neg32, 0, 0, neg32},
	{"bfind.shiftamt.u32 d32, a32;", 0x100, 0, 0, 23},
	{"brev.b32 d32, a32;", 1, 0, 0, 1 << 31},
	{"clz.b64 d32, a64;", 1, 0, 0, 63},
	{"popc.b32 d32, a32;", 0xff, 0, 0, 8},
	{"fns.b32 d32, a32, b32, 2;", 0b1011000, 3, 0, 4},
	{"prmt.b32 d32, a32, b32, c32;", 0x33221100, 0x77665544, 0x7531, 0x77553311},
	{"prmt.b32 d32, a32, b32, c32;", 0x80, 0, 0x8888, 0xffffffff},
	{"prmt.b32.f4e d32, a32, b32, c32;", 0x33221100, 0x77665544, 1, 0x44332211},
	{"prmt.b32.rc16 d32, a32, b32, c32;", 0x33221100, 0, 1, 0x33223322},
	{"lop3.b32 d32, a32, b32, c32, 0x80;", 0xf, 0x6, 0x5, 4},
	{"lop3.b32 d32, a32, b32, c32, 0x96;", 0xf, 0x6, 0x5, 0xf ^ 6 ^ 5},
	{"dp4a.s32.s32 d32, a32, b32, c32;", 0xff010203, 0x01020304, 10, 10 - 1 + 2 + 6 + 12},
	{"dp2a.lo.s32.u32 d32, a32, b32, c32;", 0xffff0002, 0x0304, 1, 1 + 8 - 3},
	{"add.cc.u32 t32, a32, b32; addc.u32 d32, c32, 0;", neg32, 1, 5, 6},
	{"sub.cc.u32 t32, a32, b32; subc.u32 d32, c32, 0;", 0, 1, 5, 4},
	{"mad.lo.cc.u32 t32, a32, b32, c32; madc.hi.u32 d32, a32, b32, 0;", neg32, neg32, neg32, neg32},
	{"szext.wrap.s32 d32, a32, b32;", 0xff, 8, 0, neg32},
	{"bmsk.clamp.b32 d32, a32, b32;", 4, 8, 0, 0xff0},

	{"add.f32 d32, a32, b32;", f(1), f(0x1p-24), 0, f(1)},
	{"add.rz.f32 d32, a32, b32;", f(1), f(-0x1p-30), 0, 0x3f7fffff},
	{"add.rp.f32 d32, a32, b32;", f(1), f(0x1p-30), 0, 0x3f800001},
	{"add.f32 d32, a32, b32;", inf32, inf32 | 1<<31, 0, nan32},
	{"add.sat.f32 d32, a32, b32;", f(1), f(0.5), 0, f(1)},
	{"add.ftz.f32 d32, a32, b32;", 0x00400000, 0x00400000, 0, 0},
	{"sub.f32 d32, a32, b32;", f(1), f(3), 0, f(-2)},
	{"mul.f32 d32, a32, b32;", f(1.5), f(-3), 0, f(-4.5)},
	{"mul.rm.f64 d64, a64, b64;", df(1.0 / 3), df(3), 0, df(1 - 0x1p-53)},
	{"fma.rn.f32 d32, a32, b32, c32;", f(1 + 0x1p-12), f(1 + 0x1p-12), f(-1), f(0x1p-11 + 0x1p-24)},
	// 1 + 2^-24 + 2^-70: rounding to double first would lose the last, and then the tie.
	{"fma.rn.f32 d32, a32, b32, c32;", f(0x1p-35), f(0x1p-35), f(1 + 0x1p-23), f(1 + 0x1p-23)},
	{"fma.rz.f32 d32, a32, b32, c32;", f(-0x1p-35), f(0x1p-35), f(1), 0x3f7fffff},
	{"fma.rn.f64 d64, a64, b64, c64;", df(1 + 0x1p-30), df(1 + 0x1p-30), df(-1), df(0x1p-29 + 0x1p-60)},
	{"div.rn.f32 d32, a32, b32;", f(1), f(3), 0, 0x3eaaaaab},
	{"div.rz.f32 d32, a32, b32;", f(1), f(3), 0, 0x3eaaaaaa},
	{"div.approx.f32 d32, a32, b32;", f(6), f(3), 0, f(2)},
	{"div.rn.f64 d64, a64, b64;", df(1), df(-4), 0, df(-0.25)},
	{"rcp.rn.f32 d32, a32;", f(4), 0, 0, f(0.25)},
	{"rcp.approx.ftz.f32 d32, a32;", 0x00000001, 0, 0, inf32},
	{"sqrt.rn.f32 d32, a32;", f(2), 0, 0, 0x3fb504f3},
	{"sqrt.rn.f32 d32, a32;", f(-2), 0, 0, nan32},
	{"rsqrt.approx.f32 d32, a32;", f(4), 0, 0, f(0.5)},
	{"ex2.approx.f32 d32, a32;", f(-2), 0, 0, f(0.25)},
	{"lg2.approx.f32 d32, a32;", f(8), 0, 0, f(3)},
	{"sin.approx.f32 d32, a32;", f(0), 0, 0, f(0)},
	{"cos.approx.f32 d32, a32;", f(0), 0, 0, f(1)},
	{"tanh.approx.f32 d32, a32;", inf32, 0, 0, f(1)},
	{"min.f32 d32, a32, b32;", nan32, f(2), 0, f(2)},
	{"min.NaN.f32 d32, a32, b32;", nan32, f(2), 0, nan32},
	{"min.f32 d32, a32, b32;", 0, 1 << 31, 0, 1 << 31},
	{"max.f32 d32, a32, b32;", 1 << 31, 0, 0, 0},
	{"max.f32 d32, a32, b32;", f(-2), f(2), 0, f(2)},
	{"max.f64 d64, a64, b64;", df(-2), df(math.NaN()), 0, df(-2)},
	{"abs.f32 d32, a32;", f(-2), 0, 0, f(2)},
	{"neg.f64 d64, a64;", df(-2), 0, 0, df(2)},
	{"copysign.f32 d32, a32, b32;", f(-1), f(2), 0, f(-2)},
	{"add.f16 d16, a16, b16;", 0x3c00, 0x3c00, 0, 0x4000},
	{"fma.rn.f16 d16, a16, b16, c16;", 0x3c01, 0x3c01, 0xbc00, 0x1800}, // a tie
	{"mul.f16x2 d32, a32, b32;", 0x3c004000, 0x40004200, 0, 0x40004600},
	{"fma.rn.relu.f16 d16, a16, b16, c16;", 0x3c00, 0xbc00, 0, 0},
	{"add.rn.bf16 d16, a16, b16;", 0x3f80, 0x3b80, 0, 0x3f80},
	{"fma.rn.bf16x2 d32, a32, b32, c32;", 0x3f804000, 0x40004000, 0x3f80bf80, 0x40404040},
	{"max.f16 d16, a16, b16;", 0x7e00, 0x3c00, 0, 0x3c00},
	{"neg.f16x2 d32, a32;", 0x3c00bc00, 0, 0, 0xbc003c00},

	{"cvt.s32.s8 d32, a32;", 0x1ff, 0, 0, neg32},
	{"cvt.u64.s32 d64, a32;", neg32, 0, 0, neg},
	{"cvt.s64.s32 d64, a32;", neg32, 0, 0, neg},
	{"cvt.u16.u32 d16, a32;", 0x12345, 0, 0, 0x2345},
	{"cvt.sat.s8.s32 d32, a32;", 1000, 0, 0, 127},
	{"cvt.sat.u8.s32 d32, a32;", neg32, 0, 0, 0},
	{"cvt.rzi.s32.f32 d32, a32;", f(-2.7), 0, 0, neg32 - 1},
	{"cvt.rni.s32.f32 d32, a32;", f(2.5), 0, 0, 2},
	{"cvt.rpi.s32.f32 d32, a32;", f(2.1), 0, 0, 3},
	{"cvt.rmi.s32.f32 d32, a32;", f(-2.1), 0, 0, neg32 - 2},
	{"cvt.rzi.s32.f32 d32, a32;", nan32, 0, 0, 0},
	{"cvt.rzi.s32.f32 d32, a32;", f(1e20), 0, 0, 0x7fffffff},
	{"cvt.rzi.u32.f32 d32, a32;", f(-5), 0, 0, 0},
	{"cvt.rzi.s64.f64 d64, a64;", df(math.NaN()), 0, 0, 1 << 63},
	{"cvt.rzi.u64.f64 d64, a64;", df(1e30), 0, 0, neg},
	{"cvt.rni.f32.f32 d32, a32;", f(2.5), 0, 0, f(2)},
	{"cvt.sat.f32.f32 d32, a32;", nan32, 0, 0, 0},
	{"cvt.rn.f32.s32 d32, a32;", 0x7fffffff, 0, 0, f(0x1p31)},
	{"cvt.rz.f32.s32 d32, a32;", 0x7fffffff, 0, 0, 0x4effffff},
	{"cvt.rn.f32.u64 d32, a64;", 1<<63 + 1<<39 + 1, 0, 0, f(0x1p63) + 1},
	{"cvt.rn.f64.u64 d64, a64;", neg, 0, 0, df(0x1p64)},
	{"cvt.rz.f64.u64 d64, a64;", neg, 0, 0, df(0x1p64) - 1},
	{"cvt.f64.f32 d64, a32;", f(1.5), 0, 0, df(1.5)},
	{"cvt.rn.f32.f64 d32, a64;", df(1 + 0x1p-24 + 0x1p-50), 0, 0, 0x3f800001},
	{"cvt.rp.f32.f64 d32, a64;", df(1 + 0x1p-50), 0, 0, 0x3f800001},
	{"cvt.rn.f16.f32 d16, a32;", f(65520), 0, 0, 0x7c00},
	{"cvt.rz.f16.f32 d16, a32;", f(65520), 0, 0, 0x7bff},
	{"cvt.rn.f16.f32 d16, a32;", f(0x1p-25), 0, 0, 0},
	{"cvt.rn.f16.f32 d16, a32;", f(0x1.8p-24), 0, 0, 2},
	{"cvt.f32.f16 d32, a16;", 0x0001, 0, 0, f(0x1p-24)},
	{"cvt.rn.bf16.f32 d16, a32;", f(1 + 0x1p-8 + 0x1p-20), 0, 0, 0x3f81},
	{"cvt.f32.bf16 d32, a16;", 0x3fc0, 0, 0, f(1.5)},
	{"cvt.rn.f16x2.f32 d32, a32, b32;", f(1), f(2), 0, 0x3c004000},
	{"cvt.rn.bf16x2.f32 d32, a32, b32;", f(1), f(2), 0, 0x3f804000},
	{"cvt.rn.f16.s32 d16, a32;", neg32, 0, 0, 0xbc00},
	{"cvt.rzi.u16.f16 d16, a16;", 0x4200, 0, 0, 3},
	{"cvt.rna.tf32.f32 d32, a32;", 0x3f801000, 0, 0, 0x3f802000},

	{"setp.lt.s32 p, a32, b32;", neg32, 1, 0, 1},
	{"setp.lo.u32 p, a32, b32;", neg32, 1, 0, 0},
	{"setp.ge.s32 p, a32, b32;", 5, 5, 0, 1},
	{"setp.gt.u64 p, a64, b64;", neg, 5, 0, 1},
	{"setp.le.s16 p, a16, b16;", 0xffff, 5, 0, 1},
	{"setp.eq.f32 p, a32, b32;", nan32, nan32, 0, 0},
	{"setp.neu.f32 p, a32, b32;", nan32, nan32, 0, 1},
	{"setp.ne.f32 p, a32, b32;", nan32, nan32, 0, 0},
	{"setp.gtu.f32 p, a32, b32;", nan32, 0, 0, 1},
	{"setp.gt.f32 p, a32, b32;", f(3), f(2), 0, 1},
	{"setp.nan.f64 p, a64, b64;", df(math.NaN()), 0, 0, 1},
	{"setp.num.f64 p, a64, b64;", df(1), 0, 0, 1},
	{"setp.lt.s32 p|q, a32, b32;", 1, 2, 0, 1},
	{"setp.gt.s32 p|q, a32, b32;", 1, 2, 0, 2},
	{"setp.eq.s32 q, a32, a32; setp.lt.and.s32 p, a32, b32, !q;", 1, 2, 0, 2},
	{"setp.eq.s32 q, a32, a32; setp.gt.or.s32 p, a32, b32, q;", 1, 2, 0, 3},
	{"setp.eq.s32 q, a32, a32; xor.pred p, q, p; not.pred q, q;", 1, 2, 0, 1},
	{"testp.subnormal.f32 p, a32;", 1, 0, 0, 1},
	{"testp.infinite.f64 p, a64;", df(math.Inf(-1)), 0, 0, 1},
	{"set.lt.u32.f32 d32, a32, b32;", f(1), f(2), 0, neg32},
	{"set.lt.f32.s32 d32, a32, b32;", 1, 2, 0, f(1)},
	{"setp.eq.s32 p, a32, 7; selp.b32 d32, a32, b32, p;", 7, 9, 0, 7},
	{"setp.eq.s32 p, a32, 7; selp.b32 d32, a32, b32, !p;", 7, 9, 0, 9},
	{"slct.s32.s32 d32, a32, b32, c32;", 7, 9, neg32, 9},
	{"slct.u32.f32 d32, a32, b32, c32;", 7, 9, 1 << 31, 7},

	{"mov.b64 {t32, e32}, a64; mov.b64 d64, {e32, t32};", 0x1122334455667788, 0, 0, 0x5566778811223344},
	{"mov.b32 {a16, b16}, a32; mov.b32 d32, {b16, a16};", 0x11223344, 0, 0, 0x33441122},
	{"mov.f32 d32, 0f3F800000;", 0, 0, 0, f(1)},
	{"mov.u32 d32, WARP_SZ;", 0, 0, 0, 32},
	{"mov.u32 d32, %ntid.y;", 0, 0, 0, 1},
	{"{ .local .align 8 .b8 l[16]; .reg .b64 g; mov.u64 g, l; cvta.local.u64 g, g; st.u64 [g+8], a64; ld.local.u64 d64, [l+8]; isspacep.local p, g; @!p mov.u64 d64, 0; }", 77, 0, 0, 77},
	{"{ .shared .align 8 .b8 s[16]; .reg .b64 g; mov.u64 g, s; st.shared.u8 [s+3], a32; ld.shared.s8 d32, [g+3]; }", 0xff, 0, 0, neg32},
	{"{ .shared .align 4 .u32 s; .reg .b32 x; mov.b32 x, s; st.shared.u32 [x], 5; atom.shared.cas.b32 t32, [x], 5, 9; ld.shared.u32 d32, [s]; @p mov.u32 d32, 0; }", 0, 0, 0, 9},
	{"bra over; mov.u32 d32, 1; over: mov.u32 d32, 2;", 0, 0, 0, 2},
	{"{ t: .branchtargets l0, l1, l2; brx.idx a32, t; l0: mov.u32 d32, 10; bra end; l1: mov.u32 d32, 11; bra end; l2: mov.u32 d32, 12; end: }", 1, 0, 0, 11},
	{"activemask.b32 d32; and.b32 d32, d32, 1;", 0, 0, 0, 1},
	{"vote.sync.any.pred p, p, 1;", 0, 0, 0, 0},
	{"redux.sync.max.u32 d32, a32, -1;", 6, 0, 0, 6},
	{"match.any.sync.b32 d32, a32, -1; and.b32 d32, d32, 1;", 6, 0, 0, 1},
	{"ld.param.u32 d32, [a+4];", 5 << 32, 0, 0, 5},
	// Triton's way, and hints.
	{"setp.eq.s32 p, a32, 7; @p st.global.b32 [ o + 0 ], { a32 }; @p ld.global.L1::evict_last.L2::cache_hint.b32 { d32 }, [ o + 0 ], c64;", 7, 0, 0, 7},
	{"{ .shared .align 16 .b8 s[16]; st.global.u64 [o], a64; cp.async.ca.shared.global [s], [o], 8; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u64 d64, [s]; }", 0x1122334455667788, 0, 0, 0x1122334455667788},
	{"{ .shared .align 16 .b8 s[16]; st.global.u64 [o], a64; cp.async.ca.shared.global [s], [o], 8, b32; cp.async.wait_all; ld.shared.u64 d64, [s]; }", 0x1122334455667788, 4, 0, 0x55667788},
	{"st.global.u64 [o], a64; atom.global.add.noftz.f16 d16, [o+2], b16; ld.global.u64 d64, [o];", 0x3c003c003c003c00, 0x4000, 0, 0x3c003c0042003c00},
	{"st.global.u64 [o], a64; red.global.add.f64 [o], b64; ld.global.u64 d64, [o];", df(1.5), df(2), 0, df(3.5)},
	{"st.global.u64 [o], a64; atom.global.min.s64 t64, [o], b64; ld.global.u64 d64, [o];", 5, neg, 0, neg},
	{"st.global.u64 [o], a64; atom.global.inc.u32 t32, [o], b32; ld.global.u64 d64, [o];", 5, 5, 0, 0},
	{"st.global.u64 [o], a64; atom.global.dec.u32 t32, [o], b32; ld.global.u64 d64, [o];", 0, 9, 0, 9},
	{"{ .reg .v2 .b32 v; mov.b32 v.x, a32; mov.b32 v.y, b32; st.global.v2.b32 [o], v; ld.global.u64 d64, [o]; }", 1, 2, 0, 2<<32 + 1},
}

func TestInstructions(t *testing.T) {
	for _, c := range instructionCases {
		t.Run(c.body, func(t *testing.T) {
			r := newRig(t, snippet(store(c.body)))
			for _, threads := range []uint32{1, 32} { // some lanes, then all: other loops
				out := host(t, "out", true, make([]uint64, threads)...)
				require.Nil(t, r.launch("k", x1(1), x1(threads), 0, out, c.a, c.b, c.c))
				for _, v := range out.data {
					require.Equal(t, fmt.Sprintf("%#x", c.results), fmt.Sprintf("%#x", v), "%d threads", threads)
				}
			}
		})
	}
}

func TestWhatIsLackingIsNamed(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for name, c := range map[string]struct {
		text    string
		result  driver.Result
		message string
	}{
		"wgmma":         {string(snippet("wgmma.fence.sync.aligned;")), driver.ResultNotSupported, "PTX line 10 (wgmma.fence.sync.aligned): the simulator lacks this instruction; run the kernel on a GPU"},
		"no such thing": {string(snippet("frobnicate.u32 d32, a32;")), driver.ResultInvalidPTX, "PTX line 10 (frobnicate.u32): there is no such instruction"},
		"misspelt":      {string(snippet("ld.gobal.u32 d32, [a64];")), driver.ResultInvalidPTX, "PTX line 10 (ld.gobal.u32): .gobal is no modifier of ld; did you mean .global?"},
		"width":         {string(snippet("add.s64 d32, a32, b32;")), driver.ResultInvalidPTX, "PTX line 10 (add.s64): d32 is .b32; .s64 is wanted"},
		"no register":   {string(snippet("mov.b32 d32, a33;")), driver.ResultInvalidPTX, "PTX line 10: a33 is not declared; did you mean a32? `mov.b32 d32, a33;`"},
		"never called":  {testHeader + ".func f() { ad.s32; }\n.entry k() { ret; }", driver.ResultInvalidPTX, "PTX line 4 (ad.s32): there is no such instruction; did you mean add?"},
		"newer opcode":  {".version 9.1\n.target sm_90\n.entry k() { fabric.submit; }", driver.ResultNotSupported, "PTX line 3 (fabric.submit): the simulator lacks this instruction; run the kernel on a GPU"},
		"newer special": {".version 9.1\n.target sm_90\n.entry k() { .reg .b32 r; mov.u32 r, %locality.x; }", driver.ResultNotSupported, "PTX line 3 (mov.u32): the simulator lacks %locality.x"},
		"special":       {string(snippet("mov.u32 d32, %pm0;")), driver.ResultNotSupported, "PTX line 10 (mov.u32): the simulator lacks %pm0"},
		"syntax":        {testHeader + ".entry k() { .reg .b32 r; mov.u32 r }", driver.ResultInvalidPTX, "PTX line 4: \"}\" stands where a comma or a semicolon is wanted: `.entry k() { .reg .b32 r; mov.u32 r }`"},
		"too new":       {".version 9.9\n.target sm_90", driver.ResultUnsupportedPTXVersion, "the simulator reads PTX 6.0 to 9.5; this is 9.9"},
		"other target":  {".version 8.6\n.target sm_100a", driver.ResultNoBinaryForGPU, "the PTX is for sm_100a; the simulated device is sm_90"},
		"cubin":         {"\x7fELF\x02\x01\x01\x00\x00", driver.ResultNoBinaryForGPU, "the simulator runs PTX text only; this image is none: compile to PTX (nvcc -ptx, NVRTC with a compute_ architecture)"},
		"no ASCII":      {testHeader + "// µ\n.entry k() { ret; }", driver.ResultInvalidPTX, "PTX line 4: PTX is ASCII, and has no 'µ'"},
		"extern":        {testHeader + ".extern .func g; .entry k() { call g; ret; }", driver.ResultInvalidPTX, "PTX line 4 (call): the function g is declared, and defined nowhere"},
		"predicate":     {string(snippet("add.s32 d32, p, a32;")), driver.ResultInvalidPTX, "PTX line 10 (add.s32): p is a predicate; a register is wanted"},
		"past the end":  {string(snippet("ld.param.u32 d32, [a+-12];")), driver.ResultInvalidPTX, "PTX line 10 (ld.param.u32): it reads past the parameters"},
		"operands":      {string(snippet("add.s32 d32, a32;")), driver.ResultInvalidPTX, "PTX line 10 (add.s32): 2 operands; 3 are wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			log, options := jitLog(t)
			_, result := s.API().LibraryLoad([]byte(c.text+"\x00"), options)
			require.Equal(t, c.result, result)
			require.Equal(t, c.message, log())
		})
	}
}

// A modifier that a newer PTX has may be a hint, as most are.
func TestNewerModifiersAreBelieved(t *testing.T) {
	const text = "\n.target sm_90\n.entry k(.param .u64 p) { .reg .b64 a; .reg .b32 r; ld.param.u64 a, [p]; ld.global.L3::evict_last.u32 r, [a]; }"
	s, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	_, result := s.API().LibraryLoad([]byte(".version 9.1"+text), nil)
	require.Equal(t, driver.ResultSuccess, result)
	_, result = s.API().LibraryLoad([]byte(".version 9.0"+text), nil)
	require.Equal(t, driver.ResultInvalidPTX, result)
}
