package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"dlaunch/internal/driver"
)

// whole makes a kernel that stores what it computes in %r, by thread.
func whole(declarations, body string) []byte {
	return []byte(testHeader + declarations + `
.visible .entry k(.param .u64 out) {
	.reg .b64 %o, %t, %g; .reg .b32 %r, %me, %a, %b, %c; .reg .pred %p, %q;
	mov.u32 %r, 0; mov.u32 %me, %tid.x;
	` + body + `
store:
	ld.param.u64 %o, [out]; mov.u32 %a, %ctaid.x; mov.u32 %b, %ntid.x; mad.lo.u32 %a, %a, %b, %me; mul.wide.u32 %t, %a, 4; add.s64 %o, %o, %t;
	st.global.u32 [%o], %r;
	ret; }`)
}

func runWhole(t *testing.T, declarations, body string, blocks, threads uint32) []uint32 {
	r := newRig(t, whole(declarations, body))
	out := host(t, "out", true, make([]uint32, blocks*threads)...)
	require.Nil(t, r.launch("k", x1(blocks), x1(threads), 0, out))
	return out.data
}

func TestLanesTogether(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		of   func(lane uint32) uint32
	}{
		"up":          {"shfl.sync.up.b32 %r, %me, 3, 0, -1;", func(l uint32) uint32 { return l - 3*uint32(boolean(l >= 3)) }},
		"down":        {"shfl.sync.down.b32 %r, %me, 3, 31, -1;", func(l uint32) uint32 { return l + 3*uint32(boolean(l < 29)) }},
		"butterfly":   {"shfl.sync.bfly.b32 %r, %me, 16, 31, -1;", func(l uint32) uint32 { return l ^ 16 }},
		"index":       {"shfl.sync.idx.b32 %r, %me, 5, 31, -1;", func(uint32) uint32 { return 5 }},
		"segments":    {"shfl.sync.idx.b32 %r, %me, 5, 0x181f, -1;", func(l uint32) uint32 { return l&24 + 5 }}, // of 8 lanes
		"inside":      {"shfl.sync.down.b32 %r|%p, %me, 1, 31, -1; selp.u32 %r, 1, 0, %p;", func(l uint32) uint32 { return uint32(boolean(l < 31)) }},
		"ballot":      {"setp.lt.u32 %p, %me, 4; vote.sync.ballot.b32 %r, %p, -1;", func(uint32) uint32 { return 15 }},
		"half ballot": {"setp.ge.u32 %p, %me, 16; @%p bra store; setp.lt.u32 %q, %me, 99; vote.sync.ballot.b32 %r, %q, 0xffff;", func(l uint32) uint32 { return 0xffff * uint32(boolean(l < 16)) }},
		"match":       {"and.b32 %a, %me, 1; match.any.sync.b32 %r, %a, -1;", func(l uint32) uint32 { return 0x55555555 << (l & 1) }},
		"match all":   {"match.all.sync.b32 %r|%p, %me, -1; selp.u32 %r, 9, %r, %p;", func(uint32) uint32 { return 0 }},
		"reduce":      {"redux.sync.add.s32 %r, %me, -1;", func(uint32) uint32 { return 31 * 16 }},
		"elect":       {"elect.sync %r|%p, 0xfff0; selp.u32 %r, 100, %r, %p;", func(l uint32) uint32 { return 4 + 96*uint32(boolean(l == 4)) }},
		"mask":        {"mov.u32 %r, %lanemask_lt;", func(l uint32) uint32 { return 1<<l - 1 }},
		// Lanes arrive on two ways, and must meet at one shuffle.
		"divergent": {"and.b32 %a, %me, 1; setp.eq.u32 %p, %a, 0; @%p bra even; mul.lo.u32 %b, %me, 10; bra both; even: mul.lo.u32 %b, %me, 100; both: shfl.sync.bfly.b32 %r, %b, 1, 31, -1;",
			func(l uint32) uint32 {
				if l ^= 1; l&1 == 0 {
					return 100 * l
				}
				return 10 * l
			}},
		// A barrier of the warp in either arm: the two are one.
		"warp barriers": {"{ .shared .b32 s[32]; .reg .b32 x; shl.b32 %a, %me, 2; mov.u32 x, s; add.u32 %a, %a, x; st.shared.u32 [%a], %me; and.b32 %b, %me, 1; setp.eq.u32 %p, %b, 0; @%p bra even; bar.warp.sync -1; bra both; even: bar.warp.sync -1; both: xor.b32 %c, %me, 31; shl.b32 %c, %c, 2; add.u32 %c, %c, x; ld.shared.u32 %r, [%c]; }",
			func(l uint32) uint32 { return 31 - l }},
		"loop": {"again: add.u32 %r, %r, 2; add.u32 %a, %me, %me; setp.lt.u32 %p, %r, %a; @%p bra again;", func(l uint32) uint32 { return max(2, 2*l) }},
		// An intra-warp spin lock: whoever holds it stands behind those that spin.
		"spin lock": {"{ .shared .b32 lock; .shared .b32 n; try: atom.shared.cas.b32 %a, [lock], 0, 1; setp.ne.u32 %p, %a, 0; @%p bra try; ld.shared.u32 %r, [n]; add.u32 %r, %r, 1; st.shared.u32 [n], %r; atom.shared.exch.b32 %a, [lock], 0; bar.warp.sync -1; ld.shared.u32 %r, [n]; }",
			func(uint32) uint32 { return 32 }},
	} {
		t.Run(name, func(t *testing.T) {
			for lane, v := range runWhole(t, "", c.body, 1, 32) {
				require.Equal(t, c.of(uint32(lane)), v, lane)
			}
		})
	}
}

