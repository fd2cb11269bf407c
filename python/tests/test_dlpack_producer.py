"""DeviceArray as a producer: what the array API standard and dlpack.h ask of __dlpack__, read from capsules."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import imported
from exchange import DLTensor

import dlaunch

READ_ONLY, IS_COPIED = 1, 2
OLD_VERSIONS = [None, (0, 0), (0, 8)]
NEW_VERSIONS = [(1, 0), (1, 3), (100, 3)]
on_simulator = dlaunch.driver_info().kind == "sim"


class Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


def _of_capsules(name: str, result: Any, *more: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, ctypes.py_object, *more)((f"PyCapsule_{name}", ctypes.pythonapi))


name_of = _of_capsules("GetName", ctypes.c_char_p)
pointer_of = _of_capsules("GetPointer", ctypes.c_void_p, ctypes.c_char_p)
rename = _of_capsules("SetName", ctypes.c_int, ctypes.c_char_p)


def struct_of(capsule: object) -> Any:
    kind = Versioned if name_of(capsule) == b"dltensor_versioned" else Managed
    return kind.from_address(pointer_of(capsule, name_of(capsule)))


def axes(address: int | None, rank: int) -> tuple[int, ...] | None:
    if rank == 0:  # whose shape and strides may be NULL
        return ()
    return None if address is None else tuple((ctypes.c_int64 * rank).from_address(address))


def test_the_signature_is_the_standards() -> None:
    parameters = list(inspect.signature(dlaunch.DeviceArray.__dlpack__).parameters.values())[1:]
    assert [p.name for p in parameters] == ["stream", "max_version", "dl_device", "copy"]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is None for p in parameters)


@pytest.mark.parametrize("view", [False, True])
@pytest.mark.parametrize("version", OLD_VERSIONS + NEW_VERSIONS)
def test_the_consumer_says_which_struct_it_knows(version: Any, view: bool) -> None:
    with dlaunch.zeros(4, "f32") as array:
        capsule = (array[1:] if view else array).__dlpack__(max_version=version)
        if version in NEW_VERSIONS:
            assert name_of(capsule) == b"dltensor_versioned"
            struct = struct_of(capsule)
            assert struct.major == 1 and struct.flags == 0
        else:
            assert name_of(capsule) == b"dltensor"
        assert struct_of(capsule).deleter


# dlpack.h: the code of each type, and its bits.
TYPES = {
    **{f"i{bits}": (0, bits) for bits in (16, 32, 64)},
    **{f"u{bits}": (1, bits) for bits in (16, 32, 64)},
    **{f"f{bits}": (2, bits) for bits in (16, 32, 64)},
    **{"int8": (0, 8), "uint8": (1, 8), "bf16": (4, 16), "bool": (6, 8)},
    **{f"c{bits}": (5, bits) for bits in (32, 64, 128)},
    **{"f8e3m4": (7, 8), "f8e4m3": (8, 8), "f8e4m3b11fnuz": (9, 8), "f8e4m3fn": (10, 8), "f8e4m3fnuz": (11, 8)},
    **{"f8e5m2": (12, 8), "f8e5m2fnuz": (13, 8), "f8e8m0fnu": (14, 8)},
    **{"f6e2m3fn": (15, 6), "f6e3m2fn": (16, 6), "f4e2m1fn": (17, 4)},
}


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype: str, version: Any) -> None:
    with dlaunch.empty(4, dtype) as array:
        capsule = array.__dlpack__(max_version=version)
        tensor = struct_of(capsule).tensor
        assert (tensor.code, tensor.bits, tensor.lanes) == (*TYPES[dtype], 1)


@pytest.mark.parametrize("rank", range(33))
def test_ranks(rank: int) -> None:
    with dlaunch.zeros((1,) * rank, "f64") as array:
        for made in (array, array[...]):
            capsule = made.__dlpack__(max_version=(1, 3))
            tensor = struct_of(capsule).tensor
            assert (tensor.ndim, axes(tensor.shape, rank) or ()) == (rank, (1,) * rank)
            assert rank == 0 or axes(tensor.strides, rank) is not None  # since DLPack 1.2


VIEWS = {
    "whole": lambda a: a,
    "row": lambda a: a[2],
    "column": lambda a: a[:, 3],
    "inner": lambda a: a[1:4, 2:5],
    "steps": lambda a: a[::2, ::3],
    "backwards": lambda a: a[::-1, ::-2],
    "one": lambda a: a[4, 4, ...],
    "nothing": lambda a: a[:, 5:],
}


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("view", VIEWS)
def test_layouts_are_numpys(view: str, version: Any) -> None:
    whole = np.arange(25, dtype="i4").reshape(5, 5)
    wanted = VIEWS[view](whole)
    with dlaunch.to_device(whole) as array:
        shown = VIEWS[view](array)
        capsule = shown.__dlpack__(max_version=version)
        tensor = struct_of(capsule).tensor
        assert axes(tensor.shape, tensor.ndim) == wanted.shape
        assert (tensor.device_type, tensor.device_id) == shown.__dlpack_device__()
        if wanted.size:
            assert (axes(tensor.strides, tensor.ndim) or ()) == tuple(s // 4 for s in wanted.strides)
            base = tensor.data + tensor.byte_offset
            assert base - array.ptr == wanted.__array_interface__["data"][0] - whole.ctypes.data


def test_devices() -> None:
    with dlaunch.zeros(3, "f32") as array:
        here = array.__dlpack_device__()
        assert here == ((1, 0) if on_simulator else (2, 0))
        assert all(type(n) is int for n in here)
        assert struct_of(array.__dlpack__(dl_device=here)).tensor.device_type == here[0]
        for elsewhere in ((10, 0), (here[0], 7)):
            with pytest.raises(BufferError):
                array.__dlpack__(dl_device=elsewhere)


def test_no_copy_unless_asked() -> None:
    with dlaunch.zeros(3, "f32") as array:
        for never in (None, False):
            struct = struct_of(capsule := array.__dlpack__(copy=never, max_version=(1, 0)))
            assert struct.tensor.data == array.ptr and not struct.flags & IS_COPIED
            del capsule


@pytest.mark.parametrize("version", OLD_VERSIONS + NEW_VERSIONS)
@pytest.mark.parametrize("view", VIEWS)
def test_copies_to_the_host(view: str, version: Any) -> None:
    whole = np.arange(25, dtype="i4").reshape(5, 5)
    wanted = VIEWS[view](whole)
    with dlaunch.to_device(whole) as array:
        capsule = VIEWS[view](array).__dlpack__(copy=True, dl_device=(1, 0), max_version=version)
    struct = struct_of(capsule)
    tensor = struct.tensor
    assert (tensor.device_type, tensor.device_id) == (1, 0)
    assert axes(tensor.shape, tensor.ndim) or () == wanted.shape
    assert version in OLD_VERSIONS or struct.flags == IS_COPIED
    if wanted.size:
        assert (axes(tensor.strides, tensor.ndim) or ()) == tuple(s // 4 for s in wanted.copy("C").strides)
    data = ctypes.string_at(tensor.data, wanted.nbytes) if wanted.size else b""
    assert data == wanted.tobytes()


def test_other_devices_than_the_host_get_no_copy() -> None:
    with dlaunch.zeros(3, "f32") as array:
        if on_simulator:  # the device is the host
            capsule = array.__dlpack__(copy=True)
        else:
            for refused in ({"copy": True}, {"copy": False, "dl_device": (1, 0)}):
                with pytest.raises(BufferError):
                    array.__dlpack__(**refused)
            capsule = array.__dlpack__(dl_device=(1, 0))
        assert struct_of(capsule).tensor.data != array.ptr


class Flagged:
    """A producer that sets a flag."""

    def __init__(self, inner: dlaunch.DeviceArray, flag: int) -> None:
        self.inner, self.flag = inner, flag

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.inner.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.inner.__dlpack__(**keywords)
        struct_of(capsule).flags |= self.flag
        return capsule


def test_read_only_memory() -> None:
    with dlaunch.zeros(3, "f32") as array, dlaunch.from_dlpack(Flagged(array, READ_ONLY)) as view:
        for shown in (view, view[1:]):
            capsule = shown.__dlpack__(max_version=(1, 0))
            assert struct_of(capsule).flags & READ_ONLY
            for version in OLD_VERSIONS:
                with pytest.raises(BufferError):
                    shown.__dlpack__(max_version=version)


def test_a_view_of_a_copy_is_shared() -> None:
    with dlaunch.zeros(3, "f32") as array, dlaunch.from_dlpack(Flagged(array, IS_COPIED)) as view:
        capsule = view.__dlpack__(max_version=(1, 0))
        assert struct_of(capsule).flags == 0


def kept() -> int:
    """Count the things that something still holds."""
    dlaunch.drain()
    return len(dlaunch.report()["handles"])


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_takes_gives_back(version: Any) -> None:
    before = kept()
    array = dlaunch.zeros(3, "f32")
    capsules = [array.__dlpack__(max_version=version) for _ in range(3)]
    array.close()
    del capsules[1:]
    assert kept() == before + 1
    del capsules
    assert kept() == before


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_is_taken_leaves_it_to_the_deleter(version: Any) -> None:
    before = kept()
    array = dlaunch.zeros(3, "f32")
    capsule = array.__dlpack__(max_version=version)
    struct = struct_of(capsule)
    address = ctypes.addressof(struct)
    used = b"used_" + name_of(capsule)
    assert rename(capsule, used) == 0  # it does not copy the name
    array.close()
    del capsule
    assert kept() == before + 1 and struct.tensor.ndim == 1
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(struct.deleter)(address)
    assert kept() == before


def test_a_capsule_is_taken_once() -> None:
    class Twice:
        """Gives the same capsule to everyone."""

        def __init__(self, inner: dlaunch.DeviceArray) -> None:
            self.inner, self.capsule = inner, inner.__dlpack__(max_version=(1, 0))

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.inner.__dlpack_device__()

        def __dlpack__(self, **keywords: Any) -> Any:
            return self.capsule

    with dlaunch.zeros(3, "f32") as array:
        given = Twice(array)
        if on_simulator:
            taken = np.from_dlpack(given)
        else:
            taken = imported("torch").from_dlpack(given)
        assert tuple(taken.shape) == (3,)
        with pytest.raises(dlaunch.TensorError, match="gave PyCapsule"):
            dlaunch.from_dlpack(given)
        del taken, given


def test_an_exception_beside_a_capsule() -> None:
    def failing(array: dlaunch.DeviceArray) -> None:
        _ = array.__dlpack__()
        raise RuntimeError

    before = kept()
    with pytest.raises(RuntimeError), dlaunch.zeros(3, "f32") as array:
        failing(array)
    assert kept() == before


def consumers() -> list[Any]:
    """What else takes tensors of this driver's memory, and shows it to NumPy."""
    torch, cupy = imported("torch"), imported("cupy")
    found = []
    if on_simulator:
        found.append(pytest.param((np.from_dlpack, lambda a: a), id="numpy"))
    if torch is not None and (on_simulator or torch.cuda.is_available()):
        found.append(pytest.param((torch.from_dlpack, lambda a: a.cpu().numpy()), id="torch"))
    if cupy is not None and not on_simulator and cupy.is_available():
        found.append(pytest.param((cupy.from_dlpack, cupy.asnumpy), id="cupy"))
    return found


@pytest.mark.parametrize("dtype", "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())
@pytest.mark.parametrize("consumer", consumers())
def test_others_see_the_same_elements(consumer: Any, dtype: str) -> None:
    take, get = consumer
    whole = np.arange(25).reshape(5, 5).astype(dtype)
    with dlaunch.to_device(whole) as array:
        for name, view in VIEWS.items():
            if name == "backwards" and take is not np.from_dlpack:
                continue  # torch has no negative strides
            taken = take(view(array))
            assert get(taken).dtype == dtype
            np.testing.assert_array_equal(get(taken), view(whole))
            del taken
