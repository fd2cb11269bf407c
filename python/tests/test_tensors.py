"""Tensors of every origin as arguments, and what is refused of them."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest
from test_dlpack_producer import struct_of

import dlaunch


def refused(kernel: dlaunch.Kernel, x: Any, y: Any, argument: int, *said: str) -> dlaunch.Error:
    with pytest.raises(dlaunch.TensorError) as caught:
        kernel[1, 32](2.0, x, y)
    assert (caught.value.status, caught.value.argument) == (3, argument)
    for text in (f'kernel "saxpy", argument {argument} ({"axy"[argument]})', *said):
        assert text in str(caught.value)
    return caught.value


def test_device_arrays(saxpy: dlaunch.Kernel, device_array: Any) -> None:
    put, get = device_array
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    held = put(y)
    saxpy[4, 32](2.0, put(x), held)
    dlaunch.synchronize()
    np.testing.assert_array_equal(get(held), 2 * x + y)


def test_host_arrays_come_back(saxpy: dlaunch.Kernel) -> None:
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    x.flags.writeable = False
    saxpy[4, 32](2.0, x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)


@pytest.mark.parametrize("dtype", ["f8", "i4", "f2", "c8", "?"])
def test_dtype(saxpy: dlaunch.Kernel, dtype: str) -> None:
    name = {"f8": "f64", "i4": "i32", "f2": "f16", "c8": "c64", "?": "bool"}[dtype]
    refused(saxpy, np.zeros(4, dtype), np.zeros(4, "f4"), 1, name, "f32")


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.zeros(4, ">f4"), "other order"),
        (np.zeros(4, object), "object"),
        (np.zeros(4, "M8[s]"), "view('int64')"),
        (np.zeros(4, "U3"), "<U3"),
        (np.zeros(4, [("a", "f4")]), "|V4"),
        (np.ma.array(np.zeros(4, "f4"), mask=True), "mask"),
        (np.zeros((4, 2), "u1").view("V2")[:, 0], "V2"),
    ],
)
def test_what_dlpack_lacks(saxpy: dlaunch.Kernel, x: Any, said: str) -> None:
    refused(saxpy, x, np.zeros(4, "f4"), 1, said)


def test_shapes(saxpy: dlaunch.Kernel) -> None:
    y = np.zeros(8, "f4")
    refused(saxpy, np.zeros((2, 4), "f4"), y, 1, "2", "1")
    refused(saxpy, np.zeros((), "f4"), y, 1, "0", "1")
    refused(saxpy, np.zeros(7, "f4"), y, 2, "8", "7")
    refused(saxpy, np.zeros(16, "f4")[::2], y, 1, "stride")
    refused(saxpy, np.zeros(8, "f4")[::-1], y, 1, "stride")
    refused(saxpy, np.broadcast_to(np.float32(1), 8), y, 1, "stride")


def test_alignment(saxpy: dlaunch.Kernel) -> None:
    x = np.zeros(36, "u1")[1:33].view("f4")
    if x.ctypes.data % 4 == 0:
        x = np.zeros(36, "u1")[2:34].view("f4")
    refused(saxpy, x, np.zeros(8, "f4"), 1, "multiple")


def test_zero_elements(saxpy: dlaunch.Kernel) -> None:
    saxpy[1, 32](2.0, np.zeros(0, "f4"), np.zeros(0, "f4"))
    with dlaunch.zeros(0, "f4") as x, dlaunch.empty((0,), "f4") as y:
        saxpy[1, 32](2.0, x, y)


def test_read_only_out(saxpy: dlaunch.Kernel) -> None:
    y = np.zeros(4, "f4")
    y.flags.writeable = False
    refused(saxpy, np.zeros(4, "f4"), y, 2, "read-only")


class Wrapped:
    """An ndarray that shows __dlpack__ alone."""

    def __init__(self, inner: np.ndarray, *, versioned: bool = True) -> None:
        self.inner, self.versioned, self.keywords = inner, versioned, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        self.keywords.append(keywords)
        if "max_version" in keywords and not self.versioned:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        return self.inner.__dlpack__()


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_protocol(saxpy: dlaunch.Kernel, versioned: bool) -> None:
    x, y = np.arange(4, dtype="f4"), np.ones(4, "f4")
    shown = Wrapped(x, versioned=versioned)
    saxpy[1, 32](2.0, shown, Wrapped(y))
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert shown.keywords[0] == {"max_version": (1, 3)} and len(shown.keywords) == (1 if versioned else 2)
    assert all("stream" not in k for k in shown.keywords)  # of host memory it is not asked


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), TypeError("not about words"), BufferError("no"), KeyError("k")]
)
def test_what_dlpack_raises_is_the_cause(saxpy: dlaunch.Kernel, error: Exception) -> None:
    class Failing(Wrapped):
        def __dlpack__(self, **keywords: Any) -> Any:
            raise error

    found = refused(saxpy, Failing(np.zeros(4, "f4")), np.zeros(4, "f4"), 1, "Failing", type(error).__name__)
    assert found.__cause__ is error


def test_dlpack_of_another_major_version(saxpy: dlaunch.Kernel) -> None:
    class Newer(Wrapped):
        def __dlpack__(self, **keywords: Any) -> Any:
            capsule = self.inner.__dlpack__(max_version=(1, 0))
            struct_of(capsule).major = 2
            return capsule

    refused(saxpy, Newer(np.zeros(4, "f4")), np.zeros(4, "f4"), 1, "major version 2; 1 is wanted")


def test_dlpack_that_gives_no_capsule(saxpy: dlaunch.Kernel) -> None:
    class Wrong(Wrapped):
        def __dlpack__(self, **keywords: Any) -> Any:
            return 5

    refused(saxpy, Wrong(np.zeros(4, "f4")), np.zeros(4, "f4"), 1, "gave int")


class Interface:
    def __init__(self, **interface: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": (4,),
            "typestr": "<f4",
            "data": (0x1000, False),
            "strides": None,
            "stream": None,
            "version": 3,
            **interface,
        }


@pytest.mark.parametrize(
    ("interface", "said"),
    [
        ({"mask": object()}, "mask"),
        ({"typestr": ">f4"}, "other order"),
        ({"typestr": "|O8"}, "|O8"),
        ({"strides": (3,)}, "3 bytes"),
        ({"stream": 0}, "stream 0"),
    ],
)
def test_cuda_array_interface_refused(saxpy: dlaunch.Kernel, interface: dict[str, Any], said: str) -> None:
    refused(saxpy, Interface(**interface), np.zeros(4, "f4"), 1, said)


def test_buffers(saxpy: dlaunch.Kernel) -> None:
    x, y = array.array("f", range(8)), bytearray(np.ones(8, "f4"))
    saxpy[1, 32](2.0, memoryview(x).toreadonly(), memoryview(y).cast("f"))
    np.testing.assert_array_equal(np.frombuffer(y, "f4"), 2 * np.arange(8) + 1)
    x.append(8), y.append(0)  # which cannot be while someone has their memory
    refused(saxpy, x, memoryview(bytes(36)).cast("f"), 2, "read-only")
    refused(saxpy, array.array("d", [1]), np.zeros(1, "f4"), 1, "f64 given, f32[n] wanted")
    refused(saxpy, memoryview(x)[::2], np.zeros(5, "f4"), 1, "stride 2")


def test_neither_tensor_nor_scalar(saxpy: dlaunch.Kernel) -> None:
    for x in ([1.0], (1.0,), {}, "x", np.ndarray):
        with pytest.raises(
            dlaunch.ArgumentError, match="no tensor and no scalar; make it one: numpy.asarray"
        ) as caught:
            saxpy[1, 32](2.0, x, np.zeros(1, "f4"))
        assert caught.value.argument == 1
