"""Kernels that other libraries got from the driver."""

from __future__ import annotations

import operator
from typing import Any

from dlaunch._errors import ArgumentError
from dlaunch._sizes import is_truth

# Where libraries keep it: cuda.core, dlaunch (driver_handle), Triton, CuPy's RawKernel and Function, ctypes.
_HOLDERS = ("driver_handle", "handle", "_handle", "function", "kernel", "ptr", "value")


def address_of(handle: Any) -> int:
    """Give the address of a CUkernel or CUfunction: an int, or what the objects of other libraries hold."""
    found, depth = handle, 0
    while _number(found) is None and depth < len(_HOLDERS):
        inner = (getattr(found, name, None) for name in _HOLDERS)
        found = next((value for value in inner if value is not None and not isinstance(value, (str, bytes))), None)
        depth += 1
    number = _number(found)
    if number is None or not 0 <= number < 1 << 64:
        raise ArgumentError(
            f"from_driver: {handle!r} given; the address of a CUkernel or CUfunction as an int, or an object that "
            "has it (a kernel of cuda.core, CuPy or Triton), is wanted"
        )
    return number


def _number(value: Any) -> int | None:
    """Give what is an integer, and no bool or float; cuda.bindings' handles convert to int alone."""
    is_float = hasattr(value, "__float__") and not hasattr(value, "__index__")
    if is_truth(value) or is_float or isinstance(value, (str, bytes)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        convert = getattr(type(value), "__int__", None)
    try:
        return None if convert is None else int(convert(value))
    except (TypeError, ValueError):  # an array of several
        return None
