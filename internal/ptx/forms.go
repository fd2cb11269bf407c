package ptx

// newestForms is the version of PTX that the tables here have: a newer text may
// have more.
var newestForms = Version{9, 0}

// formTable says how instructions are written (PTX ISA 9.0, chapter 9): those
// that the simulator runs, an opcode several times where its types differ in
// what they take. The columns are
//
//   - the opcode, or several that are alike
//   - its modifiers in any order: of `a/b` one at most, of `a/b!` exactly one, of
//     `a/b*` any; and `...` for others, where the simulator runs none of them
//   - the types that it names, one column entry for each
//   - its operands: t and u are of the first and second type, w is twice as wide
//     as the first, n a 32-bit integer, l a 64-bit one, p a predicate, [] an
//     address, * anything. `t|p` may have a predicate beside it. A register may
//     be wider for `t+`. For `{t+}` there may be several in braces; for `<t>` such
//     as share the bits of one.
//
// Words in capitals stand for the lists below.
const formTable = `
abs/neg | | SIGNED | t t
abs/neg | ftz | f16/f16x2/f32 | t t
abs/neg | | bf16/bf16x2/f64 | t t
activemask | | b32 | t
add/sub | sat | s32 | t t t
add/sub | cc | WORDS | t t t
add/sub | | INTEGER/u16x2/s16x2 | t t t
add/sub | ROUND ftz sat | f32 | t t t
add/sub | ROUND | f64 | t t t
add/sub | rn ftz sat | f16/f16x2 | t t t
add/sub | rn | bf16/bf16x2 | t t t
add/sub | ROUND ftz | f32x2 | t t t
addc/subc | cc | WORDS | t t t
and/or/xor | | b16/b32/b64/pred | t t t
applypriority | global L2::evict_normal! | | [] *
atom | cas! ORDER SCOPE ATOMSPACE L2::cache_hint | b16/b32/b64/b128 | t [] t t l
atom | exch! ORDER SCOPE ATOMSPACE L2::cache_hint VECTOR | b32/b64/b128 | {t} [] {t} l
atom | and/or/xor! ORDER SCOPE ATOMSPACE L2::cache_hint | b32/b64 | t [] t l
atom | inc/dec! ORDER SCOPE ATOMSPACE L2::cache_hint | u32 | t [] t l
atom | add! ORDER SCOPE ATOMSPACE L2::cache_hint VECTOR | u32/u64/s32/f32/f64 | {t} [] {t} l
atom | add! noftz! ORDER SCOPE ATOMSPACE L2::cache_hint VECTOR | f16/f16x2/bf16/bf16x2 | {t} [] {t} l
atom | min/max! ORDER SCOPE ATOMSPACE L2::cache_hint | WORDS | t [] t l
atom | min/max! noftz! ORDER SCOPE ATOMSPACE L2::cache_hint VECTOR | f16/f16x2/bf16/bf16x2 | {t} [] {t} l
bar | cta sync/arrive! | | n n
bar | cta red! popc! | u32 | t n * *
bar | cta red! and/or! | pred | t n * *
bar | warp! sync! | | n
barrier | cta sync/arrive! aligned | | n n
barrier | cta red! popc! aligned | u32 | t n * *
barrier | cta red! and/or! aligned | pred | t n * *
barrier | cluster! arrive/wait! acquire/release/relaxed aligned | |
bfe | | WORDS | t t n n
bfi | | b32/b64 | t t t n n
bfind | shiftamt | WORDS | n t
bmsk | clamp/wrap! | b32 | t n n
bra/call | uni | | *
brev | | b32/b64 | t t
exit/trap/brkpt | | |
brx | idx! uni | | n *
clz/popc | | b32/b64 | n t
cnot | | b16/b32/b64 | t t
copysign | | f32/f64 | t t t
cos/lg2/sin | approx! ftz | f32 | t t
cp | async! ca/cg! shared/shared::cta! global! L2::cache_hint PREFETCH | | [] [] * * *
cp | async! commit_group/wait_group/wait_all! | | *
cp | async! mbarrier! arrive! noinc shared/shared::cta | b64 | []
cp | async! bulk! ... | |
cp | reduce! async! bulk! ... | |
createpolicy | fractional! L2EVICT/L2::evict_unchanged* | b64 | t *
createpolicy | range! global L2EVICT/L2::evict_unchanged* | b64 | t [] n n
createpolicy | cvt! L2! | b64 | t l
cvt | sat | ANYINTEGER ANYINTEGER | t+ u+
cvt | WHOLE! ftz sat | ANYINTEGER FLOAT | t+ u+
cvt | ROUND! ftz sat | FLOAT ANYINTEGER | t+ u+
cvt | ROUND! ftz sat | f32 f64 | t+ u+
cvt | ROUND/rna! ftz sat relu satfinite | f16/bf16 f32/f64 | t+ u+
cvt | ftz sat | f32 f16 | t+ u+
cvt | ROUND ftz sat | f32 bf16 | t+ u+
cvt | ftz sat | f64 f16/bf16/f32 | t+ u+
cvt | WHOLE ftz sat | f32 f32 | t+ u+
cvt | WHOLE sat | f64 f64 | t+ u+
cvt | ROUND/WHOLE ftz sat relu satfinite | f16/bf16 f16/bf16 | t+ u+
cvt | rn/rz/rs! relu satfinite | f16x2/bf16x2 f32 | t+ u+ u+ n
cvt | rn/rna/rz! relu satfinite | tf32 f32 | n u+
cvt | rn/rz/rp/rs relu satfinite ftz scaled::n2::ue8m0 | NARROW f16x2/bf16x2/f32 | * * * * *
cvt | rn/rz/rp/rs relu satfinite ftz scaled::n2::ue8m0 | f16x2/bf16x2 NARROW | * * *
cvt | pack! sat! | PACKED s32 | * u u
cvt | pack! sat! | PACKED s32 b32 | * u u n
cvta | to SPACE! | u32/u64 | t t
discard | global L2! | | [] *
div | | INTEGER | t t t
div | ROUND/approx/full! ftz | f32 | t t t
div | ROUND! | f64 | t t t
dp2a | lo/hi! | u32/s32 u32/s32 | n n n n
dp4a | | u32/s32 u32/s32 | n n n n
elect | sync! | | n|p n
ex2 | approx! ftz | f16/f16x2/bf16/bf16x2/f32 | t t
fence | sc/acq_rel/acquire/release SCOPE mbarrier_init sync_restrict::shared::cta/sync_restrict::shared::cluster | |
fence | proxy! alias/async/async::generic/tensormap::generic! acquire/release global/shared::cta/shared::cluster SCOPE sync_restrict::shared::cta/sync_restrict::shared::cluster | | [] *
fma | ROUND! ftz sat | f32 | t t t t
fma | ROUND! | f64 | t t t t
fma | rn! ftz sat relu oob | f16/f16x2 | t t t t
fma | rn! relu oob | bf16/bf16x2 | t t t t
fma | ROUND! ftz | f32x2 | t t t t
fns | | b32 | t t t t
griddepcontrol | launch_dependents/wait! | |
isspacep | SPACE! | | p *
ld | weak/volatile/relaxed/acquire mmio SCOPE SPACE ca/cg/cs/lu/cv nc L1EVICT L2EVICT L2::cache_hint PREFETCH VECTOR unified | MEMORY | {t+} [] l
ldu | global VECTOR | MEMORY | {t+} []
lop3 | or/and | b32 | t|p t t t * p
mad | lo/hi! cc | WORDS | t t t t
mad | lo/hi! | INTEGER | t t t t
mad | hi! sat | s32 | t t t t
mad | wide! | u16/u32/s16/s32 | w t t w
mad | ROUND! ftz sat | f32 | t t t t
mad | ROUND! | f64 | t t t t
mad24 | lo/hi! | u32/s32 | t t t t
mad24 | hi! sat | s32 | t t t t
madc | lo/hi! cc | WORDS | t t t t
mapa | shared::cluster | u32/u64 | t t n
match | any/all! sync! | b32/b64 | n|p t n
max/min | | INTEGER/u16x2 | t t t
max/min | relu | s32/s16x2 | t t t
max/min | ftz NaN xorsign abs | f16/f16x2/f32 | t t t t
max/min | NaN xorsign abs | bf16/bf16x2 | t t t
max/min | | f64 | t t t
membar | cta/gl/sys! | |
membar | proxy! alias/async/async::generic/tensormap::generic! global/shared::cta/shared::cluster | |
mov | | b16/b32/b64/b128/INTEGER/f32/f64/pred | <t> <t>
mov | v2/v4! | u32 | {t} {t}
mul | lo/hi! | INTEGER | t t t
mul | wide! | u16/u32/s16/s32 | w t t
mul | ROUND ftz sat | f32 | t t t
mul | ROUND | f64 | t t t
mul | rn ftz sat | f16/f16x2 | t t t
mul | rn | bf16/bf16x2 | t t t
mul | ROUND ftz | f32x2 | t t t
mul24 | lo/hi! | u32/s32 | t t t
nanosleep | | u32 | t
not | | b16/b32/b64/pred | t t
pmevent | mask | | *
prefetch | global/local/const/param L1/L2/L2::evict_last/L2::evict_normal/tensormap! | | []
prefetchu | L1! | | []
prmt | f4e/b4e/rc8/ecl/ecr/rc16 | b32 | t t t t
rcp | ROUND/approx! ftz | f32 | t t
rcp | approx! ftz! | f64 | t t
rcp | ROUND! ftz | f64 | t t
red | and/or/xor! relaxed/release SCOPE ATOMSPACE L2::cache_hint | b32/b64 | [] t l
red | inc/dec! relaxed/release SCOPE ATOMSPACE L2::cache_hint | u32 | [] t l
red | add! relaxed/release SCOPE ATOMSPACE L2::cache_hint VECTOR | u32/u64/s32/f32/f64 | [] {t} l
red | add! noftz! relaxed/release SCOPE ATOMSPACE L2::cache_hint VECTOR | f16/f16x2/bf16/bf16x2 | [] {t} l
red | min/max! relaxed/release SCOPE ATOMSPACE L2::cache_hint | WORDS | [] t l
red | min/max! noftz! relaxed/release SCOPE ATOMSPACE L2::cache_hint VECTOR | f16/f16x2/bf16/bf16x2 | [] {t} l
red | async! add/min/max/inc/dec/and/or/xor! relaxed/release mmio SCOPE ATOMSPACE mbarrier::complete_tx::bytes | b32/b64/WORDS | [] t []
redux | sync! add/min/max! | u32/s32 | t t n
redux | sync! and/or/xor! | b32 | t t n
redux | sync! min/max! abs NaN | f32 | t t n
rem | | INTEGER | t t t
ret | uni | |
rsqrt | approx! ftz | f32/f64 | t t
sad | | INTEGER | t t t t
selp | | b16/b32/b64/INTEGER/f32/f64 | t t t p
set | eq/ne! and/or/xor | TRUTH b16/b32/b64 | t u u p
set | COMPARE/lo/ls/hi/hs! and/or/xor ftz | TRUTH INTEGER | t u u p
set | COMPARE/UNORDERED! and/or/xor ftz | TRUTH FLOAT/f16x2/bf16x2 | t u u p
setmaxnreg | inc/dec! sync! aligned! | u32 | *
setp | eq/ne! and/or/xor | b16/b32/b64 | p|p t t p
setp | COMPARE/lo/ls/hi/hs! and/or/xor | INTEGER | p|p t t p
setp | COMPARE/UNORDERED! and/or/xor ftz | FLOAT/f16x2/bf16x2 | p|p t t p
shf | l/r! clamp/wrap! | b32 | t t t n
shfl | sync up/down/bfly/idx! | b32 | t|p t t t n
shl | | b16/b32/b64 | t t n
shr | | b16/b32/b64/INTEGER | t t n
slct | ftz | b16/b32/b64/INTEGER/f32/f64 s32/f32 | t t t u
sqrt | ROUND/approx! ftz | f32 | t t
sqrt | ROUND! | f64 | t t
st | weak/volatile/relaxed/release mmio SCOPE SPACE wb/cg/cs/wt L1EVICT L2EVICT L2::cache_hint VECTOR | MEMORY | [] {t+} l
st | async! weak/release mmio SCOPE SPACE mbarrier::complete_tx::bytes VECTOR | MEMORY | [] {t+} []
st | bulk! weak shared/shared::cta | | [] * *
szext | clamp/wrap! | u32/s32 | t t n
tanh | approx! | f16/f16x2/bf16/bf16x2/f32 | t t
testp | finite/infinite/number/notanumber/normal/subnormal! | f32/f64 | p t
vote | sync all/any/uni! | pred | p p n
vote | sync ballot! | b32 | t p n
`

