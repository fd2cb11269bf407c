"""Copies and fills of any layout against NumPy's, and the kernel that does them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange import ByCapsule
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from process import output_of

import dlaunch
from dlaunch import _lib

PACKAGE = Path(dlaunch.__file__).parent
# Elements of 1, 2, 4, 8 and 16 bytes.
DTYPES = ["?", "u1", "i2", "f2", "u4", "f4", "i8", "f8", "c8", "c16"]

dtypes = st.sampled_from(DTYPES)


def numbered(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Bytes that differ, so that every misplaced one shows; as bool, 0 and 1."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    found = np.random.default_rng(size).integers(0, 2 if dtype == "?" else 256, size, "u1")
    return found.view(dtype).reshape(shape)


def equal(found: Any, wanted: np.ndarray) -> None:
    """The same bits: NaN too."""
    found = np.asarray(found)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    assert found.tobytes() == wanted.tobytes()


@st.composite
def parts(draw: Any, most: int = 6) -> tuple[tuple[int, ...], Any]:
    """A shape, and basic indices with any steps that pick a part of it."""
    shape = draw(npst.array_shapes(min_dims=1, max_dims=most, min_side=1, max_side=5))
    return shape, draw(npst.basic_indices(shape, allow_newaxis=False, allow_ellipsis=True))


@given(part=parts(), dtype=dtypes)
def test_parts_are_read(part: Any, dtype: str) -> None:
    shape, key = part
    source = numbered(shape, dtype)
    with dlaunch.to_device(source) as there, there[key] as view:
        equal(view.copy_to_host(), np.asarray(source[key]))
        with view.copy() as copied:
            assert copied.is_contiguous and copied.ptr != there.ptr
            equal(copied.copy_to_host(), np.asarray(source[key]))


@given(part=parts(), dtype=dtypes, how=st.sampled_from(["copy_from_host", "array", "device", "element", "fill"]))
def test_parts_are_written(part: Any, dtype: str, how: str) -> None:
    shape, key = part
    target = numbered(shape, dtype)
    values = numbered((2, *np.asarray(target[key]).shape), dtype)[1]
    with dlaunch.to_device(target) as there:
        if how == "copy_from_host":
            there[key].copy_from_host(values)
        elif how == "array":
            there[key] = values
        elif how == "device":
            there[key] = dlaunch.to_device(values)
        else:
            values = target.reshape(-1)[0]
            if how == "fill":
                there[key].fill(values.tobytes())
            else:
                there[key] = values.tobytes()
        target[key] = values
        equal(there.copy_to_host(), target)


@given(data=st.data(), dtype=dtypes)
def test_values_are_broadcast(data: Any, dtype: str) -> None:
    shapes = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=4))
    target, value = (numbered(shape, dtype) for shape in shapes.input_shapes)
    wanted = np.zeros_like(target)
    try:
        wanted[...] = value
    except ValueError:
        wanted = None
    with dlaunch.zeros(target.shape, target.dtype) as there:
        for given_value in (value, dlaunch.to_device(value)):
            if wanted is None:
                with pytest.raises(dlaunch.TensorError, match=r"assignment: shape .* given, .* wanted"):
                    there[...] = given_value
            else:
                there[...] = given_value
                equal(there.copy_to_host(), wanted)


@given(size=st.integers(2, 40), data=st.data(), dtype=dtypes)
def test_an_array_assigned_to_itself(size: int, data: Any, dtype: str) -> None:
    source = numbered((size,), dtype)
    n, step = data.draw(st.integers(1, size)), data.draw(st.sampled_from([1, -1]))
    a, b = (data.draw(st.integers(0, size - n)) for _ in range(2))
    with dlaunch.to_device(source) as there:
        there[a : a + n] = there[b : b + n][::step]
        source[a : a + n] = source[b : b + n][::step].copy()
        equal(there.copy_to_host(), source)


def test_rows_move_up_and_down() -> None:
    source = np.arange(60, dtype="i4").reshape(6, 10)
    with dlaunch.to_device(source) as there:
        there[1:] = there[:-1]
        source[1:] = source[:-1].copy()
        there[:, :-1] = there[:, 1:]
        source[:, :-1] = source[:, 1:].copy()
        there[...] = there[::-1, ::-1]
        source[...] = source[::-1, ::-1].copy()
        equal(there.copy_to_host(), source)


@given(st.data())
def test_reshaping_is_numpys(data: Any) -> None:
    shape, key = data.draw(parts(4))
    source = numbered(shape, "i4")
    wanted = np.asarray(source[key])
    factors = data.draw(st.permutations([*wanted.shape, 1]))
    new = data.draw(st.sampled_from([tuple(factors), (wanted.size,), (-1, *wanted.shape[1:]), wanted.shape, (1, -1)]))
    if -1 in new and 0 in wanted.shape:
        new = wanted.shape
    try:
        expected = np.reshape(wanted, new, copy=False)
    except ValueError:
        expected = None
    with dlaunch.to_device(source) as there, there[key] as view:
        if expected is None:
            with pytest.raises(dlaunch.TensorError, match="reshape: "):
                view.reshape(new)
        else:
            equal(view.reshape(new).copy_to_host(), expected)


def test_many_axes() -> None:
    shape = (2,) * 14
    source = numbered(shape, "u2")
    reverse = (slice(None, None, -1),) * 14
    with dlaunch.to_device(source) as there:
        for axis in range(0, 14, 2):  # no two axes are one
            there = there[(slice(None),) * axis + (slice(None, None, -1),)]
        key = tuple(slice(None, None, -1) if axis % 2 == 0 else slice(None) for axis in range(14))
        equal(there.copy_to_host(), source[key])
        there[reverse].fill(7)
        assert (there.copy_to_host() == 7).all()
        there[...] = source
        equal(there.copy_to_host(), source)


@pytest.mark.parametrize("lanes", [3, 5, 6, 12])
def test_elements_of_any_size(lanes: int) -> None:
    kind = dlaunch.DataType(1, 8, lanes)  # u8x3 and its like
    source = np.arange(20 * lanes, dtype="u1").reshape(4, 5, lanes)
    with dlaunch.to_device(source.reshape(-1)) as memory:
        there = memory.view(kind).reshape(4, 5)
        picked = there[::-2, 1::2]
        assert picked.copy_to_host().tobytes() == source[::-2, 1::2].tobytes()
        item = bytes(range(100, 100 + lanes))
        picked.fill(item)
        source[::-2, 1::2] = np.frombuffer(item, "u1")
        there[1] = there[2]
        source[1] = source[2]
        assert memory.copy_to_host().tobytes() == source.tobytes()


def test_types_that_numpy_lacks() -> None:
    with dlaunch.full((4, 4), b"\x80\x3f", "bf16") as there:
        there[1::2, ::3].fill(b"\x00\x40")
        wanted = np.full((4, 4), 0x3F80, "u2")
        wanted[1::2, ::3] = 0x4000
        assert there.copy_to_host().tobytes() == wanted.tobytes()
        assert there[:, 1:3].copy_to_host().tobytes() == wanted[:, 1:3].tobytes()
        there[...] = there[::-1]
        assert there.copy_to_host().tobytes() == wanted[::-1].tobytes()


def test_elements_that_share_bytes() -> None:
    with dlaunch.zeros(7, "f4e2m1fn") as there:
        there.copy_from_host(b"\x12\x34\x56\x07")
        assert there.nbytes == 4 and bytes(there.copy_to_host()) == b"\x12\x34\x56\x07"
        with there.copy() as copied:
            assert bytes(copied.copy_to_host()) == b"\x12\x34\x56\x07"
        for refused in (
            lambda: there[::2].copy_to_host(),
            lambda: there[::2].copy_from_host(bytes(2)),
            lambda: there[::2].copy(),
            lambda: there.__setitem__(..., b"\0"),
            lambda: there.__setitem__(slice(None, None, 2), there[::2]),
        ):
            with pytest.raises(dlaunch.TensorError, match="f4e2m1fn share bytes"):
                refused()
        with pytest.raises(dlaunch.ArgumentError, match="fill"):
            there.fill(b"\0")


def test_what_cannot_be_assigned() -> None:
    with dlaunch.zeros((2, 3), "f32") as there:
        for value, error in (
            (np.zeros((2, 3)), dlaunch.TensorError),  # f64
            (dlaunch.zeros(3, "i32"), dlaunch.TensorError),
            (np.zeros(2, "f4"), dlaunch.TensorError),
            (np.zeros((2, 2, 3), "f4"), dlaunch.TensorError),
            ("x", dlaunch.ArgumentError),
            ([1, 2, 3], dlaunch.ArgumentError),
            (b"12", dlaunch.ArgumentError),
            (None, dlaunch.ArgumentError),
        ):
            with pytest.raises(error, match="assignment: "):
                there[...] = value
        for key in (2, (0, 3), "a"):
            with pytest.raises((IndexError, dlaunch.ArgumentError)):
                there[key] = 1
        there[1] = np.ones((1, 1, 3), "f4")  # NumPy allows that too
        there[0, 1] = np.float32(5)
        there[0, 2] = np.array(6, "f4")
        equal(there.copy_to_host(), np.array([[0, 5, 6], [1, 1, 1]], "f4"))
    with pytest.raises(dlaunch.HandleError, match="closed"):
        there[0] = 1
    with dlaunch.zeros(3, "i16") as closed, dlaunch.zeros(3, "i16") as there:
        closed.close()
        with pytest.raises(dlaunch.HandleError, match="closed"):
            there[...] = closed


def test_copies_on_the_device(device_array: Any) -> None:
    put, _ = device_array
    source = np.arange(24, dtype="f4").reshape(4, 6)
    held = put(source)
    for part in ((slice(None, None, 2), slice(1, 4)), (slice(None), 2)):
        with dlaunch.to_device(held[part]) as copied:
            assert copied.is_contiguous
            equal(copied.copy_to_host(), np.ascontiguousarray(source[part]))
        with dlaunch.from_dlpack(held[part]) as view:
            equal(view.copy_to_host(), np.ascontiguousarray(source[part]))
    with dlaunch.zeros((4, 6), "f32") as there:
        there[...] = held
        there[1:3, ::2] = held[0, 1::2]
        source[1:3, ::2] = source[0, 1::2]
        equal(there.copy_to_host(), source)


def test_foreign_memory_of_any_layout(device_array: Any) -> None:
    put, get = device_array
    source = np.arange(24, dtype="f4").reshape(4, 6)
    held = put(source)
    with dlaunch.from_dlpack(held[1:, ::2]) as view:
        view.fill(3)
        view[1].copy_from_host(np.array([7, 8, 9], "f4"))
        view[2:, 1:] = view[1:2, :2]
        dlaunch.synchronize()
    wanted = source.copy()
    wanted[1:, ::2] = 3
    wanted[2, ::2] = [7, 8, 9]
    wanted[3, 2::2] = [7, 8]
    equal(get(held), wanted)


def test_strides_that_lead_nowhere() -> None:
    with dlaunch.zeros(4, "f32") as there:
        tensor = ByCapsule(there)
        tensor.strides[0] = 1 << 62
        with pytest.raises(dlaunch.TensorError, match="in no memory"):
            dlaunch.from_dlpack(tensor).copy_to_host()
        many = dlaunch.from_dlpack(ByCapsule(there)).reshape((1,) * 60 + (4,))
        equal(many.copy_to_host(), np.zeros((1,) * 60 + (4,), "f4"))


def test_a_copy_stays_where_it_is() -> None:
    with dlaunch.zeros(3, "f32") as there:
        with dlaunch.to_device(there, device=0) as copied:
            assert copied.ptr != there.ptr
        with pytest.raises(dlaunch.TensorError, match=r"on device 0, not 1; .*copy_to_host"):
            dlaunch.to_device(there, device=1)


def test_the_kernel_is_loaded_once() -> None:
    with dlaunch.zeros((3, 3), "f32") as there:
        first = dict(_lib.loaded().kept)
        assert len(first) == 1
        there[::2].fill(2)
        there[:, 1].copy_to_host()
        assert _lib.loaded().kept == first
        assert dlaunch.report()["live"] == {"array": 1} and dlaunch.live_handles() == 1


def test_the_ptx_is_of_its_source() -> None:
    ptx = (PACKAGE / "strided.ptx").read_text()
    source = PACKAGE / "strided.c"
    assert ptx.startswith(f"// strided.c, sha256 {hashlib.sha256(source.read_bytes()).hexdigest()}\n"), (
        "run testdata/kernels/compile.py strided.c"
    )
    assert "\n.version 6.3\n.target sm_75\n" in ptx


def test_threads_that_load_it_at_once() -> None:
    out = output_of(
        """
        import threading, dlaunch
        made = [dlaunch.empty(8, "f32") for _ in range(8)]
        begin = threading.Barrier(8)
        def fill(array):
            begin.wait()
            array.fill(2)
        threads = [threading.Thread(target=fill, args=(a,)) for a in made]
        [t.start() for t in threads], [t.join() for t in threads]
        assert all(a.copy_to_host().tolist() == [2] * 8 for a in made)
        print(dlaunch.report()["live"])
        """
    )
    assert out == "{'array': 8}\n"
