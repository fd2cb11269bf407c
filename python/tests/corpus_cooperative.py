"""Kernels of CUDA C++ whose threads work together: shared memory, barriers, shuffles, votes, atomics."""

from __future__ import annotations

import numpy as np
from corpus_case import Case, blocks, filled, floats, given, inout, ints, kernel, out
from corpus_elementwise import MATMUL, matmul

WORD = 2**32 - 1


@kernel("block_sum.ptx", "block_sum(x: f32[n], partial: out f32[blocks], n: i32 = n)", [1, 128, 1000])
def block_sum(rng, n):
    x = ints(rng, -100, 100, n, dtype=np.float32)  # whole numbers: exact in any order
    grid = blocks(n, 128)
    partial = np.resize(np.append(x, np.zeros(grid * 128 - n)), (grid, 128)).sum(axis=1).astype(np.float32)
    return Case([given(x), out(partial), filled(n)], grid, 128)


@kernel(
    "histogram.ptx", "histogram(x: i32[n], n: i32 = n, bins: i32 = bins, counts: inout i32[bins])", [(1, 4), (3000, 37)]
)
def histogram(rng, n, bins):
    x, counts = ints(rng, -2, bins + 2, n), ints(rng, 0, 9, bins)
    after = counts + np.bincount(x[(x >= 0) & (x < bins)], minlength=bins).astype(np.int32)
    return Case([given(x), filled(n), filled(bins), inout(counts, after)], 3, 64)


@kernel(
    "softmax.ptx", "softmax(x: f32[rows, cols], y: out f32[rows, cols], cols: i32 = cols)", [(1, 1), (3, 33), (5, 1000)]
)
def softmax(rng, rows, cols):
    return softmax_case(floats(rng, rows, cols), 96)


def softmax_case(x, block, shared=0, more=()):
    x = x * np.float32(4)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    y = (e / e.sum(axis=1, keepdims=True)).astype(np.float32)
    return Case([given(x), out(y, 1e-5, 1e-7), filled(x.shape[1]), *more], x.shape[0], block, shared)


@kernel(
    "scan.ptx",
    "scan(x: i32[n], y: out i32[n], totals: out i32[blocks], n: i32 = n)",
    [(1, 32), (700, 96), (2048, 1024)],
)
def scan(rng, n, block):
    x, grid = ints(rng, -999, 999, n), blocks(n, block)
    sums = np.append(x, np.zeros(grid * block - n, np.int32)).reshape(grid, block).cumsum(axis=1).astype(np.int32)
    return Case([given(x), out(sums.ravel()[:n].copy()), out(sums[:, -1].copy()), filled(n)], grid, block)


STENCIL = (
    "stencil(x: f32[rows, cols], y: out f32[rows, cols], rows: i32 = rows, cols: i32 = cols, centre: f32, side: f32)"
)


@kernel("stencil.ptx", STENCIL, [(1, 1), (16, 32), (37, 50)])
def stencil(rng, rows, cols):
    x = floats(rng, rows, cols)
    p = np.pad(x.astype(np.float64), 1)
    y = -4.0 * p[1:-1, 1:-1] + 0.5 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    return Case(
        [given(x), out(y.astype(np.float32), 1e-5, 1e-5), filled(rows), filled(cols), given(-4.0), given(0.5)],
        (blocks(cols, 16), blocks(rows, 16)),
        (16, 16),
    )


@kernel("matmul_tiled.ptx", "matmul_tiled" + MATMUL.format(more=""), [(1, 1, 1), (33, 47, 50)])
def matmul_tiled(rng, m, n, k):
    return matmul(rng, m, n, k, (blocks(n, 16), blocks(m, 16)), (16, 16))


@kernel(
    "moments.ptx", "moments(x: f64[n], n: i32 = n, sum: inout f64[1], low: inout i64[1], high: inout i64[1])", [1, 1500]
)
def moments(rng, n):
    x = ints(rng, -(10**9), 10**9, n, dtype=np.float64) / 4  # exact in any order
    low, high = (np.array([int(np.floor(end))]) for end in (x.min(), x.max()))
    none = np.iinfo(np.int64)
    sums = inout(np.array([0.5]), np.array([0.5 + x.sum()]))
    return Case([given(x), filled(n), sums, inout(np.array([none.max]), low), inout(np.array([none.min]), high)], 4, 96)


