"""Tensors that the builtin reads by their attributes: where these are found, and what is left to the protocols."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attributes import Fixed, Memory, Stand, StreamFunction, Streams, Tall, register, samples
from test_fast_path import left

import dlaunch
from dlaunch import _recipes
from dlaunch._offsets import offset_of, span_offset_of

pytestmark = pytest.mark.builtin

STRIDED = (
    "strided_copy(src: any[n] @strided, src_stride: i64 = stride(src, 0), dst: inout any[n] @strided, "
    "dst_stride: i64 = stride(dst, 0), n: i32 = n)"
)


@pytest.fixture
def device_type() -> int:
    with dlaunch.empty(1, "f32") as array:
        return array.__dlpack_device__()[0]


@pytest.fixture
def arrays(saxpy: dlaunch.Kernel) -> Iterator[tuple[dlaunch.DeviceArray, dlaunch.DeviceArray]]:
    """Two arrays, and the kernel's limits are known."""
    with dlaunch.to_device(np.arange(8, dtype="f4")) as x, dlaunch.zeros(8, "f32") as y:
        saxpy[1, 8](0.0, x, y)
        yield x, y


def test_what_is_found_by_trying() -> None:
    class Flags(ctypes.Structure):
        _fields_ = [("one", ctypes.c_uint32), ("flag", ctypes.c_uint32), ("same", ctypes.c_uint32)]

    objects = [Flags(9 + n, n % 2, 7) for n in range(4)]
    flag = offset_of(objects, lambda o: o.flag, ctypes.c_uint32)
    assert flag == offset_of(objects, lambda o: o.one, ctypes.c_uint32) + 4
    assert ctypes.c_uint32.from_address(id(objects[1]) + flag).value == 1
    assert offset_of(objects, lambda o: 12345, ctypes.c_uint32) == -1
    assert offset_of([Flags(5, 5, 5)] * 3, lambda o: 5, ctypes.c_uint32) == -1  # in several places
    tall = samples(Tall)
    at = span_offset_of(tall, lambda o: o.shape)
    assert [ctypes.c_uint64.from_address(id(t) + at).value for t in tall] == [t.first for t in tall]
    assert span_offset_of(tall, lambda o: (1,) * len(o.shape)) == -1


def test_a_class_is_known_by_its_name_and_exactly(monkeypatch: pytest.MonkeyPatch, device_type: int) -> None:
    class Derived(Stand):
        pass

    register(monkeypatch, Stand, device_type)
    register(monkeypatch, Tall, device_type)
    assert _recipes.attributes_of(Derived) is None and _recipes.attributes_of(np.ndarray) is None
    named, tall = _recipes.attributes_of(Stand), _recipes.attributes_of(Tall)
    assert named is not None and tall is not None
    assert named[:2] == (device_type, False) and _recipes.attributes_of(Stand) is named
    assert tall[4] is Memory and min(tall[5:8]) > 0 and tall[9] > 0  # all but the flag


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize("kind", [Stand, Fixed, Tall])
def test_they_stay_in_the_builtin(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int, kind: type, sampled: bool
) -> None:
    register(monkeypatch, kind, device_type, sampled=sampled)
    x, y = map(kind, arrays)
    launch = saxpy[1, 8]
    assert left(lambda: [launch(2.0, x, y) for _ in range(10)]) == {}
    np.testing.assert_array_equal(arrays[1].copy_to_host(), 20 * np.arange(8))


@pytest.mark.parametrize("dtype", ["i4", "u4", "f4"])
def test_layouts(monkeypatch: pytest.MonkeyPatch, kernels: Path, device_type: int, dtype: str) -> None:
    register(monkeypatch, Fixed, device_type)
    source = np.arange(24, dtype=dtype)
    with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(STRIDED) as copy:
        with dlaunch.to_device(source) as src, dlaunch.zeros(24, dtype) as dst:
            copy[1, 32](src, dst)
            views = [(slice(None, None, 3), slice(0, 8)), (slice(None, None, -2), slice(12, None)), (slice(5, 6),) * 2]
            for from_view, to_view in views:
                expected = dst.copy_to_host()
                expected[to_view] = source[from_view]
                pair = Fixed(src[from_view]), Fixed(dst[to_view])
                assert left(lambda pair=pair: copy[1, 32](*pair)) == {}
                np.testing.assert_array_equal(dst.copy_to_host(), expected)


def test_they_are_read_anew_each_time(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int
) -> None:
    register(monkeypatch, Fixed, device_type)
    launch, (x, y) = saxpy[1, 8], map(Fixed, arrays)
    launch(1.0, x, y)
    with dlaunch.full(4, 100, "f32") as other:
        x.data, x.shape, y.shape = Memory(other.ptr), (4,), (4,)
        assert left(lambda: launch(1.0, x, y)) == {}
        np.testing.assert_array_equal(arrays[1].copy_to_host(), [100, 101, 102, 103, 4, 5, 6, 7])
        x.dtype = np.dtype("f8")
        assert left(lambda: launch(1.0, x, y)) == {"refused": 1}  # the protocol knows better


def test_more_dtypes_than_are_remembered(monkeypatch: pytest.MonkeyPatch, kernels: Path, device_type: int) -> None:
    register(monkeypatch, Stand, device_type)
    with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(STRIDED) as copy:
        with dlaunch.zeros(1, "i32") as dst:
            copy[1, 1](dst, dst)
            target = Stand(dst)
            for _ in range(2):
                for dtype in ("i4", "u4", "f4", "i1", "i2", "i8", "u1", "u2", "u8", "f2", "f8", "c8"):
                    with dlaunch.to_device(np.ones(1, dtype)) as src:
                        if src.nbytes >= 4:  # what the kernel reads
                            assert left(lambda src=src: copy[1, 1](Stand(src), target)) == {}