func TestBarriers(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		of   func(thread uint32) uint32
	}{
		"others' values": {"{ .shared .b32 s[100]; .reg .b32 x; mov.u32 x, s; shl.b32 %a, %me, 2; add.u32 %a, %a, x; st.shared.u32 [%a], %me; bar.sync 0; sub.u32 %b, 99, %me; shl.b32 %b, %b, 2; add.u32 %b, %b, x; ld.shared.u32 %r, [%b]; }",
			func(n uint32) uint32 { return 99 - n }},
		"count":                    {"setp.lt.u32 %p, %me, 40; barrier.sync 1; bar.red.popc.u32 %r, 2, %p;", func(uint32) uint32 { return 40 }},
		"all":                      {"setp.lt.u32 %p, %me, 100; bar.red.and.pred %q, 0, %p; selp.u32 %r, 1, 0, %q;", func(uint32) uint32 { return 1 }},
		"any":                      {"setp.eq.u32 %p, %me, 100; bar.red.or.pred %q, 0, %p; selp.u32 %r, 1, 0, %q;", func(uint32) uint32 { return 0 }},
		"some left":                {"setp.ge.u32 %p, %me, 32; @%p bra store; bar.sync 0; mov.u32 %r, 1;", func(n uint32) uint32 { return uint32(boolean(n < 32)) }},
		"one warp with a producer": {"{ .shared .b32 s; setp.ge.u32 %p, %me, 64; @%p bra store; setp.ge.u32 %p, %me, 32; @%p bra producer; bar.sync 3, 64; ld.shared.u32 %r, [s]; bra store; producer: st.shared.u32 [s], 7; bar.arrive 3, 64; }", func(n uint32) uint32 { return 7 * uint32(boolean(n < 32)) }},
		// Warps spin until a later one writes.
		"spin on another warp": {"{ .shared .b32 s; setp.lt.u32 %p, %me, 96; @!%p st.shared.u32 [s], 5; wait: ld.volatile.shared.u32 %r, [s]; setp.eq.u32 %p, %r, 0; @%p bra wait; }", func(uint32) uint32 { return 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			for thread, v := range runWhole(t, "", c.body, 3, 100) {
				require.Equal(t, c.of(uint32(thread%100)), v, thread)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	const declarations = `
.func (.param .b32 r) factorial(.param .b32 n) {
	.reg .b32 %n, %m; .reg .pred %p; .param .b32 inner; .param .b32 back;
	ld.param.u32 %n, [n];
	mov.u32 %m, 1;
	setp.lt.u32 %p, %n, 2;
	@%p bra done;
	sub.u32 %m, %n, 1;
	st.param.b32 [inner], %m;
	call.uni (back), factorial, (inner);
	ld.param.b32 %m, [back];
	mul.lo.u32 %m, %m, %n;
done:
	st.param.b32 [r], %m;
	ret;
}
.func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %n; ld.param.u32 %n, [n]; add.u32 %n, %n, %n; st.param.b32 [r], %n; ret; }
.func (.param .b32 r) thrice(.param .b32 n) { .reg .b32 %n; ld.param.u32 %n, [n]; mul.lo.u32 %n, %n, 3; st.param.b32 [r], %n; ret; }
.global .u64 table[2] = {thrice, twice};
`
	t.Run("recursion", func(t *testing.T) {
		facts := []uint32{1, 1, 2, 6, 24, 120, 720, 5040}
		for thread, v := range runWhole(t, declarations, "{ .param .b32 n; .param .b32 r; and.b32 %a, %me, 7; st.param.b32 [n], %a; call (r), factorial, (n); ld.param.b32 %r, [r]; }", 2, 40) {
			require.Equal(t, facts[thread%40&7], v, thread)
		}
	})
	t.Run("table", func(t *testing.T) { // as virtual functions have
		body := `{ .param .b32 n; .param .b32 r; and.b32 %a, %me, 1; mov.u64 %g, table; mad.wide.u32 %g, %a, 8, %g; ld.global.u64 %g, [%g];
			st.param.b32 [n], %me; call (r), %g, (n), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _); ld.param.b32 %r, [r]; }`
		for thread, v := range runWhole(t, declarations, body, 1, 32) {
			require.Equal(t, uint32(thread)*uint32(2+boolean(thread&1 == 0)), v, thread)
		}
	})
	t.Run("pointers", func(t *testing.T) {
		body := `{ .param .b32 n; .param .b32 r; and.b32 %a, %me, 1; setp.eq.u32 %p, %a, 0; mov.u64 %g, twice; @%p mov.u64 %g, thrice;
			st.param.b32 [n], %me; call (r), %g, (n), proto; proto: .callprototype (.param .b32 _) _ (.param .b32 _); ld.param.b32 %r, [r]; }`
		for thread, v := range runWhole(t, declarations, body, 1, 32) {
			require.Equal(t, uint32(thread)*uint32(2+boolean(thread&1 == 0)), v, thread)
		}
	})
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		body    string
		result  driver.Result
		message string
	}{
		"null":         {"ld.global.u32 %r, [8];", driver.ResultIllegalAddress, "k: block (0,0,0) thread (0,0,0): PTX line 8 (ld.global.u32): reads 4 bytes at address 0x8, which is no memory of this launch"},
		"source line":  {".file 1 \"k.cu\"\n.loc 1 77 3\nld.global.u32 %r, [8];", driver.ResultIllegalAddress, "PTX line 10 (ld.global.u32), k.cu line 77: reads"},
		"misaligned":   {"ld.param.u64 %o, [out]; ld.global.u32 %r, [%o+2];", driver.ResultMisalignedAddress, "which is no multiple of 4"},
		"before":       {"ld.param.u64 %o, [out]; st.global.u32 [%o+-4], %r;", driver.ResultIllegalAddress, "writes out[-1] (argument 0), which has 64 elements"},
		"shared":       {"{ .shared .b32 s[4]; ld.shared.u32 %r, [s+16]; }", driver.ResultIllegalAddress, "reads 4 bytes at 16 of shared memory, which has 16 bytes"},
		"local":        {"{ .local .align 16 .b8 l[16]; st.local.u32 [l+64], %r; }", driver.ResultIllegalAddress, "of local memory, which has 16 bytes"},
		"trap":         {"setp.eq.u32 %p, %me, 40; @%p trap;", driver.ResultLaunchFailed, "thread (40,0,0): PTX line 8 (trap): the kernel trapped"},
		"barrier":      {"setp.lt.u32 %p, %me, 32; @%p bra store; mov.u32 %a, 3; bar.sync 1, 64;", driver.ResultLaunchFailed, "PTX line 8 (bar.sync): deadlock: 32 threads of this warp wait at barrier 1, which the others of the block never reach"},
		"two barriers": {"setp.lt.u32 %p, %me, 32; @%p bra one; bar.sync 1; bra store; one: bar.sync 2;", driver.ResultLaunchFailed, "deadlock"},
		"lanes":        {"setp.eq.u32 %p, %me, 0; @%p bra one; wait: bar.sync 0; bra store; one: shfl.sync.idx.b32 %r, %me, 0, 31, 3;", driver.ResultLaunchFailed, "deadlock"},
		"barrier 16":   {"bar.sync 16;", driver.ResultIllegalInstruction, "barrier 16"},
		"stack":        {"call deep; ", driver.ResultLaunchFailed, "the stack overflows"},
		"far":          {"ld.param.u64 %o, [out]; mov.u64 %t, 0x300000000000; ld.global.u32 %r, [%t];", driver.ResultIllegalAddress, "address 0x300000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, whole(".func deep() { .local .b8 l[4096]; call deep; ret; }", c.body))
			out := host(t, "out", true, make([]uint32, 64)...)
			fault := r.launch("k", x1(1), x1(64), 0, out)
			require.NotNil(t, fault)
			require.Contains(t, fault.Message, c.message)
			require.Equal(t, c.result, fault.Result)
			// Nothing else is harmed: the next launch is as good as any.
			next := newRig(t, whole("", ""))
			require.Nil(t, next.launch("k", x1(1), x1(64), 0, out))
		})
	}
}