@kernel(
    "atomics.ptx",
    "atomics(x: u32[n], n: i32 = n, words: inout u32[13], wide: inout u64[4], fsum: inout f32[1])",
    [1, 500],
)
def atomics(rng, n):
    x = ints(rng, 0, 2**32, n, dtype=np.uint32)
    v = x.tolist()
    total = sum(v)
    words = np.array([7, 7, WORD, 0, WORD, 1, 3, 0, 4, -(2**31) & WORD, 0, 0, 1], np.uint32)
    after = np.array(
        [
            7 + total & WORD,
            7 - total & WORD,
            x.min(),
            x.max(),
            np.bitwise_and.reduce(x | 0xFF),
            1 | np.bitwise_or.reduce(x & 0xFF00),
            3 ^ np.bitwise_xor.reduce(x),
            n % 10,
            (4 - n) % 7,
            x.view(np.int32).max().view(np.uint32),
            1,
            1,
            pow(5, n, 2**32),
        ],
        np.uint32,
    )
    both = [word << 32 | word for word in v]
    xor = int(np.bitwise_xor.reduce(np.array(both, np.uint64)))
    wide_after = np.array([sum(word << 20 for word in v) % 2**64, max(v) ** 2, xor, total], np.uint64)
    fsum = np.float32([sum(word & 7 for word in v)])
    return Case(
        [
            given(x),
            filled(n),
            inout(words, after),
            inout(np.zeros(4, np.uint64), wide_after),
            inout(np.zeros(1, np.float32), fsum),
        ],
        blocks(n, 64),
        64,
    )


@kernel(
    "dynamic_shared.ptx",
    "dynamic_shared(x: f64[n], y: out f64[n], per_block: i32, n: i32 = n)",
    [(1, 1), (1050, 100), (20000, 8000)],
)
def dynamic_shared(rng, n, per_block):
    x = rng.standard_normal(n)
    y = np.concatenate([x[first : first + per_block][::-1] for first in range(0, n, per_block)])
    return Case(
        [given(x), out(y), given(per_block), filled(n)], blocks(n, per_block), 128, shared=8 * per_block
    )  # 8000: beyond 48 KiB


VOTE = (
    "warp_vote(x: i32[n], kept: inout i32[n], ballots: out u32[warps], counts: out i32[warps], votes: out i32[warps], "
    "peers: out u32[n], n: i32 = n)"
)


@kernel("warp_vote.ptx", VOTE, [1, 64, 500])
def warp_vote(rng, n):
    block, grid = 64, blocks(n, 64)
    x = ints(rng, -100, 101, n)
    x[:32] = -np.abs(x[:32])  # one warp keeps nothing
    lanes = np.append(x, np.zeros(grid * block - n, np.int32)).reshape(-1, 32).tolist()
    kept, peers = np.full(n, -7, np.int32), []
    after = kept.copy()
    ballots, counts, votes = [], [], []
    for warp, values in enumerate(lanes):
        positive = [v for v in values if v > 0]
        after[warp * 32 : warp * 32 + len(positive)] = positive
        ballots.append(sum(1 << lane for lane, v in enumerate(values) if v > 0))
        counts.append(len(positive))
        votes.append(any(v < -90 for v in values) * 2 + all(v > -95 for v in values))
        first = positive[0] if positive else values[0]
        there = range(min(32, max(0, n - warp * 32)))
        for lane in there:
            same = sum(1 << other for other in there if values[other] & 3 == values[lane] & 3)
            neighbour = values[lane] if lane % 8 == 7 else values[lane + 1]
            peers.append((same ^ first * 31 + neighbour) & WORD)
    outputs = [
        out(np.array(ballots, np.uint32)),
        out(np.array(counts, np.int32)),
        out(np.array(votes, np.int32)),
        out(np.array(peers, np.uint32)),
    ]
    return Case([given(x), inout(kept, after), *outputs, filled(n)], grid, block)


@kernel(
    "last_block.ptx",
    "last_block(x: i32[n], partial: out i64[blocks], left: inout u32[1], total: out i64[1], n: i32 = n)",
    [(1, 1), (5000, 7)],
)
def last_block(rng, n, grid):
    x = ints(rng, -(2**31), 2**31, n)
    owner = np.arange(n) // 128 % grid
    partial = np.array([x[owner == b].sum(dtype=np.int64) for b in range(grid)])
    left = inout(np.zeros(1, np.uint32), np.zeros(1, np.uint32))
    return Case([given(x), out(partial), left, out(np.array([x.sum(dtype=np.int64)])), filled(n)], grid, 128)
