"""Host arrays of any kind, as bytes in C order, and back."""

from __future__ import annotations

import sys
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


def is_host_array(source: Any) -> bool:
    """Tell whether an object is a buffer of numbers; bytes are one element, and NumPy's scalars are numbers."""
    numpy = sys.modules.get("numpy")
    if isinstance(source, bytes) or (numpy is not None and isinstance(source, numpy.generic)):
        return False
    try:
        memoryview(source).release()
    except TypeError:
        return False
    return True


def host_array(data: bytearray, dtype: _dtype.DataType, shape: tuple[int, ...]) -> Any:
    """Give bytes as an ndarray where NumPy is imported, else as a memoryview."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found = dtype.numpy()
        if found is None or dtype.bits < 8:  # no such type without ml_dtypes, whose small ones are not packed: its bits
            whole = dtype.bits * dtype.lanes in (8, 16, 32, 64)
            found = numpy.dtype(f"u{dtype.itemsize}" if whole else "u1")
            shape = shape if whole else (len(data),)
        return numpy.frombuffer(data, found).reshape(shape)
    view: Any = memoryview(data)
    if dtype.format is None or 0 in shape or not shape:
        return view if dtype.format is None or not data else view.cast(dtype.format)
    return view.cast(dtype.format, shape)
