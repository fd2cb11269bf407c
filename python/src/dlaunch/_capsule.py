"""What a PyCapsule holds."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable


@functools.cache
def _capsule_functions() -> tuple[Callable[..., int], Callable[..., int | None]]:
    """PyCapsule_IsValid and PyCapsule_GetPointer, as functions of our own: ctypes.pythonapi's are everybody's."""
    is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    api = ctypes.pythonapi
    return is_valid(("PyCapsule_IsValid", api)), pointer(("PyCapsule_GetPointer", api))


def capsule_pointer(capsule: object, name: bytes) -> int:
    """Give what a capsule of that name holds; 0 if it is none."""
    is_valid, pointer = _capsule_functions()
    return pointer(capsule, name) or 0 if is_valid(capsule, name) else 0
