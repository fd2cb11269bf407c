"""Capsules of DLPack structs; their destructors and deleters are C's, since they outlive any Python callback."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from dlaunch import _abi, _dtype, _lib, _tensor


def capsule_of_array(handle: int, versioned: bool) -> Any:
    """Export a dlaunch_array: the capsule keeps its memory, not its handle."""
    out = ctypes.c_void_p()
    _lib.call("dlaunch_array_export", handle, ctypes.byref(out))
    return _capsule(out.value or 0, None, versioned)


def capsule_of_view(view: object, borrowed: _tensor.BorrowedTensor, versioned: bool) -> Any:
    """Export a view: the capsule keeps what the view keeps alive."""
    return _capsule(borrowed.pointer, borrowed.keep, versioned)


def capsule_of_copy(data: bytearray, dtype: _dtype.DataType, shape: Sequence[int], versioned: bool) -> Any:
    """Export elements in C order that nobody else has, in host memory."""
    place = (ctypes.c_char * len(data)).from_buffer(data)
    address = ctypes.addressof(place) if data else 0
    host, flags = (_abi.kDLCPU, 0), _abi.DLPACK_FLAG_BITMASK_IS_COPIED
    borrowed = _tensor.BorrowedTensor(address, host, dtype, shape, _tensor.c_strides(shape), flags, place)
    return _capsule(borrowed.pointer, place, versioned)


def _capsule(address: int, owner: object, versioned: bool) -> Any:
    library = _lib.loaded().python
    if library is None:
        _release(address, owner)
        raise BufferError("a dlaunch.DeviceArray has a capsule in CPython only")
    try:
        return library.dlaunch_python_capsule(address, owner, not versioned)
    except ValueError as cause:  # NULL
        raise BufferError("a dlaunch.DeviceArray has no capsule in this interpreter") from cause


def _release(address: int, owner: object) -> None:
    """Call the deleter of a struct that we own."""
    if owner is None:
        deleter = _abi.DLManagedTensorVersioned.from_address(address).deleter
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(address)
