"""Kernels of CUDA C++ whose threads do not speak to each other: parameters, arithmetic, control flow, calls."""

from __future__ import annotations

import math
import struct

import numpy as np
from corpus_case import Case, Symbol, blocks, filled, floats, given, inout, ints, kernel, out


@kernel("vector_add.ptx", "vector_add(a: f32[n], b: f32[n], c: out f32[n], n: i32 = n)", [1, 255, 4097])
def vector_add(rng, n):
    a, b = floats(rng, n), floats(rng, n)
    return Case([given(a), given(b), out(a + b), filled(n)], blocks(n, 256), 256)


def saxpy_case(rng, n):
    x, y = floats(rng, n), floats(rng, n)
    after = (np.float64(1.5) * x + y).astype(np.float32)
    return Case([given(1.5), given(x), inout(y, after, 1e-6, 1e-6), filled(n)], blocks(n, 128), 128)


@kernel("saxpy.ptx", "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)", [0, 1, 1000, 4097])
def saxpy(rng, n):
    return saxpy_case(rng, n)


# Not without a prototype: the image carries one. test_carried.py gets the kernel by its name.
@kernel("saxpy_carried.ptx", "saxpy_carried(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)", [0, 1000], raw=False)
def saxpy_carried(rng, n):
    return saxpy_case(rng, n)


@kernel("fill.ptx", "fill(p: out f64[n], v: f64, n: u64 = n)", [1, 1000])
def fill(rng, n):
    return Case([out(np.full(n, -0.1)), given(-0.1), filled(n)], blocks(n, 96), 96)


@kernel(
    "transpose2d.ptx",
    "transpose2d(src: i32[rows, cols], dst: out i32[cols, rows], rows: i32 = rows, cols: i32 = cols)",
    [(1, 7), (33, 50)],
)
def transpose2d(rng, rows, cols):
    x = ints(rng, -999, 999, rows, cols)
    return Case([given(x), out(x.T.copy()), filled(rows), filled(cols)], (blocks(cols, 16), blocks(rows, 8)), (16, 8))


MATMUL = "(a: f32[m, k], b: f32[k, n], c: out f32[m, n], m: i32 = m, n: i32 = n, k: i32 = k{more})"


def matmul(rng, m, n, k, grid, block, shared=0, more=()):
    a, b = floats(rng, m, k), floats(rng, k, n)
    c = (a.astype(np.float64) @ b).astype(np.float32)
    return Case([given(a), given(b), out(c, 1e-5, 1e-4), filled(m), filled(n), filled(k), *more], grid, block, shared)


@kernel("matmul_naive.ptx", "matmul_naive" + MATMUL.format(more=""), [(1, 1, 1), (17, 33, 40)])
def matmul_naive(rng, m, n, k):
    return matmul(rng, m, n, k, (blocks(n, 8), blocks(m, 8)), (8, 8))


STRIDED = (
    "strided_copy(src: f32[n] @strided, src_stride: i64 = stride(src, 0), dst: inout f32[n] @strided, "
    "dst_stride: i64 = stride(dst, 0), n: i32 = n)"
)


def strided(rng, n, step_from, step_to):
    src, dst = floats(rng, n * abs(step_from)), floats(rng, n * abs(step_to))
    from_view, to_view = slice(None, None, step_from), slice(None, None, step_to)
    after = dst.copy()
    after[to_view] = src[from_view]
    return Case(
        [given(src, from_view), filled(step_from), inout(dst, after, view=to_view), filled(step_to), filled(n)],
        blocks(n, 64),
        64,
    )


@kernel("strided_copy.ptx", STRIDED, [1, 200], raw=False)
def strided_copy(rng, n):
    return strided(rng, n, 3, 2)


@kernel("strided_copy.ptx", STRIDED, [200], raw=False, without=["torch", "torch_host"])
def strided_copy_backwards(rng, n):
    return strided(rng, n, -1, -2)


