"""dlaunch.view against what NumPy says of its own arrays, and of those of others."""

from __future__ import annotations

import array
import ctypes
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from test_tensors import Interface, Wrapped

import dlaunch

DTYPES = st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"])


@st.composite
def ndarrays(draw: Any) -> np.ndarray:
    """Any slice of any permutation of any array, with any step, also 0."""
    shape = draw(npst.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4))
    base = np.zeros(shape, draw(DTYPES))
    base = base.transpose(draw(st.permutations(range(base.ndim))))
    if base.ndim:
        base = base[draw(npst.basic_indices(base.shape, allow_newaxis=True, allow_ellipsis=True))]
    base = np.asarray(base)
    if draw(st.booleans()) and base.ndim < 5:
        base = np.broadcast_to(base, (draw(st.integers(0, 3)), *base.shape))
    if draw(st.booleans()):
        base.flags.writeable = False
    return base


@given(ndarrays())
def test_what_numpy_says(source: np.ndarray) -> None:
    view = dlaunch.view(source)
    assert (view.shape, view.ndim, view.size, view.nbytes) == (source.shape, source.ndim, source.size, source.nbytes)
    assert view.strides == tuple(s // source.itemsize for s in source.strides)
    assert view.dtype == source.dtype and view.device == (1, 0)
    assert (view.is_c_contiguous, view.is_f_contiguous) == (source.flags.c_contiguous, source.flags.f_contiguous)
    assert view.is_read_only is not source.flags.writeable
    assert view.ptr == source.__array_interface__["data"][0]


@given(ndarrays().filter(lambda a: a.flags.writeable))
def test_the_same_by_dlpack(source: np.ndarray) -> None:
    shown, direct = dlaunch.view(Wrapped(source)), dlaunch.view(source)
    assert (shown.shape, shown.dtype, shown.device, shown.size, shown.nbytes, shown.ptr) == (
        direct.shape, direct.dtype, direct.device, direct.size, direct.nbytes, direct.ptr,
    )  # fmt: skip
    assert (shown.is_c_contiguous, shown.is_f_contiguous) == (direct.is_c_contiguous, direct.is_f_contiguous)
    if source.size:
        matter = [axis for axis, extent in enumerate(source.shape) if extent > 1]
        assert [shown.strides[a] for a in matter] == [direct.strides[a] for a in matter]


def test_device_arrays() -> None:
    with dlaunch.zeros((4, 6), "f16") as whole:
        view = dlaunch.view(whole[1::2, ::-2])
        assert (view.shape, view.strides, view.ptr) == ((2, 3), (12, -2), whole.ptr + 2 * (6 + 5))
        assert view.device == whole.__dlpack_device__() and not view.is_read_only
        assert not view.is_c_contiguous and not view.is_f_contiguous
    with pytest.raises(dlaunch.HandleError, match="closed"):
        dlaunch.view(whole)


def test_the_cuda_array_interface() -> None:
    view = dlaunch.view(Interface(shape=(2, 3), typestr="<c8", strides=(8, 16), data=(0x7F0000000100, True)))
    assert (view.shape, view.strides, view.dtype, view.device) == ((2, 3), (1, 2), np.dtype("c8"), (2, 0))
    assert (view.is_c_contiguous, view.is_f_contiguous, view.is_read_only) == (False, True, True)
    assert (view.ptr, view.size, view.nbytes) == (0x7F0000000100, 6, 48)


def test_the_cuda_array_interface_before_version_3() -> None:
    old = Interface(shape=(2, 3), typestr="<f4", version=2)
    del old.__cuda_array_interface__["stream"], old.__cuda_array_interface__["strides"]
    view = dlaunch.view(old)
    assert (view.strides, view.is_c_contiguous, view.is_read_only) == ((3, 1), True, False)
    dates = dlaunch.view(Interface(typestr="<M8[ns]"))
    assert dates.dtype == np.dtype("i8")
    records = dlaunch.view(Interface(typestr="|V12", descr=[("a", "<f4"), ("b", "<f8")]))
    assert (records.nbytes, records.shape, records.strides) == (48, (4,), (1,))


def test_the_producer_is_asked_for_no_order() -> None:
    class OnDevice(Wrapped):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

        def __dlpack__(self, **keywords: Any) -> Any:
            self.keywords.append(keywords)
            return self.inner.__dlpack__()

    shown = OnDevice(np.zeros(3))
    dlaunch.view(shown)
    assert [k["stream"] for k in shown.keywords] == [-1]


@pytest.mark.parametrize("wrong", [[1.0], 1.0, np.float32(1), b"1", ctypes.c_int(1), None, np.ndarray, "x"])
def test_what_is_no_tensor(wrong: Any) -> None:
    with pytest.raises(dlaunch.ArgumentError, match="view: .* is no tensor"):
        dlaunch.view(wrong)


@given(npst.arrays(DTYPES, npst.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)), st.data())
def test_buffers_are_what_numpy_makes_of_them(whole: np.ndarray, data: Any) -> None:
    source = whole[data.draw(npst.basic_indices(whole.shape))]
    if not isinstance(source, np.ndarray):
        return
    source.flags.writeable = data.draw(st.booleans())
    buffer = memoryview(source)
    shown, direct = dlaunch.view(buffer), dlaunch.view(source)
    assert (shown.shape, shown.dtype, shown.is_read_only, shown.nbytes) == (
        direct.shape, direct.dtype, direct.is_read_only, direct.nbytes,
    )  # fmt: skip
    if source.size > 0:
        steps = [(a, b) for n, a, b in zip(source.shape, shown.strides, direct.strides, strict=True) if n > 1]
        assert shown.ptr == direct.ptr and all(a == b for a, b in steps)  # along one element any step will do


def test_buffers() -> None:
    view = dlaunch.view(numbers := array.array("d", [1, 2]))
    assert (view.shape, view.dtype, view.ptr) == ((2,), np.dtype("f8"), numbers.buffer_info()[0])
    del view
    numbers.append(3)  # nothing holds it any more
    assert dlaunch.view((ctypes.c_int16 * 3)()).dtype == np.dtype("i2")
    assert dlaunch.view(bytearray(4)).shape == (4,) and dlaunch.view(memoryview(b"abc")).is_read_only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.13 on
        characters = array.array("u", "x")
    with pytest.raises(dlaunch.TensorError, match="'u'|'w'"):
        dlaunch.view(characters)


def test_what_no_kernel_can_be_given() -> None:
    with pytest.raises(dlaunch.TensorError, match="object"):
        dlaunch.view(np.zeros(2, object))
    with pytest.raises(dlaunch.TensorError, match="no multiple"):
        dlaunch.view(np.zeros(2, "i1,i8")["f1"])
