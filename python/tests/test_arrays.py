"""DeviceArray: making, copying, describing, and handing to others."""

from __future__ import annotations

import array
import copy
import ctypes
import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from process import output_of

import dlaunch

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 3), (2, 0, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_there_and_back(dtype: str, shape: tuple[int, ...]) -> None:
    source = np.arange(int(np.prod(shape)), dtype="i4").astype(dtype).reshape(shape)
    with dlaunch.to_device(source) as there:
        assert there.shape == shape and there.ndim == len(shape) and there.size == source.size
        assert there.dtype == source.dtype and there.nbytes == source.nbytes
        assert there.strides == np.empty(shape, dtype).strides or source.size == 0
        back = there.copy_to_host()
    assert back.dtype == source.dtype
    np.testing.assert_array_equal(back, source)


def test_orders_and_views_are_copied_in_c_order() -> None:
    base = np.arange(24, dtype="i4").reshape(4, 6)
    for source in (base.T, base[::2, ::3], base[::-1], np.asfortranarray(base), np.broadcast_to(base[0], (3, 6))):
        with dlaunch.to_device(source) as there:
            np.testing.assert_array_equal(there.copy_to_host(), source)


def test_zeros_full_empty() -> None:
    with dlaunch.zeros((2, 3), "i32") as a, dlaunch.full(4, -1.5, "f16") as b, dlaunch.empty(7, "uint8") as c:
        np.testing.assert_array_equal(a.copy_to_host(), np.zeros((2, 3), "i4"))
        np.testing.assert_array_equal(b.copy_to_host(), np.full(4, -1.5, "f2"))
        assert c.shape == (7,) and len(c) == 7
    with dlaunch.full(2, 1 + 2j, "c64") as d, dlaunch.full(2, b"\x80\x3f", "bf16") as e:
        np.testing.assert_array_equal(d.copy_to_host(), np.full(2, 1 + 2j, "c8"))
        assert e.copy_to_host().tobytes() == b"\x80\x3f\x80\x3f"
    of_bool = [(value, "bool") for value in ("x", 2, 0.5, [1])]
    for value, dtype in ((300, "uint8"), (1.5, "i32"), ("x", "f32"), (1e6, "f16"), ("1+2j", "c64"), *of_bool):
        with pytest.raises(dlaunch.ArgumentError, match="full"):
            dlaunch.full(1, value, dtype)


def test_shapes_that_are_none() -> None:
    for shape in ((-1,), (2, -3), (1 << 63,)):
        with pytest.raises(dlaunch.ArgumentError, match="shape"):
            dlaunch.empty(shape, "f32")
    with dlaunch.zeros(1, "f32") as a:
        for none in ("ab", 1.5, (1.5,), None, True, (1, True), np.array([1.0]), {}.get):
            for use in (lambda shape: dlaunch.empty(shape, "f32"), a.reshape):
                with pytest.raises(dlaunch.ArgumentError, match="shape is .*; an int or a sequence of ints is wanted"):
                    use(none)
        for some in (np.int64(1), np.array([1, 1]), range(1, 2), [np.int8(1), 1]):
            assert a.reshape(some).shape == dlaunch.empty(some, "f32").shape == np.zeros(1).reshape(some).shape


def test_more_than_there_is() -> None:
    with pytest.raises(dlaunch.OutOfMemoryError) as caught:
        dlaunch.empty(1 << 50, "f64")
    assert isinstance(caught.value, MemoryError) and caught.value.status == 13


def test_devices_that_are_none() -> None:
    for device in (-1, "0", 1.0, True, 1 << 31):
        with pytest.raises(dlaunch.ArgumentError, match="device"):
            dlaunch.empty(1, "f32", device)  # type: ignore[arg-type]
    with pytest.raises(dlaunch.ArgumentError, match=r"device 99\b"):
        dlaunch.empty(1, "f32", 99)


def test_copy_from_host_checks() -> None:
    with dlaunch.zeros((2, 3), "f32") as a:
        a.copy_from_host(np.arange(6, dtype="f4").reshape(2, 3))
        np.testing.assert_array_equal(a.copy_to_host(), np.arange(6, dtype="f4").reshape(2, 3))
        a.copy_from_host(bytes(24))
        np.testing.assert_array_equal(a.copy_to_host(), np.zeros((2, 3)))
        with pytest.raises(dlaunch.TensorError, match=r"shape \[6\] given, \[2, 3\] wanted"):
            a.copy_from_host(np.zeros(6, "f4"))
        with pytest.raises(dlaunch.TensorError, match="f64 given, f32 wanted"):
            a.copy_from_host(np.zeros((2, 3)))
        with pytest.raises(dlaunch.TensorError, match="23 bytes given, the array has 24"):
            a.copy_from_host(bytes(23))
        with pytest.raises(dlaunch.ArgumentError, match="list is no array"):
            a.copy_from_host([1.0])


def test_other_buffers() -> None:
    with dlaunch.to_device(array.array("h", [1, -2, 3])) as a:
        np.testing.assert_array_equal(a.copy_to_host(), np.array([1, -2, 3], "i2"))
    with dlaunch.to_device(memoryview(b"abc")) as b:
        assert b.copy_to_host().tobytes() == b"abc"
    for source in ([1, 2], 5, None, object()):
        with pytest.raises(dlaunch.ArgumentError, match="no array"):
            dlaunch.to_device(source)


def test_closed() -> None:
    a = dlaunch.zeros(3, "f32")
    a.close()
    a.close()
    assert a.closed and "closed" in repr(a) and a.shape == (3,)
    for use in (a.copy_to_host, lambda: a.copy_from_host(bytes(12)), a.__dlpack__, lambda: dlaunch.from_dlpack(a)):
        with pytest.raises(dlaunch.HandleError, match="closed"):
            use()


def test_described() -> None:
    with dlaunch.zeros((2, 3), "bf16") as a, dlaunch.zeros((), "f32") as b:
        assert repr(a).startswith("<dlaunch.DeviceArray bf16[2, 3] on device 0")
        assert a.dtype.itemsize == 2 and a.nbytes == 12 and a.strides == (6, 2)
        assert a.ptr != 0 and a.ptr != b.ptr and len(a) == 2
        with pytest.raises(TypeError, match="0-d"):
            len(b)
        with pytest.raises(TypeError, match=r"copy_to_host\(\)"):
            np.asarray(b)
        for refused in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                refused(a)
    with pytest.raises(TypeError, match="make device arrays with"):
        dlaunch.DeviceArray()


def test_iterating_and_truth() -> None:
    source = np.arange(6, dtype="f4").reshape(3, 2)
    with dlaunch.to_device(source) as a, dlaunch.zeros((), "f32") as scalar:
        rows = list(a)
        assert len(rows) == 3 and a.itemsize == 4
        np.testing.assert_array_equal([row.copy_to_host() for row in rows], source)
        with pytest.raises(TypeError, match="0-d"):
            iter(scalar)
        for array_ in (a, scalar):
            with pytest.raises(TypeError, match="no truth value"):
                bool(array_)


def test_cuda_array_interface() -> None:
    with dlaunch.zeros((2, 3), "f32") as a:
        if a.__dlpack_device__()[0] == 1:
            assert not hasattr(a, "__cuda_array_interface__")
        else:
            found = a.__cuda_array_interface__
            assert (found["shape"], found["typestr"], found["data"]) == ((2, 3), "<f4", (a.ptr, False))
            assert found["version"] == 3 and found["strides"] is None and found["stream"] == 1


def test_the_memory_outlives_the_array() -> None:
    a = dlaunch.full(4, 7, "i32")
    with dlaunch.from_dlpack(a) as view:
        assert view.ptr == a.ptr
        np.testing.assert_array_equal(view.copy_to_host(), np.full(4, 7, "i4"))
    capsule = a.__dlpack__(max_version=(1, 0))
    legacy = a.__dlpack__()
    assert '"dltensor_versioned"' in repr(capsule) and '"dltensor"' in repr(legacy)
    a.close()
    del capsule, legacy
    with dlaunch.zeros(1, "f4") as b, pytest.raises(BufferError):
        b.__dlpack__(dl_device=(10, 0))


def test_numpy_sees_simulated_memory() -> None:
    out = output_of(
        """
        import numpy as np, dlaunch
        a = dlaunch.full((2, 3), 7, "i32")
        view = np.from_dlpack(a)
        assert a.__dlpack_device__() == (1, 0) and view.shape == (2, 3) and view.ctypes.data == a.ptr
        again = dlaunch.from_dlpack(view)
        assert again.ptr == a.ptr and again.shape == (2, 3)
        a.close()
        assert (view == 7).all(), "a view keeps the memory"
        np.testing.assert_array_equal(again.copy_to_host(), view)
        try:
            dlaunch.from_dlpack(np.zeros(3))
        except dlaunch.TensorError as error:
            assert "to_device" in str(error)
            print("refused")
        """,
        DLAUNCH_DRIVER="sim",
    )
    assert out == "refused\n"


def test_host_memory_is_no_view() -> None:
    with pytest.raises(dlaunch.TensorError, match=r"host memory; use to_device\(\)"):
        dlaunch.from_dlpack(np.zeros(3))
    with pytest.raises(dlaunch.ArgumentError, match="no __dlpack__"):
        dlaunch.from_dlpack([1])


def test_a_view_keeps_its_owner() -> None:
    a = dlaunch.full(3, 5, "f32")
    view = dlaunch.from_dlpack(a)
    del a
    gc.collect()
    np.testing.assert_array_equal(view.copy_to_host(), np.full(3, 5, "f4"))
    view.close()
    with pytest.raises(dlaunch.HandleError):
        view.copy_to_host()


def test_without_numpy() -> None:
    out = output_of(
        """
        import sys, dlaunch
        a = dlaunch.full((2, 2), 1.5, "f32")
        back = a.copy_to_host()
        assert "numpy" not in sys.modules
        print(type(back).__name__, back.tolist(), a.dtype, a.dtype.str, a.dtype.itemsize)
        """
    )
    assert out == "memoryview [[1.5, 1.5], [1.5, 1.5]] f32 <f4 4\n"


def test_globals(kernels: Any) -> None:
    with dlaunch.load(kernels / "global_counter.ptx") as library:
        name = "hits"
        view = library.globals[name]
        assert view.dtype == np.uint8 and view.shape == (4,)
        view.copy_from_host(bytes(range(view.nbytes)))
        assert library.globals[name].copy_to_host().tobytes() == bytes(range(view.nbytes))
        with pytest.raises(dlaunch.NotFoundError):
            library.globals["no_such_symbol"]
        assert "no_such_symbol" not in library.globals


KEYS: list[Any] = [
    ...,
    1,
    -1,
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    slice(10, 2, -3),
    slice(5, 5),
    (1, 2),
    (..., 0),
    (slice(None, None, 2), ..., slice(1, None)),
    (0, ..., slice(None, None, -2)),
    (2, 3, 1),
    (slice(3, 1), 0),
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_indexing_is_numpys(key: Any) -> None:
    source = np.arange(4 * 5 * 3, dtype="i4").reshape(4, 5, 3)
    with dlaunch.to_device(source) as there:
        view, wanted = there[key], source[key]
        assert view.shape == wanted.shape
        np.testing.assert_array_equal(view.copy_to_host(), wanted)
        if wanted.ndim and wanted.size:  # NumPy gives a copy of one element
            assert view.ptr - there.ptr == np.asarray(wanted).__array_interface__["data"][0] - source.ctypes.data
        there.close()
        np.testing.assert_array_equal(view.copy_to_host(), wanted)
        np.testing.assert_array_equal(view[...].copy_to_host(), wanted)


def test_indices_that_are_none() -> None:
    with dlaunch.zeros((2, 3), "f32") as a:
        for key in (2, -3, (0, 3), (0, 0, 0), (..., ...)):
            with pytest.raises(IndexError):
                a[key]
        for key in ("a", None, [0, 1], 1.0, True, np.True_, (0, False)):  # a bool is a mask to NumPy
            with pytest.raises(dlaunch.ArgumentError, match="index"):
                a[key]


@pytest.mark.parametrize("shape", [(3, 0), (0, 8), (2, 2, 0), (0, 1, 0, 16)])
def test_views_of_nothing_as_another_type(shape: tuple[int, ...]) -> None:
    with dlaunch.empty(shape, "i16") as a:
        for dtype in ("u1", "i8", "c16"):
            assert a.view(np.dtype(dtype)).shape == np.empty(shape, "i2").view(dtype).shape


def test_steps_along_one_element_do_not_matter() -> None:
    source = np.arange(12, dtype="i4").reshape(3, 4)
    with dlaunch.to_device(source) as a:
        view, wanted = a[::3].reshape(1, 4)[:, :], source[::3]
        np.testing.assert_array_equal(view.view("i64").copy_to_host(), wanted.view("i8"))
        odd = a.reshape(4, 3)[::4, :2]  # steps by 12 elements, then by 3
        np.testing.assert_array_equal(odd.view("i64").copy_to_host(), source.reshape(4, 3)[::4, :2].view("i8"))


def test_reshape_and_view() -> None:
    source = np.arange(12, dtype="i4")
    with dlaunch.to_device(source) as a:
        np.testing.assert_array_equal(a.reshape(3, 4).copy_to_host(), source.reshape(3, 4))
        np.testing.assert_array_equal(a.reshape((2, -1)).copy_to_host(), source.reshape(2, 6))
        np.testing.assert_array_equal(a.view("f32").copy_to_host(), source.view("f4"))
        np.testing.assert_array_equal(a.reshape(3, 4).view("uint8").copy_to_host(), source.reshape(3, 4).view("u1"))
        np.testing.assert_array_equal(a.view("i64").copy_to_host(), source.view("i8"))
        part = a.reshape(3, 4)[1]
        part.copy_from_host(np.full(4, 7, "i4"))
        source[4:8] = 7
        np.testing.assert_array_equal(a.copy_to_host(), source)
        for shape in (5, (5, -1), (-1, -1), (3, -4), ()):
            with pytest.raises(dlaunch.TensorError, match="reshape"):
                a.reshape(shape)
        np.testing.assert_array_equal(a[::2].view("f32").copy_to_host(), source[::2].view("f4"))
        np.testing.assert_array_equal(
            a.reshape(3, 4)[::2, 2:].view("i16").copy_to_host(), source.reshape(3, 4)[::2, 2:].view("i2")
        )
        for refused in (
            lambda: a[::2].view("i64"),
            lambda: a[:3].view("i64"),
            lambda: a.reshape(4, 3)[:, :2].view("i64"),
        ):
            with pytest.raises(dlaunch.TensorError, match="view: "):
                refused()
        with pytest.raises(dlaunch.TensorError, match=r"view: the address 0x\w+ is no multiple of the 8 of i64; copy"):
            a[1:].reshape(-1)[:2].view("i64")
        with a[1:3].copy() as aligned:
            np.testing.assert_array_equal(aligned.view("i64").copy_to_host(), source[1:3].view("i8"))
        with pytest.raises(dlaunch.TensorError, match=r"reshape: .* has no view \[2, 4\]; copy\(\) it"):
            a.reshape(4, 3)[:, :2].reshape(2, 4)


def test_a_global_of_a_closed_library(kernels: Any) -> None:
    library = dlaunch.load(kernels / "global_counter.ptx")
    view = library.globals["hits"]
    library.close()
    with pytest.raises(dlaunch.HandleError, match="view of memory of <dlaunch.Library .*closed"):
        view.copy_to_host()


def test_fill() -> None:
    with dlaunch.zeros((2, 3), "i16") as array, dlaunch.Stream() as stream:
        array.fill(-7)
        np.testing.assert_array_equal(array.copy_to_host(), np.full((2, 3), -7, "i2"))
        array[1].fill(b"\1\2", stream)
        np.testing.assert_array_equal(array.copy_to_host(), [[-7] * 3, [0x201] * 3])
        for value in (1 << 15, 0.5, "x", b"123"):
            with pytest.raises(dlaunch.ArgumentError, match="fill: .* is no value of i16"):
                array.fill(value)
        array[:, 1].fill(1)
        array[:, :0].fill(2)
        np.testing.assert_array_equal(array.copy_to_host(), [[-7, 1, -7], [0x201, 1, 0x201]])
    with pytest.raises(dlaunch.HandleError):
        array.fill(0)


def test_read_only_memory_is_not_written() -> None:
    class ReadOnly:
        def __init__(self, inner: dlaunch.DeviceArray) -> None:
            self.inner = inner

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.inner.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = self.inner.__dlpack__(**keywords)
            pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
            address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, b"dltensor_versioned")
            ctypes.c_uint64.from_address(address + 24).value |= 1  # version, context, deleter, flags
            return capsule

    with dlaunch.zeros(3, "f32") as array, dlaunch.from_dlpack(ReadOnly(array)) as view:
        assert view.copy_to_host().tolist() == [0, 0, 0] and dlaunch.view(view).is_read_only
        for write in (lambda: view.fill(1), lambda: view.copy_from_host(bytes(12)), lambda: view[:1].fill(1)):
            with pytest.raises(dlaunch.TensorError, match="read-only"):
                write()


def test_one_object_gets_one_answer(kernels: Path) -> None:
    """Arrays, and tensors of others, are looked at in the same order: by the last axis first."""
    prototype = "saxpy(a: f32, x: f32[n, n], y: inout f32[n, n], n: i32 = n)"
    with dlaunch.load(kernels / "saxpy.ptx") as library, library.kernel(prototype) as kernel:
        with dlaunch.zeros((3, 3), "f32") as y, dlaunch.zeros((2, 3), "f32") as x:
            kernel[1, 1](1.0, y, y)
            for wrong in (x, dlaunch.In(np.zeros((2, 3), "f4")), dlaunch.from_dlpack(x)):
                with pytest.raises(dlaunch.TensorError, match="axis 0 has the extent 2, 3 "):
                    kernel[1, 1](1.0, wrong, y)


def test_others_have_is_conj_too(saxpy: dlaunch.Kernel) -> None:
    """Not only torch's tensors do, and such an object may say nothing of a device."""

    class Other:
        def __init__(self, inner: dlaunch.DeviceArray) -> None:
            self.inner = inner

        def is_conj(self) -> bool:
            return False

        def __dlpack__(self, **options: Any) -> Any:
            return self.inner.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.inner.__dlpack_device__()

    with dlaunch.full(8, 3, "f32") as x, dlaunch.zeros(8, "f32") as y:
        saxpy[1, 8](2.0, Other(x), y)
        assert y.copy_to_host().tolist() == [6.0] * 8
