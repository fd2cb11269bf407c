"""Any arguments: what a launch gives is NumPy's result, or a refusal where the rules of docs/arguments.md say so."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from echo import PTX, echo
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import dlaunch

SAXPY = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"
COPY = (
    "strided_copy(src: f32[n] @strided, src_stride: i64 = stride(src, 0), dst: inout f32[n] @strided, "
    "dst_stride: i64 = stride(dst, 0), n: i32 = n)"
)


@pytest.fixture(scope="module")
def saxpy(kernels: Path) -> Iterator[dlaunch.Kernel]:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library.kernel(SAXPY) as kernel:
        yield kernel


@pytest.fixture(scope="module")
def copy(kernels: Path) -> Iterator[dlaunch.Kernel]:
    with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(COPY) as kernel:
        yield kernel


@pytest.fixture(scope="module")
def echoes() -> Iterator[dlaunch.Library]:
    with dlaunch.load(PTX) as library:
        yield library


@st.composite
def vectors(draw: Any, dtypes: Any, sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    """An array of small whole numbers, whose sums and products are exact, and a view of it with any step, also 0."""
    size, step = draw(sizes), draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2, 0]))
    base = np.arange(1 + abs(step) * size, dtype="i4").astype(draw(dtypes))
    if step == 0:
        return base, np.lib.stride_tricks.as_strided(base, (size,), (0,))
    return base, base[::step][:size]


floats = st.just("f4")
few = st.integers(0, 40)


@settings(max_examples=3 * settings().max_examples)  # few fit
@given(a=st.integers(-100, 100), x_of=vectors(st.sampled_from(["f4", "f4", "f8", "i4", "f2"]), few), data=st.data())
def test_saxpy(saxpy: dlaunch.Kernel, a: int, x_of: tuple[np.ndarray, np.ndarray], data: Any) -> None:
    _, x = x_of
    _, y = data.draw(vectors(floats, st.one_of(st.just(x.size), st.just(x.size), few)))
    if data.draw(st.booleans()):
        y = y.copy()
    if data.draw(st.booleans()):
        y.flags.writeable = False
    before = y.copy()
    x_fits = x.dtype == "f4" and x.flags.c_contiguous
    y_fits = y.size == x.size and y.flags.c_contiguous and y.flags.writeable
    if x_fits and y_fits:
        saxpy[2, 32](a, x, y)
        np.testing.assert_array_equal(y, np.float32(a) * x + before)
        return
    with pytest.raises(dlaunch.TensorError) as caught:
        saxpy[2, 32](a, x, y)
    assert caught.value.argument == (2 if x_fits else 1)
    np.testing.assert_array_equal(y, before)


@given(src_of=vectors(floats, few), data=st.data())
def test_strided_copy(copy: dlaunch.Kernel, src_of: tuple[np.ndarray, np.ndarray], data: Any) -> None:
    _, src = src_of
    whole, dst = data.draw(vectors(floats, st.just(src.size)))
    before = whole.copy()
    if dst.size > 1 and dst.strides == (0,):  # it would be written twice
        with pytest.raises(dlaunch.TensorError) as caught:
            copy[2, 32](src, dst)
        assert caught.value.argument == 1
        np.testing.assert_array_equal(whole, before)
        return
    copy[2, 32](src, dst)
    np.testing.assert_array_equal(dst, src)
    dst[:] = 0
    first = (dst.ctypes.data - whole.ctypes.data) // 4
    before[first + dst.strides[0] // 4 * np.arange(dst.size)] = 0
    np.testing.assert_array_equal(whole, before)  # nothing between was written


@given(source=npst.arrays("f4", npst.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)), data=st.data())
def test_slices_of_device_arrays(copy: dlaunch.Kernel, source: np.ndarray, data: Any) -> None:
    """A row of a view of a view, copied by a kernel, is NumPy's."""
    index = data.draw(npst.basic_indices(source.shape, allow_newaxis=False, min_dims=1))
    expected = source[index]
    with dlaunch.to_device(source) as there:
        view = there[index]
        assert view.shape == expected.shape
        while view.ndim > 1 and 0 not in view.shape:
            at = data.draw(st.integers(-view.shape[0], view.shape[0] - 1))
            view, expected = view[at], expected[at]
        if view.ndim == 1:
            with dlaunch.zeros(view.size, "f32") as got:
                copy[1, 32](view, got)
                np.testing.assert_array_equal(got.copy_to_host(), expected)


INTEGERS = [(f"{sign}{bits}", bits) for sign in "iu" for bits in (8, 16, 32, 64)]


@given(
    kind=st.sampled_from(INTEGERS),
    value=st.one_of(st.integers(-(1 << 65), 1 << 65), st.integers(-300, 300), npst.from_dtype(np.dtype("i8"))),
)
def test_integers(echoes: dlaunch.Library, kind: tuple[str, int], value: Any) -> None:
    name, bits = kind
    low, high = (-(1 << bits - 1), 1 << bits - 1) if name[0] == "i" else (0, 1 << bits)
    if low <= value < high:
        assert echo(echoes, bits, name, value) == int(value).to_bytes(bits // 8, "little", signed=name[0] == "i")
    else:
        with pytest.raises(dlaunch.ArgumentError) as caught:
            echo(echoes, bits, name, value)
        assert caught.value.argument == 1


FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


@given(
    name=st.sampled_from(sorted(FLOATS)),
    value=st.one_of(
        st.floats(allow_nan=False),
        st.floats(width=32, allow_nan=False).map(np.float32),
        st.floats(width=16, allow_nan=False).map(np.float16),
    ),
)
def test_floats(echoes: dlaunch.Library, name: str, value: Any) -> None:
    kind = FLOATS[name]
    with np.errstate(over="ignore"):
        wanted = kind(value)
    bits = 8 * wanted.itemsize
    if np.isfinite(value) and not np.isfinite(wanted):
        with pytest.raises(dlaunch.ArgumentError, match="infinite"):
            echo(echoes, bits, name, value)
    else:
        assert echo(echoes, bits, name, value) == wanted.tobytes()


@given(
    name=st.sampled_from(sorted(FLOATS)), value=st.integers(-(1 << 64) + 1, (1 << 64) - 1) | st.integers(-3000, 3000)
)
def test_integers_for_floats(echoes: dlaunch.Library, name: str, value: int) -> None:
    kind = FLOATS[name]
    with np.errstate(over="ignore"):
        wanted = kind(value)
    is_exact = bool(np.isfinite(wanted)) and Fraction(float(wanted)) == value
    if is_exact:
        assert echo(echoes, 8 * wanted.itemsize, name, value) == wanted.tobytes()
    else:
        with pytest.raises(dlaunch.ArgumentError):
            echo(echoes, 8 * wanted.itemsize, name, value)


@given(
    value=st.one_of(st.text(), st.lists(st.floats(), max_size=3), st.dictionaries(st.text(), st.none()), st.tuples())
)
def test_what_is_nothing_of_a_kernel(saxpy: dlaunch.Kernel, value: Any) -> None:
    good = np.zeros(1, "f4")
    for at in range(3):
        arguments = [1.0, good, good.copy()]
        arguments[at] = value
        with pytest.raises(dlaunch.ArgumentError, match="no tensor and no scalar") as caught:
            saxpy[1, 32](*arguments)
        assert caught.value.argument == at
