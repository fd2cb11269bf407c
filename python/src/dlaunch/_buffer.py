"""Objects with the buffer protocol, such as array.array and memoryview: where their memory is."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_RECORDS_RO = 0x1C  # PyBUF_RECORDS_RO: any strides, with the format, read-only ones too


class _PyBuffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    ]


class Buffer:
    """The memory of an object, which cannot be resized while this lives."""

    __slots__ = ("_held", "address", "format", "is_read_only", "itemsize", "shape", "strides")

    def __init__(self, value: Any) -> None:
        """Ask for it; BufferError or TypeError if the object does not give it."""
        self._held: _PyBuffer | None = None
        held = _PyBuffer()
        ask = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
        ask(("PyObject_GetBuffer", ctypes.pythonapi))(value, ctypes.addressof(held), _RECORDS_RO)
        self._held = held
        self.address: int = held.buf or 0
        self.format = (held.format or b"B").decode()
        self.is_read_only = bool(held.readonly)
        self.itemsize = int(held.itemsize)
        self.shape: tuple[int, ...] = tuple(held.shape[: held.ndim]) if held.ndim else ()
        # ctypes gives none for its arrays, whatever it is asked.
        self.strides: tuple[int, ...] | None = tuple(held.strides[: held.ndim]) if held.strides else None

    def __del__(self) -> None:
        """Give it back."""
        if self._held is not None:
            release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
            release(("PyBuffer_Release", ctypes.pythonapi))(ctypes.addressof(self._held))


def is_buffer(value: Any) -> bool:
    """Tell an array that has the buffer protocol alone; bytes, and scalars of NumPy and ctypes, are no arrays."""
    numpy = sys.modules.get("numpy")
    no_arrays = (bytes, ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes._Pointer)
    if isinstance(value, no_arrays) or (numpy is not None and isinstance(value, numpy.generic)):
        return False
    try:
        memoryview(value).release()
    except (BufferError, TypeError):
        return False
    return hasattr(ctypes, "pythonapi")
