"""Making arrays in device memory."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

from dlaunch import _abi, _dtype, _lib, _memory, _tensor
from dlaunch._array import DeviceArray
from dlaunch._errors import ArgumentError, TensorError
from dlaunch._host import host_contents
from dlaunch._stream import device_number


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        items = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
    except TypeError:
        raise ArgumentError(f"shape is {shape!r}; an int or a sequence of ints is wanted") from None
    for axis, extent in enumerate(items):
        if not 0 <= extent < 1 << 63:
            raise ArgumentError(f"shape is {items}: axis {axis} is {extent}; 0 or more, below 2**63, is wanted")
    return items


def empty(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make a C-contiguous array whose contents are undefined.

    shape: an int or a sequence of them. dtype: 'f32' and its like, or a NumPy dtype or its name. OutOfMemoryError if
    the device has no room.
    """
    extents, kind = _extents(shape), _dtype.parse(dtype)
    out = ctypes.c_uint64()
    place = (ctypes.c_int64 * len(extents))(*extents)
    number = device_number(device)
    _lib.call_driver("dlaunch_array_create", number, kind.to_dlpack(), len(extents), place, ctypes.byref(out))
    return DeviceArray._of_handle(out.value)


def zeros(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array of zeros; shape and dtype as in empty."""
    array = empty(shape, dtype, device)
    array.copy_from_host(bytes(array.nbytes))
    return array


def full(shape: int | Sequence[int], value: Any, dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array that holds one value everywhere; shape and dtype as in empty.

    ArgumentError if the type cannot hold the value, or has no Python number: then give the bytes of one element.
    """
    kind = _dtype.parse(dtype)
    item = _dtype.item("full", value, kind)
    array = empty(shape, kind, device)
    array.copy_from_host(item * array.size)
    return array


def to_device(source: Any, device: int = 0) -> DeviceArray:
    """Copy a host array (NumPy, a CPU tensor, array.array, a buffer) into a new array of its shape and type."""
    if isinstance(source, DeviceArray):
        raise ArgumentError("to_device: this is a dlaunch.DeviceArray already")
    data, dtype, shape = host_contents(source)
    array = empty(shape, dtype, device)
    array.copy_from_host(bytes(data))
    return array


def from_dlpack(source: Any) -> DeviceArray:
    """View another library's device memory, without a copy; the view keeps the object's memory alive.

    The object's work on its own streams is not waited for but as its __dlpack__ does. TensorError for host memory: use
    to_device.
    """
    _lib.call_driver("dlaunch_device_count", ctypes.byref(ctypes.c_int32()))
    if isinstance(source, DeviceArray):
        source._check_open()
        return source[...]
    if not _tensor.is_tensor(source):
        raise ArgumentError(f"from_dlpack: {type(source).__name__} has no __dlpack__")
    borrowed = _tensor.read(source)
    if not _memory.is_device(borrowed):
        raise TensorError(f"from_dlpack: {type(source).__name__} is in host memory; use to_device() to copy it")
    borrowed.struct.flags &= ~_abi.DLPACK_FLAG_BITMASK_IS_COPIED  # whoever gets it from the view shares it
    return DeviceArray._of_borrowed(borrowed)


def view_of_memory(address: int, nbytes: int, device: int, owner: object) -> DeviceArray:
    """View device memory as bytes, keeping its owner alive."""
    place = (_abi.kDLCPU, 0) if _lib.is_simulated() else (_abi.kDLCUDA, device)
    dtype = _dtype.DataType(_abi.kDLUInt, 8)
    return DeviceArray._of_borrowed(_tensor.BorrowedTensor(address, place, dtype, (nbytes,), None, 0, owner))
