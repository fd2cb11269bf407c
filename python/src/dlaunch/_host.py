"""Host arrays of any kind, as bytes in C order."""

from __future__ import annotations

from typing import Any

from dlaunch import _abi, _dtype, _tensor
from dlaunch._errors import ArgumentError, TensorError


def host_contents(source: Any) -> tuple[bytes | bytearray, _dtype.DataType, tuple[int, ...]]:
    """Give a host array's elements in C order, their type and the shape."""
    if _tensor.is_tensor(source):
        borrowed = _tensor.read(source)
        if borrowed.device[0] not in (_abi.kDLCPU, _abi.kDLCUDAHost):
            raise TensorError(f"{type(source).__name__} is in device memory already; a host array is wanted")
        return _tensor.gather(borrowed), borrowed.dtype, tuple(borrowed.shape)
    try:
        view = memoryview(source)
    except TypeError:
        raise ArgumentError(
            f"{type(source).__name__} is no array; make it one, as with numpy.asarray(..., dtype) or array.array"
        ) from None
    dtype = _dtype.of_format(view.format, view.itemsize)
    if dtype is None:
        raise TensorError(f"{type(source).__name__} with items of format {view.format!r} is no array of numbers")
    return view.tobytes(), dtype, tuple(view.shape or ())
