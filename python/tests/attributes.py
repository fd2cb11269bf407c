"""Tensor types that are read by their attributes, as CuPy's are: a stand-in around a DeviceArray or an ndarray."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from dlaunch import _recipes


class Memory(ctypes.c_uint64):
    """An address, which a ctypes object keeps inside itself."""

    device_id = 0

    @property
    def ptr(self) -> int:
        return self.value


class Stand:
    """Has the attributes, and __dlpack__ for the way that leaves the builtin."""

    def __init__(self, inner: Any) -> None:
        pointer = inner.ptr if hasattr(inner, "ptr") else inner.ctypes.data
        self.inner, self.asked = inner, 0
        self.data, self.dtype = Memory(pointer), inner.dtype
        self.shape, self.strides = inner.shape, inner.strides
        self._c_contiguous = inner.is_contiguous if hasattr(inner, "ptr") else inner.flags.c_contiguous

    def __dlpack__(self, **keywords: Any) -> Any:
        self.asked += 1
        return self.inner.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self.inner.__dlpack_device__()


class Fixed(Stand):
    """Keeps data and dtype where they can be found."""

    __slots__ = ("data", "dtype")


class Tall(ctypes.Structure):
    """Keeps the two ends of its extents as well."""

    __slots__ = ("data", "dtype", "extents", "inner")
    _fields_ = [("first", ctypes.c_void_p), ("last", ctypes.c_void_p)]

    def __init__(self, inner: Any) -> None:
        stand = Stand(inner)
        self.inner, self.data, self.dtype = inner, stand.data, stand.dtype
        self.extents = (ctypes.c_int64 * inner.ndim)(*inner.shape)
        self.first = ctypes.addressof(self.extents)
        self.last = self.first + 8 * inner.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.extents)

    @property
    def _c_contiguous(self) -> bool:
        return True


def samples(kind: type) -> list[Any]:
    shapes = [((3, 5), "f4"), ((7, 2, 4), "i8"), ((11,), "c16"), ((2, 3, 4, 5), "u1")]
    return [kind(np.zeros(shape, dtype)) for shape, dtype in shapes]


class Streams:
    """A current stream, and who asked for it."""

    def __init__(self) -> None:
        self.ptr: Any = 0
        self.asked: list[int] = []

    def __call__(self, device: int) -> Streams:
        self.asked.append(device)
        return self


class StreamFunction:
    """A C function that tells the current stream, in a capsule as Cython makes them; and streams to make current."""

    def __init__(self, streams: Streams, tells: Callable[[], int], signature: bytes = b"intptr_t (int)") -> None:
        self.streams, self.asked, self.signature = streams, 0, signature

        @ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)
        def function(device: int) -> int:
            self.asked += 1
            return tells()

        self.function = function
        new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        self.capsule = new(("PyCapsule_New", ctypes.pythonapi))(ctypes.cast(function, ctypes.c_void_p), signature, None)

    @contextlib.contextmanager
    def current(self, ptr: int) -> Iterator[None]:
        former, self.streams.ptr = self.streams.ptr, ptr
        yield
        self.streams.ptr = former

    def to_try(self) -> tuple[list[Any], int]:
        return [self.current(0), self.current(0x7A10)], 0


def register(
    monkeypatch: pytest.MonkeyPatch,
    kind: type,
    device_type: int,
    streams: Streams | None = None,
    function: StreamFunction | None = None,
    *,
    sampled: bool = True,
) -> None:
    """Put a class into the table for one test."""
    recipe = _recipes.Recipe(device_type, streams, (lambda: samples(kind)) if sampled else None)
    if function is not None:
        recipe = dataclasses.replace(recipe, stream_capsule=function.capsule, streams=function.to_try)
    monkeypatch.setitem(_recipes.TABLE, f"{kind.__module__}.{kind.__qualname__}", lambda: recipe)
    monkeypatch.delitem(_recipes._found, kind, raising=False)
