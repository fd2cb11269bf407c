"""Making arrays in device memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from dlaunch import _abi, _dtype, _lib, _strided, _tensor
from dlaunch._array import DeviceArray
from dlaunch._errors import ArgumentError, TensorError
from dlaunch._host import host_contents
from dlaunch._sizes import wholes
from dlaunch._stream import device_number, native_stream, stream_or_legacy


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    items = tuple(wholes("shape", shape))
    for axis, extent in enumerate(items):
        if not 0 <= extent < 1 << 63:
            raise ArgumentError(f"shape is {items}: axis {axis} is {extent}; 0 or more, below 2**63, is wanted")
    return items


def empty(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make a C-contiguous array whose contents are undefined.

    shape: an int or a sequence of them. dtype: 'f32' and its like, or a NumPy dtype or its name. OutOfMemoryError if
    the device has no room.
    """
    return DeviceArray._new(_extents(shape), _dtype.parse(dtype), device_number(device))


def zeros(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array of zeros, which are there when this returns; shape and dtype as in empty."""
    array = empty(shape, dtype, device)
    return _filled(array, (array.nbytes,), (1,), b"\0")


def full(shape: int | Sequence[int], value: Any, dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array that holds one value everywhere when this returns; shape and dtype as in empty.

    ArgumentError if the type cannot hold the value, or has no Python number: then give the bytes of one element.
    """
    kind = _dtype.parse(dtype)
    item = _dtype.item("full", value, kind)
    array = empty(shape, kind, device)
    return _filled(array, array.shape, array.strides, item)


def _filled(array: DeviceArray, shape: Sequence[int], strides: Sequence[int], item: bytes) -> DeviceArray:
    """Fill a new array and wait: so that no launch is left to order, the kernel gets its memory, not its handle."""
    memory = _abi.dlaunch_arg_value(u=array._borrowed.pointer)
    argument = _abi.dlaunch_arg(_abi.DLAUNCH_ARG_VERSIONED, 0, 0, memory)
    _strided.fill(_strided.Place(argument, array.ptr, 0, strides, array), shape, item, 0)
    _lib.call("dlaunch_stream_synchronize", 0)
    return array


def to_device(source: Any, device: int | None = None, stream: Any = None) -> DeviceArray:
    """Copy an array into a new C-contiguous one of its shape and type, in the order of a stream.

    source: of the host (NumPy, a CPU tensor, array.array, a buffer), which goes to device 0 unless another is given;
    or of a device, a DeviceArray or another library's, which stays on its device. Returns when the source may be
    reused; for a DeviceArray nothing is waited for. The stream is the legacy default one unless one is given.
    """
    number = stream_or_legacy(stream)
    found: DeviceArray | None = None
    if isinstance(source, DeviceArray):
        found = source
    elif _tensor.is_tensor(source):
        _open_driver()
        found = DeviceArray._of_tensor(source, native_stream(number) or _tensor.LEGACY)
    if found is None:
        data, dtype, shape = host_contents(source)
        array = empty(shape, dtype, 0 if device is None else device)
        array.copy_from_host(bytes(data), stream)
        return array
    if device not in (None, found.device):
        raise TensorError(f"to_device: this is on device {found.device}, not {device}; go by the host: copy_to_host()")
    array = found.copy(stream)
    if found is not source:
        _lib.call("dlaunch_stream_synchronize", number)
    return array


def from_dlpack(source: Any, stream: Any = None) -> DeviceArray:
    """View another library's device memory, without a copy; the view keeps the object's memory alive.

    stream: where the view will be used, the legacy default stream unless one is given: the object's __dlpack__ orders
    its work before that, on the device. -1 is for no order. Of a DeviceArray this is a view, ordered if a stream is
    given. TensorError for host memory: use to_device.
    """
    _open_driver()
    unordered = type(stream) is int and stream == _tensor.UNORDERED
    number = _tensor.UNORDERED if unordered else stream_or_legacy(stream)
    if isinstance(source, DeviceArray):
        source._check_open()
        if stream is not None and not unordered:
            source._order(number)
        return source[...]
    if not _tensor.is_tensor(source):
        raise ArgumentError(f"from_dlpack: {type(source).__name__} has no __dlpack__")
    view = DeviceArray._of_tensor(source, number if unordered else native_stream(number) or _tensor.LEGACY)
    if view is None:
        raise TensorError(f"from_dlpack: {type(source).__name__} is in host memory; use to_device() to copy it")
    return view


def _open_driver() -> None:
    """Open the driver: what is device memory depends on it."""
    _lib.call_driver("dlaunch_device_count", ctypes.byref(ctypes.c_int32()))


def view_of_memory(address: int, nbytes: int, device: int, owner: object) -> DeviceArray:
    """View device memory as bytes, keeping its owner alive."""
    place = (_abi.kDLCPU, 0) if _lib.is_simulated() else (_abi.kDLCUDA, device)
    dtype = _dtype.DataType(_abi.kDLUInt, 8)
    return DeviceArray._of_borrowed(_tensor.BorrowedTensor(address, place, dtype, (nbytes,), None, 0, owner))