def test_what_is_left_to_the_protocols(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int
) -> None:
    register(monkeypatch, Stand, device_type)
    launch, (x, y) = saxpy[1, 8], map(Stand, arrays)

    def is_left(name: str, value: Any) -> None:
        good = getattr(x, name)
        setattr(x, name, value)
        asked = x.asked
        assert left(lambda: launch(1.0, x, y)) == {"conversion failed": 1}
        assert x.asked == asked + 1
        setattr(x, name, good)

    is_left("shape", (1,) * 9)
    is_left("shape", ("8",))
    is_left("shape", 8)
    is_left("dtype", np.dtype("M8[s]"))
    is_left("dtype", None)
    is_left("data", None)
    x._c_contiguous = False
    is_left("strides", (6,))
    is_left("strides", (4, 4))
    assert left(lambda: launch(1.0, x, y)) == {}  # no exception was left behind
    del x.data
    assert left(lambda: launch(1.0, x, y)) == {"conversion failed": 1}
    np.testing.assert_array_equal(arrays[1].copy_to_host(), 10 * np.arange(8))


def test_the_current_stream(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int
) -> None:
    streams = Streams()
    register(monkeypatch, Stand, device_type, streams)
    x, y = map(Stand, arrays)
    with dlaunch.Stream() as stream:
        streams.ptr = stream.native
        assert left(lambda: saxpy[1, 8](1.0, x, y)) == {}
        assert streams.asked == [0]  # once a launch
        saxpy[1, 8, stream](1.0, x, y)
        assert streams.asked == [0]  # not where the caller says which
        stream.synchronize()
    np.testing.assert_array_equal(arrays[1].copy_to_host(), 2 * np.arange(8))
    streams.ptr = "no number"
    assert left(lambda: saxpy[1, 8](1.0, x, y)) == {"conversion failed": 1}


def test_the_current_stream_by_a_c_function(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int
) -> None:
    streams = Streams()
    function = StreamFunction(streams, lambda: streams.ptr)
    register(monkeypatch, Stand, device_type, streams, function)
    x, y = map(Stand, arrays)
    saxpy[1, 8](1.0, x, y)
    asked, tried = function.asked, len(streams.asked)
    with dlaunch.Stream() as stream:
        streams.ptr = stream.native
        assert left(lambda: [saxpy[1, 8](1.0, x, y) for _ in range(10)]) == {}
        stream.synchronize()
    assert function.asked == asked + 10 and len(streams.asked) == tried
    np.testing.assert_array_equal(arrays[1].copy_to_host(), 11 * np.arange(8))


@pytest.mark.parametrize("wrong", ["lags", "constant", "signature"])
def test_a_c_function_that_trying_does_not_prove(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int, wrong: str
) -> None:
    streams = Streams()
    tells = {"lags": lambda: streams.ptr + 1, "constant": lambda: 0, "signature": lambda: streams.ptr}[wrong]
    function = StreamFunction(streams, tells, b"int (int)" if wrong == "signature" else b"intptr_t (int)")
    register(monkeypatch, Stand, device_type, streams, function)
    x, y = map(Stand, arrays)
    saxpy[1, 8](1.0, x, y)
    asked = function.asked
    assert left(lambda: saxpy[1, 8](1.0, x, y)) == {} and function.asked == asked
    np.testing.assert_array_equal(arrays[1].copy_to_host(), 2 * np.arange(8))


def test_many_types_that_are_new_take_no_more_stack(monkeypatch: pytest.MonkeyPatch, device_type: int) -> None:
    register(monkeypatch, Stand, device_type)
    numbers = [kind(1) for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)]
    numbers = (numbers * 32)[:255]
    words = ", ".join(f".param .s64 p{i}" for i in range(255))
    image = f".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry many(.param .u64 x, {words}) {{ ret; }}"
    names = ", ".join(f"p{i}: i64" for i in range(255))
    failed: list[BaseException] = []
    with dlaunch.load(image) as library, library.kernel(f"many(x: f32[n], {names})") as kernel:
        with dlaunch.zeros(8, "f32") as x:

            def launch() -> None:
                try:
                    kernel.configure(1, 1)(Stand(x), *numbers)
                except BaseException as error:
                    failed.append(error)

            former = threading.stack_size(256 << 10)
            thread = threading.Thread(target=launch)
            thread.start()
            threading.stack_size(former)
            thread.join()
    assert failed == []


def test_references_are_balanced(
    monkeypatch: pytest.MonkeyPatch, saxpy: dlaunch.Kernel, arrays: Any, device_type: int
) -> None:
    streams = Streams()
    register(monkeypatch, Fixed, device_type, streams)
    launch, (x, y) = saxpy[1, 8], map(Fixed, arrays)
    shape = x.shape = tuple([8])
    launch(1.0, x, y)
    counted = [x, x.data, x.dtype, shape, shape[0], y.data, streams, Fixed]
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(1000):
        launch(1.0, x, y)
    after = [sys.getrefcount(o) for o in counted]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True)), (before, after)


def test_the_builtin_lets_go_of_what_it_learned(
    monkeypatch: pytest.MonkeyPatch, kernels: Path, arrays: Any, device_type: int
) -> None:
    streams = Streams()
    watched = weakref.ref(streams)
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        kernel = library["saxpy"]
        with monkeypatch.context() as patch:
            register(patch, Stand, device_type, streams)
            kernel[1, 8](1.0, *map(Stand, arrays), 8)
            _recipes._found.pop(Stand)
        del kernel, streams
        gc.collect()
    assert watched() is None