@kernel("struct_arg.ptx", "struct_arg(p: bytes(24, 8), x: f32[n], y: out f64[n], n: i32 = n)", [(300, 0), (300, 1)])
def struct_arg(rng, n, clamp):
    x = floats(rng, n)
    y = 2.5 * x.astype(np.float64) + np.float32(0.75)
    if clamp:
        y = np.minimum(y, 1.1)
    return Case(
        [given(struct.pack("<ffi4xd", 2.5, 0.75, clamp, 1.1)), given(x), out(y, 1e-6, 1e-6), filled(n)],
        blocks(n, 128),
        128,
    )


@kernel("half_add.ptx", "half_add(a: f16[n], b: f16[n], c: out f16[n], n: i32 = n)", [1, 500])
def half_add(rng, n):
    a, b = floats(rng, n).astype(np.float16), floats(rng, n).astype(np.float16)
    return Case([given(a), given(b), out(a + b), filled(n)], blocks(n, 128), 128)


@kernel(
    "half2_axpy.ptx",
    "half2_axpy(a: f16, x: f16[pairs, 2] @align(4), y: inout f16[pairs, 2] @align(4), pairs: i32 = pairs)",
    [1, 300],
)
def half2_axpy(rng, pairs):
    a = np.float16(0.333)
    x, y = floats(rng, pairs, 2).astype(np.float16), floats(rng, pairs, 2).astype(np.float16)
    after = (np.float64(a) * x.astype(np.float64) + y.astype(np.float64)).astype(
        np.float16
    )  # the f64 is exact, so that this rounds once
    return Case([given(float(a), raw=a.tobytes()), given(x), inout(y, after), filled(pairs)], blocks(pairs, 64), 64)


