"""The arithmetic of views: indexing and reshaping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dlaunch import _tensor
from dlaunch._errors import ArgumentError, TensorError
from dlaunch._sizes import whole, wholes


def indexed(key: Any, shape: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int], int]:
    """Give the shape, strides and offset (in elements) of what ints, slices and one `...` pick.

    IndexError as NumPy has it; ArgumentError for any other kind of index.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [at for at, item in enumerate(keys) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can have one ... only")
    missing = len(shape) - (len(keys) - len(dots))
    if missing < 0:
        raise IndexError(f"{len(keys) - len(dots)} indices for an array of {len(shape)} axes")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * missing
    new_shape, new_strides, offset = [], [], 0
    for axis, (item, extent, stride) in enumerate(zip(keys, shape, strides, strict=True)):
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            new_shape.append(count)
            new_strides.append(step * stride)
            continue
        index = whole(item)
        if index is None:
            raise ArgumentError(f"index {item!r} of axis {axis}: an int, a slice or ... is wanted")
        if not -extent <= index < extent:
            raise IndexError(f"index {index} is out of bounds for axis {axis} with {extent} elements")
        offset += (index + extent if index < 0 else index) * stride
    return new_shape, new_strides, offset


def reshaped(shape: Any, size: int) -> tuple[int, ...]:
    """Check a shape for that many elements, and fill in its -1."""
    extents = wholes("reshape: shape", shape)
    rest = math.prod(e for e in extents if e != -1)
    if extents.count(-1) == 1 and rest > 0 and size % rest == 0:
        extents[extents.index(-1)] = size // rest
    if any(e < 0 for e in extents) or math.prod(extents) != size:
        raise TensorError(f"reshape: {size} elements have no shape {extents}")
    return tuple(extents)


def reshaped_strides(shape: Sequence[int], strides: Sequence[int], extents: Sequence[int]) -> Sequence[int] | None:
    """Give the strides that show the same elements in the same order in another shape; None if there are none."""
    if 0 in shape:
        return _tensor.c_strides(extents)
    runs: list[tuple[int, int]] = []  # axes that are one, outermost first
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            extent *= runs.pop()[0]
        runs.append((extent, stride))
    found, left, step = [], 1, 1
    for extent in reversed(extents):
        if extent > 1 and left == 1:
            left, step = runs.pop()
        if left % extent:
            return None
        found.append(step)
        left, step = left // extent, step * extent
    return found[::-1]


def broadcast(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """Give the strides that show an array in a wanted shape, as NumPy broadcasts. TensorError if it does not fit."""
    extra = len(shape) - len(wanted)
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        shape, strides, extra = shape[extra:], strides[extra:], 0
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    if extra > 0 or any(n not in (1, m) for n, m in pairs):
        raise TensorError(f"assignment: shape {list(shape)} given, {list(wanted)} wanted")
    return [0] * -extra + [s if n != 1 else 0 for n, s in zip(shape, strides, strict=True)]
