"""A tensor type with DLPack's C exchange API, made of ctypes callbacks around an ndarray or a DeviceArray."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class API(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export_managed", ctypes.c_void_p),
        ("import_managed", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("current_stream", ctypes.c_void_p),
    ]


class DLTensor(ctypes.Structure):
    """DLPack's, as the specification has it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class Tensor:
    """What shows its memory through the exchange API alone; `fails` makes that fail."""

    def __init__(self, inner: Any, *, offset: int = 0) -> None:
        self.inner, self.fails, self.reads = inner, False, 0
        pointer = inner.ptr if hasattr(inner, "ptr") else inner.ctypes.data
        device = inner.__dlpack_device__()
        self.shape = (ctypes.c_int64 * inner.ndim)(*inner.shape)
        self.strides = (ctypes.c_int64 * inner.ndim)(*(s // inner.dtype.itemsize for s in inner.strides))
        self.tensor = DLTensor(
            pointer - offset, int(device[0]), int(device[1]), inner.ndim, CODES[inner.dtype.kind],
            8 * inner.dtype.itemsize, 1, ctypes.addressof(self.shape), ctypes.addressof(self.strides), offset,
        )  # fmt: skip


streams_asked: list[tuple[int, int]] = []


def _read(value: Any, out: int) -> int:
    value.reads += 1
    if value.fails:
        return -1
    ctypes.memmove(out, ctypes.addressof(value.tensor), ctypes.sizeof(DLTensor))
    return 0


def _current_stream(device_type: int, device_id: int, out: Any) -> int:
    streams_asked.append((device_type, device_id))
    out[0] = 0
    return 0


_callbacks = (_READ(_read), _STREAM(_current_stream))
_address = ctypes.c_void_p


def make_api(major: int = 1, previous: API | None = None, read: bool = True) -> API:
    return API(
        major, 3, ctypes.addressof(previous) if previous is not None else None, None, None, None,
        ctypes.cast(_callbacks[0], _address).value if read else None, ctypes.cast(_callbacks[1], _address).value,
    )  # fmt: skip


def capsule(api: API) -> Any:
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return new(("PyCapsule_New", ctypes.pythonapi))(ctypes.addressof(api), NAME, None)


NAME = b"dlpack_exchange_api"
API_1 = make_api()
API_2_OVER_1 = make_api(2, API_1)
API_2_ALONE = make_api(2)
API_WITHOUT_READ = make_api(read=False)


class ByCapsule(Tensor):
    __dlpack_c_exchange_api__ = capsule(API_1)


class ByInteger(Tensor):
    __c_dlpack_exchange_api__ = ctypes.addressof(API_1)


class CapsuleByOtherName(Tensor):
    __c_dlpack_exchange_api__ = capsule(API_1)


class IntegerByOtherName(Tensor):
    __dlpack_c_exchange_api__ = ctypes.addressof(API_1)


class ByOlder(Tensor):
    __dlpack_c_exchange_api__ = capsule(API_2_OVER_1)


class WithDLPack(Tensor):
    """Falls back on __dlpack__."""

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.inner.__dlpack__(
            **{k: v for k, v in keywords.items() if k != "max_version" or np.__version__ > "2.1"}
        )

    def __dlpack_device__(self) -> Any:
        return self.inner.__dlpack_device__()


class TooNew(WithDLPack):
    __dlpack_c_exchange_api__ = capsule(API_2_ALONE)


class NoRead(WithDLPack):
    __dlpack_c_exchange_api__ = capsule(API_WITHOUT_READ)
