"""Kernels that take `@view` parameters, the structs of dlaunch_device.cuh, whose images carry their prototypes."""

from __future__ import annotations

import numpy as np
from corpus_case import Case, blocks, floats, given, inout, kernel, out

TRANSPOSE = "view_transpose(x: f32[rows,cols] @view, y: out f32[cols,rows] @view)"
STENCIL = (
    "view_stencil(x: f64[planes,rows,cols] @view, w: f64[3] @view, scale: f64[] @view, "
    "y: inout f64[planes,rows,cols] @view)"
)


@kernel("view_transpose.ptx", TRANSPOSE, [(1, 1), (5, 70), (33, 17)], raw=False)
def view_transpose(rng, rows, cols):
    x = floats(rng, rows, cols)
    return Case([given(x), out(x.T.copy())], (blocks(cols, 32), blocks(rows, 4)), (32, 4))


@kernel("view_transpose.ptx", TRANSPOSE, [(20, 30)], raw=False)
def view_transpose_strided(rng, rows, cols):
    """Both of them parts of larger arrays: every second row and every third, from the middle."""
    x, y = floats(rng, 2 * rows + 3, cols), floats(rng, 3 * cols + 4, rows)
    from_rows, to_rows = slice(3, None, 2), slice(4, None, 3)
    after = y.copy()
    after[to_rows] = x[from_rows].T
    return Case([given(x, from_rows), inout(y, after, view=to_rows)], (blocks(cols, 8), blocks(rows, 8)), (8, 8))


@kernel("view_transpose.ptx", TRANSPOSE, [(9, 4)], raw=False, without=["torch", "torch_host"])
def view_transpose_backwards(rng, rows, cols):
    x, y = floats(rng, rows, cols), floats(rng, cols, rows)
    backwards = slice(None, None, -1)
    after = x[::-1].T[::-1].copy()
    return Case([given(x, backwards), inout(y, after, view=backwards)], 1, (4, 9))


@kernel("view_stencil.ptx", STENCIL, [(1, 1, 1), (2, 3, 40), (4, 1, 3)], raw=False)
def view_stencil(rng, planes, rows, cols):
    x, w, scale = rng.standard_normal((planes, rows, cols)), rng.standard_normal(3), np.array(0.5)
    before = rng.standard_normal(x.shape)
    after = before.copy()
    after[..., 1:-1] = scale * (w[0] * x[..., :-2] + w[1] * x[..., 1:-1] + w[2] * x[..., 2:])
    return Case([given(x), given(w), given(scale), inout(before, after, 1e-12, 1e-12)], 2, 64)