// formLists are what the capitals of formTable stand for.
const formLists = `
SIGNED s16/s32/s64
INTEGER u16/u32/u64/s16/s32/s64
ANYINTEGER u8/u16/u32/u64/s8/s16/s32/s64
WORDS u32/u64/s32/s64
FLOAT f16/bf16/f32/f64
TRUTH u16/u32/s32/f16/bf16/f16x2/bf16x2/f32
PACKED u2/u4/u8/u16/s2/s4/s8/s16
MEMORY b8/b16/b32/b64/b128/u8/u16/u32/u64/s8/s16/s32/s64/f32/f64
NARROW e4m3x2/e5m2x2/e4m3x4/e5m2x4/e2m1x2/e2m1x4/e2m3x2/e3m2x2/e2m3x4/e3m2x4/ue8m0x2/s2f6x2
ROUND rn/rz/rm/rp
WHOLE rni/rzi/rmi/rpi
COMPARE eq/ne/lt/le/gt/ge
UNORDERED equ/neu/ltu/leu/gtu/geu/num/nan
ORDER relaxed/acquire/release/acq_rel
SCOPE cta/cluster/gpu/sys
SPACE global/shared/local/const/param/shared::cta/shared::cluster/param::entry/param::func
ATOMSPACE global/shared/shared::cta/shared::cluster
VECTOR v2/v4/v8
PREFETCH L2::64B/L2::128B/L2::256B
L1EVICT L1::evict_normal/L1::evict_unchanged/L1::evict_first/L1::evict_last/L1::no_allocate
L2EVICT L2::evict_normal/L2::evict_first/L2::evict_last
`

// otherOpcodes are the instructions of the PTX ISA that the simulator lacks.
const otherOpcodes = `alloca clusterlaunchcontrol getctarank istypep ldmatrix mbarrier mma movmatrix multimem stackrestore stacksave stmatrix
 suld suq sured sust tcgen05 tensormap tex tld4 txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4
 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4 wgmma wmma`
