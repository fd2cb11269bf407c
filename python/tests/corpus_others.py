"""Kernels that clang, Triton and numba-cuda made: other parameters, other habits in the text."""

from __future__ import annotations

import math

import numpy as np
from corpus_case import Case, blocks, filled, floats, given, inout, ints, kernel, out
from corpus_cooperative import softmax_case
from corpus_elementwise import MATMUL, matmul

SCRATCH = "scratch: ptr = 0, prof: ptr = 0"  # Triton's hidden pointers; these kernels use neither
NO_SCRATCH = [filled(0), filled(0)]


def numba_1d(name, mode, dtype, size, itemsize):
    """The seven parameters that numba-cuda makes of a one-dimensional array."""
    return (
        f"{name}_meminfo: ptr = 0, {name}_parent: ptr = 0, {name}_nitems: i64 = {size}, "
        f"{name}_itemsize: i64 = {itemsize}, {name}: {mode} {dtype}[{size}], "
        f"{name}_shape: i64 = {size}, {name}_stride: i64 = {itemsize}"
    )


def numba_array(argument):
    n, itemsize = argument.value.size, argument.value.itemsize
    return [*map(filled, (0, 0, n, itemsize)), argument, filled(n), filled(itemsize)]


@kernel("clamp_clang.ptx", "clamp_clang(x: inout i32[n], lo: i32, hi: i32, n: i32 = n)", [1, 300])
def clamp_clang(rng, n):
    x = ints(rng, -100, 100, n)
    return Case([inout(x, x.clip(-30, 50)), given(-30), given(50), filled(n)], blocks(n, 128), 128)


@kernel("gcd_clang.ptx", "gcd_clang(a: u64[n], b: u64[n], g: out u64[n], rounds: out i32[n], n: i64 = n)", [1, 300])
def gcd_clang(rng, n):
    common = rng.integers(1, 2**20, n, np.uint64)
    a, b = common * rng.integers(0, 2**40, n, np.uint64), common * rng.integers(0, 2**40, n, np.uint64)
    rounds = np.zeros(n, np.int32)
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        while y:
            x, y = y, x % y
            rounds[i] += 1
    g = np.array([math.gcd(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)], np.uint64)
    return Case([given(a), given(b), out(g), out(rounds), filled(n)], 2, 64)


@kernel("rotate_clang.ptx", "rotate_clang(x: f32[n], y: out f64[n], by: u32, n: u32 = n)", [(1, 0), (500, 37)])
def rotate_clang(rng, n, by):
    block, grid = 128, blocks(n, 128)
    x = floats(rng, n)
    padded = np.append(x, np.zeros(grid * block - n, np.float32)).reshape(grid, block).astype(np.float64)
    weights = np.array([1.0, -0.5, 2.0, 0.25, -4.0])
    y = np.roll(padded, by, axis=1).ravel()[:n] * weights[np.arange(n) % 5]
    return Case([given(x), out(y), given(by), filled(n)], grid, block)


@kernel("relu_triton.ptx", f"relu_triton(x: f32[n], y: out f32[n], n: i32 = n, {SCRATCH})", [1, 1000])
def relu_triton(rng, n):
    x = floats(rng, n)
    return Case([given(x), out(np.maximum(x, 0)), filled(n), *NO_SCRATCH], blocks(n, 256), 128)


@kernel(
    "softmax_triton.ptx",
    f"softmax_triton(x: f32[rows, cols], y: out f32[rows, cols], cols: i32 = cols, {SCRATCH})",
    [(1, 1), (4, 300), (3, 512)],
)
def softmax_triton(rng, rows, cols):
    return softmax_case(floats(rng, rows, cols), 128, shared=16, more=NO_SCRATCH)


@kernel("matmul_triton.ptx", "matmul_triton" + MATMUL.format(more=f", {SCRATCH}"), [(1, 1, 1), (33, 47, 50)])
def matmul_triton(rng, m, n, k):
    return matmul(rng, m, n, k, (blocks(m, 16), blocks(n, 16)), 64, shared=2048, more=NO_SCRATCH)


# numba's entries have long mangled names, so that the prototype gives none and the module's only kernel is meant


@kernel(
    "scale_numba.ptx",
    f"({numba_1d('x', 'in', 'f32', 'n', 4)}, factor: f64, {numba_1d('y', 'out', 'f32', 'n', 4)})",
    [1, 300],
)
def scale_numba(rng, n):
    x = floats(rng, n)
    y = (x.astype(np.float64) * 1.1).astype(np.float32)
    return Case([*numba_array(given(x)), given(1.1), *numba_array(out(y))], blocks(n, 128), 128)


@kernel("scale_numba.ptx", "(x: f32[n] @numba, factor: f64, y: out f32[n] @numba)", [1, 300], raw=False)
def scale_numba_arrays(rng, n):
    x = floats(rng, n)
    y = (x.astype(np.float64) * 1.1).astype(np.float32)
    return Case([given(x), given(1.1), out(y)], blocks(n, 128), 128)


@kernel(
    "block_max_numba.ptx",
    f"({numba_1d('x', 'in', 'f32', 'n', 4)}, {numba_1d('largest', 'out', 'f32', 'blocks', 4)})",
    [1, 64, 500],
)
def block_max_numba(rng, n):
    x, grid = floats(rng, n), blocks(n, 64)
    largest = np.array([x[first : first + 64].max() for first in range(0, n, 64)])
    return Case([*numba_array(given(x)), *numba_array(out(largest))], grid, 64)


BINCOUNT = ", ".join(
    [
        numba_1d("labels", "in", "i32", "n", 4),
        numba_1d("weights", "in", "f64", "n", 8),
        numba_1d("counts", "inout", "i64", "bins", 8),
        numba_1d("sums", "inout", "f64", "bins", 8),
    ]
)


@kernel("bincount_numba.ptx", f"({BINCOUNT})", [(1, 1), (700, 13)])
def bincount_numba(rng, n, bins):
    labels, weights = ints(rng, -2, bins + 2, n), ints(rng, -99, 99, n, dtype=np.float64) / 8  # exact in any order
    inside = (labels >= 0) & (labels < bins)
    counts, sums = ints(rng, 0, 9, bins, dtype=np.int64), np.zeros(bins)
    counted = counts + np.bincount(labels[inside], minlength=bins)
    summed = np.bincount(labels[inside], weights[inside], minlength=bins).astype(np.float64)
    arrays = [given(labels), given(weights), inout(counts, counted), inout(sums, summed)]
    return Case([part for a in arrays for part in numba_array(a)], 3, 64)