def to_bf16(value):
    """The bits of the nearest bf16 (ties to even): eight significant bits, then the upper half of an f32."""
    mantissa, exponent = np.frexp(np.asarray(value, np.float64))
    rounded = np.ldexp(np.rint(mantissa * 256), exponent - 8).astype(np.float32)
    return (rounded.view(np.uint32) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


@kernel(
    "bf16_axpy.ptx",
    "bf16_axpy(a: f32, x: b16[pairs, 2] @align(4), y: inout b16[pairs, 2] @align(4), greater: out f32[pairs], "
    "pairs: i32 = pairs)",
    [1, 300],
)
def bf16_axpy(rng, pairs):
    a = from_bf16(to_bf16([1.7]))[0]
    x, y = to_bf16(floats(rng, pairs, 2)), to_bf16(floats(rng, pairs, 2))
    after = to_bf16(np.float64(a) * from_bf16(x).astype(np.float64) + from_bf16(y))
    greater = from_bf16(after).max(axis=1)
    return Case([given(1.7), given(x), inout(y, after), out(greater), filled(pairs)], blocks(pairs, 64), 64)


def splitmix(z):
    word = 2**64 - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & word
    z = (z ^ z >> 27) * 0x94D049BB133111EB & word
    return z ^ z >> 31


def leading_zeros(value, bits):
    return bits - value.bit_length()


def hash_of(x, seed, i):
    """What hash64 does to one value, in unbounded integers."""
    h = splitmix(x + seed * (i + 1) & 2**64 - 1)
    lo, hi = h & 2**32 - 1, h >> 32
    reversed64, reversed_hi = int(f"{h:064b}"[::-1], 2), int(f"{hi:032b}"[::-1], 2)
    turned = (h << (i & 63) | h >> (63 - (i & 63))) & 2**64 - 1
    above = h & ~0xFF
    first = (above & -above).bit_length()
    counts = h.bit_count() | leading_zeros(h >> (i & 31), 64) << 8 | first << 16 | leading_zeros(lo, 32) << 24
    shuffled = lo & 0xFF | (hi & 0xFF) << 8 | (lo >> 8 & 0xFF) << 16 | (hi >> 8 & 0xFF) << 24
    funnel = h << (i & 31) >> 32 & 2**32 - 1
    return reversed64 ^ turned, h * x >> 64, (counts ^ shuffled ^ funnel ^ reversed_hi >> 7 ^ lo * hi >> 32) & 2**32 - 1


@kernel(
    "hash64.ptx",
    "hash64(x: u64[n], seed: u64, hashes: out u64[n], high: out u64[n], bits: out u32[n], n: u32 = n)",
    [1, 333],
)
def hash64(rng, n):
    x, seed = rng.integers(0, 2**64, n, np.uint64), 0x9E3779B97F4A7C15
    hashes, high, bits = zip(*(hash_of(int(v), seed, i) for i, v in enumerate(x)), strict=True)
    outputs = [out(np.array(hashes, np.uint64)), out(np.array(high, np.uint64)), out(np.array(bits, np.uint32))]
    return Case([given(x), given(seed), *outputs, filled(n)], blocks(n, 128), 128)


def truncated(a, b):
    """C's division."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def signed(value, bits):
    value &= 2**bits - 1
    return value - 2**bits if value >> bits - 1 else value


def integers_of(x, y, z, w):
    by = w | 1
    quotient = truncated(x, by)
    high = (x * y >> 32) + signed(z, 24) * signed(w, 24) + abs(z) + abs(x - y) + 5
    dot = sum(signed(x >> s, 8) * signed(y >> s, 8) for s in (0, 8, 16, 24)) + z + min(x, w) - max(y, z)
    wide = truncated(x << 32 | y & 2**32 - 1, z | 1) + w * x + (x * y >> 2)
    return (quotient, y - truncated(y, by) * by, signed(high, 32), signed(dot, 32)), signed(wide, 64)


@kernel(
    "integers.ptx",
    "integers(x: i32[n, 4] @align(16), y: out i32[n, 4] @align(16), narrow: i8[n, 2], "
    "sums: out i16[n], wide: out i64[n], n: i32 = n)",
    [1, 200],
)
def integers(rng, n):
    x, narrow = ints(rng, -(2**31) + 1, 2**31, n, 4), ints(rng, -128, 128, n, 2, dtype=np.int8)
    y, wide = zip(*(integers_of(*map(int, row)) for row in x), strict=True)
    sums = [signed(signed(int(a) + int(b), 8) * (int(a) - int(b)), 16) >> 1 for a, b in narrow]
    outputs = [out(np.array(sums, np.int16)), out(np.array(wide, np.int64))]
    return Case([given(x), out(np.array(y, np.int32)), given(narrow), *outputs, filled(n)], blocks(n, 64), 64)


def to_int(value, rounding, bits, unsigned=False, nan=0):
    """A conversion of PTX: clamped to the type; a NaN gives 0 from f32 to 32 bits, else only the top bit."""
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if math.isnan(value):
        return nan
    if math.isinf(value):
        return high if value > 0 else low
    return max(low, min(high, int(rounding(value))))


def toward_zero(value):
    """The nearest f32 that is not greater, of a number that is not negative."""
    near = np.float32(value)
    return near if float(near) <= value else np.nextafter(near, np.float32(0))


CONVERSIONS = (
    "conversions(x: f32[n], d: f64[n], whole: out i32[n, 6], wide: out i64[n, 2], "
    "single: out f32[n, 4], narrow: out u8[n], n: i32 = n)"
)


@kernel("conversions.ptx", CONVERSIONS, [100])
def conversions(rng, n):
    special = [
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.0,
        -0.0,
        3e9,
        -3e9,
        5e9,
        1e20,
        -1e20,
        np.inf,
        -np.inf,
        np.nan,
        127.4,
        -200.75,
        0.999,
    ]
    x = np.concatenate([np.float32(special), floats(rng, n - len(special)) * 300])
    d = np.concatenate([np.float64(special), rng.standard_normal(n - len(special)) * 1e12])
    whole, wide, single, narrow = [], [], [], []
    with np.errstate(over="ignore"):
        for v, w in zip(x.tolist(), d.tolist(), strict=True):
            whole.append(
                [
                    to_int(v, round, 32),
                    to_int(v, math.trunc, 32),
                    to_int(v, math.ceil, 32),
                    to_int(v, math.floor, 32),
                    signed(to_int(v, round, 32, unsigned=True), 32),
                    to_int(w, math.trunc, 32, nan=-(2**31)),
                ]
            )
            wide.append(
                [to_int(w, round, 64, nan=-(2**63)), signed(to_int(v, math.trunc, 64, unsigned=True, nan=2**63), 64)]
            )
            clipped = 0.0 if math.isnan(v) else min(max(v, 0.0), 1.0)
            bits = int(np.float32(v).view(np.uint32))
            single.append([np.float32(w), clipped, toward_zero(bits), signed(to_int(v, math.trunc, 32), 8)])
            narrow.append(to_int(float(np.float32(v) * np.float32(3)), round, 32) & 0xFF)
    outputs = [
        out(np.array(whole, np.int32)),
        out(np.array(wide, np.int64)),
        out(np.array(single, np.float32)),
        out(np.array(narrow, np.uint8)),
    ]
    return Case([given(x), given(d), *outputs, filled(n)], blocks(n, 64), 64)


@kernel(
    "math_functions.ptx",
    "math_functions(x: f32[n], d: f64[n], f: out f32[n, 12], g: out f64[n, 6], n: i32 = n)",
    [(40, 3), (200, 100), (40, 1000000)],
)
def math_functions(rng, n, scale):
    x, d = floats(rng, n) * np.float32(scale), rng.standard_normal(n) * scale
    v, p = x.astype(np.float64), (np.abs(x) + np.float32(0.25)).astype(np.float64)
    hundredth = (x * np.float32(0.01)).astype(np.float64)
    q = np.abs(d) + 0.25
    with np.errstate(over="ignore"):
        f = [
            np.sin(v),
            np.cos(v),
            np.exp(hundredth),
            np.log(p),
            np.sqrt(p),
            1 / np.sqrt(p),
            p**1.5,
            np.tanh(v),
            np.floor(v),
            np.rint(v),
            np.fmod(v, 3.0),
            np.arctan2(v, 2.0),
        ]
        g = [np.sin(d), np.exp(d * 0.01), np.log(q), np.sqrt(q), d / q, np.cbrt(d)]
        f32 = np.stack(f, axis=1).astype(np.float32)
    return Case(
        [given(x), given(d), out(f32, 2e-6, 2e-6), out(np.stack(g, axis=1), 1e-14, 1e-14), filled(n)], blocks(n, 64), 64
    )


@kernel("complex_mul.ptx", "complex_mul(w: c64, x: c64[n], y: c64[n], z: out c64[n], n: i32 = n)", [1, 200])
def complex_mul(rng, n):
    x, y = ((floats(rng, n) + 1j * floats(rng, n)).astype(np.complex64) for _ in range(2))
    w = np.complex64(0.6 - 0.8j)
    z = (np.complex128(w) * x.astype(np.complex128) * y.conj()).astype(np.complex64)
    return Case(
        [given(complex(w), raw=w.tobytes()), given(x), given(y), out(z, 1e-5, 1e-5), filled(n)], blocks(n, 64), 64
    )


SCALARS = (
    "scalars(flag: bool, a: i8, b: u8, c: i16, d: u16, e: i32, f: u32, g: i64, h: u64, half: f16, single: f32, "
    "double: f64, values: out f64[10], words: out u64[2])"
)


@kernel("scalars.ptx", SCALARS, [0, 1])
def scalars(rng, high):
    limits = (
        [True, 127, 255, 2**15 - 1, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1]
        if high
        else [False, -128, 0, -(2**15), 0, -(2**31), 0, -(2**63), 1]
    )
    half, single, double = np.float16(-0.1), np.float32(1e-3), 1e300
    values = np.array([*limits[:7], half, single, double], np.float64)
    words = np.array([limits[7] & 2**64 - 1, limits[8]], np.uint64)
    return Case(
        [
            *map(given, limits),
            given(float(half), raw=half.tobytes()),
            given(1e-3),
            given(double),
            out(values),
            out(words),
        ],
        1,
        32,
    )


@kernel(
    "permute3d.ptx",
    "permute3d(src: i16[d, h, w], dst: out i16[w, d, h], place: out u32[d, h, w], d: i32 = d, h: i32 = h, w: i32 = w)",
    [(1, 1, 1), (5, 9, 19)],
)
def permute3d(rng, depth, height, width):
    x = ints(rng, -(2**15), 2**15, depth, height, width, dtype=np.int16)
    block, grid = (8, 4, 2), (blocks(width, 8), blocks(height, 4), blocks(depth, 2))
    d, h, w = np.indices(x.shape)
    place = ((d // 2 * grid[1] + h // 4) * grid[0] + w // 8).astype(np.uint32)
    return Case([given(x), out(x.transpose(2, 0, 1).copy()), out(place), *map(filled, x.shape)], grid, block)


MANDELBROT = (
    "mandelbrot(steps: out i32[rows, cols], rows: i32 = rows, cols: i32 = cols, "
    "left: f64, top: f64, scale: f64, limit: i32)"
)


@kernel("mandelbrot.ptx", MANDELBROT, [(20, 50)])
def mandelbrot(rng, rows, cols):
    left, top, scale, limit = -2.1, 1.2, 0.06, 60
    re, im = (a.ravel() for a in np.meshgrid(left + scale * np.arange(cols), top - scale * np.arange(rows)))
    x, y, steps = np.zeros(re.size), np.zeros(re.size), np.zeros(re.size, np.int32)
    alive = np.ones(re.size, bool)
    for _ in range(limit):
        alive &= x * x + y * y <= 4.0
        x, y = np.where(alive, x * x - y * y + re, x), np.where(alive, (x + x) * y + im, y)
        steps += alive
    return Case(
        [out(steps.reshape(rows, cols)), filled(rows), filled(cols), *map(given, (left, top, scale, limit))],
        (blocks(cols, 16), blocks(rows, 8)),
        (16, 8),
    )


@kernel(
    "local_array.ptx", "local_array(x: i32[n], y: out i32[n], n: i32 = n, window: i32)", [(1, 9), (300, 9), (70, 31)]
)
def local_array(rng, n, window):
    x = ints(rng, -1000, 1000, n)
    reach = window // 2
    windows = [sorted(x[max(0, i - reach) : i + reach + 1]) for i in range(n)]
    return Case(
        [given(x), out(np.array([w[len(w) // 2] for w in windows], np.int32)), filled(n), given(window)],
        blocks(n, 64),
        64,
    )


def grade(op, a, b):
    by_op = [
        a + b,
        a - b,
        a * b,
        truncated(a, b) if b else -1,
        a - truncated(a, b) * b if b else -2,
        a & b,
        a | b << 3,
        a ^ b,
    ]
    return by_op[op] if 0 <= op < 8 else op


@kernel(
    "device_functions.ptx",
    "device_functions(origin: f32[n], slope: f32[n], op: i32[n], where: out f64[n], score: out i32[n], n: i32 = n)",
    [1, 300],
)
def device_functions(rng, n):
    origin, slope, op = floats(rng, n) * np.float32(5), floats(rng, n) * np.float32(5), ints(rng, -1, 10, n)
    at, bounces, steps = origin.copy(), np.zeros(n, int), np.arange(n) % 7
    for s in range(6):
        moving = s < steps
        at = np.where(moving, at + slope, at)
        bounces += moving & (at > 8.0)
    kind = bounces * 2 + (slope < 0)
    score = [grade(int(o), int(k) * 37 - 50, int(b)) for o, k, b in zip(op, kind, bounces, strict=True)]
    return Case(
        [
            given(origin),
            given(slope),
            given(op),
            out(100.0 - at.astype(np.float64)),
            out(np.array(score, np.int32)),
            filled(n),
        ],
        blocks(n, 128),
        128,
    )


RETURN, PUSH, INPUT, DUP, ADD, SUB, MUL, DIV, SHIFT, XOR, SWAP, JUMP_IF, JUMP, PICK, PUT, NEGATE = range(16)
PROGRAMS = [  # the code, and what it must give for x
    ([INPUT, DUP, MUL, (PUSH, 3), MUL, (PUSH, 7), SUB, NEGATE, RETURN], lambda x: 7 - 3 * x * x),
    (
        [(PUSH, 0), INPUT, DUP, (PICK, 2), ADD, (PUT, 1), (PUSH, 1), SUB, DUP, (JUMP_IF, -8), SWAP, RETURN],
        lambda x: x * (x + 1) // 2,
    ),
    (
        [INPUT, (PUSH, 1000), SWAP, DIV, (PUSH, -9), SWAP, DIV, RETURN],
        lambda x: truncated(-9, 1000 // x) if 1000 // x else 0,
    ),
    ([INPUT, DUP, (SHIFT, 3), XOR, RETURN], lambda x: x ^ x >> 3),
    ([(JUMP, -1)], lambda x: -1),
]


@kernel(
    "stack_machine.ptx",
    "stack_machine(code: i32[size], start: i32[n], input: i64[n], result: out i64[n], n: i32 = n)",
    [1, 150],
)
def stack_machine(rng, n):
    code, starts = [], []
    for program, _ in PROGRAMS:
        starts.append(len(code))
        code += [word[0] | word[1] << 8 if isinstance(word, tuple) else word for word in program]
    which, x = rng.integers(0, len(PROGRAMS), n), ints(rng, 1, 100, n, dtype=np.int64)
    result = [PROGRAMS[p][1](int(v)) for p, v in zip(which, x, strict=True)]
    return Case(
        [
            given(np.array(code, np.int32)),
            given(np.array(starts, np.int32)[which]),
            given(x),
            out(np.array(result, np.int64)),
            filled(n),
        ],
        blocks(n, 96),
        96,
    )


@kernel("template_scale.ptx", "_Z14template_scaleIfLi3EEvPT_i(x: inout f32[n], n: i32 = n)", [1, 130])
def template_scale_float(rng, n):
    x = floats(rng, n)
    return Case([inout(x, x * np.float32(3)), filled(n)], blocks(n, 64), 64)


@kernel("template_scale.ptx", "_Z14template_scaleIxLin2EEvPT_i(x: inout i64[n], n: i32 = n)", [130])
def template_scale_long(rng, n):
    x = ints(rng, -(2**40), 2**40, n, dtype=np.int64)
    return Case([inout(x, x * -2), filled(n)], blocks(n, 64), 64)


@kernel("global_counter.ptx", "global_counter(x: f32[n], n: i32 = n)", [1, 1000])
def global_counter(rng, n):
    x, threshold = floats(rng, n), np.float32([0.25])
    hits = np.array([(x > threshold).sum()], np.uint32)
    return Case(
        [given(x), filled(n)],
        blocks(n, 128),
        128,
        symbols=[Symbol("threshold", threshold, threshold), Symbol("hits", np.zeros(1, np.uint32), hits)],
    )


@kernel("report_printf.ptx", "report_printf(x: f32[n], limit: f32, n: i32 = n)", [100])
def report_printf(rng, n):
    x = floats(rng, n)
    lines = [f"value {i} of {n}: {v:.3f} ({i << 33})" for i, v in enumerate(x.tolist()) if v > 1.0]
    return Case([given(x), given(1.0), filled(n)], blocks(n, 64), 64, lines=lines)
