"""DLPack's C exchange API: what a type's __dlpack_c_exchange_api__ points to."""

from __future__ import annotations

import ctypes
from typing import Any

from dlaunch import _abi
from dlaunch._capsule import capsule_pointer
from dlaunch._errors import TensorError


def api_of(cls: type) -> int:
    """Give the address of a type's DLPackExchangeAPI of major version 1, 0 where it has none that we can use."""
    if not hasattr(ctypes, "pythonapi"):
        return 0
    found = getattr(cls, "__dlpack_c_exchange_api__", None)
    if found is None:
        found = getattr(cls, "__c_dlpack_exchange_api__", None)
    address = found if isinstance(found, int) else capsule_pointer(found, b"dlpack_exchange_api")
    header = ctypes.cast(ctypes.c_void_p(address), ctypes.POINTER(_abi.DLPackExchangeAPIHeader))
    while header and header.contents.version.major != _abi.DLPACK_MAJOR_VERSION:
        header = header.contents.prev_api
    if not header:
        return 0
    address = ctypes.cast(header, ctypes.c_void_p).value or 0
    # The borrowing function may be missing; then the public protocol serves.
    return address if _abi.DLPackExchangeAPI.from_address(address).dltensor_from_py_object_no_sync else 0


def read(value: Any, address: int) -> _abi.DLTensor:
    """Read a tensor whose type has its API at this address; what it gives is sure until other code runs."""
    read_now = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_abi.DLTensor))
    tensor = _abi.DLTensor()
    function = _abi.DLPackExchangeAPI.from_address(address).dltensor_from_py_object_no_sync
    if read_now(function)(value, ctypes.byref(tensor)) != 0:
        raise TensorError("its DLPack exchange function failed without saying why")
    return tensor


def current_stream(address: int, device: int) -> int | None:
    """Give the stream on which the package with this API works now; None where there is no such thing."""
    function = _abi.DLPackExchangeAPI.from_address(address).current_work_stream
    if not function:
        return None
    ask = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    stream = ctypes.c_void_p()
    failed = ask(function)(_abi.kDLCUDA, device, ctypes.byref(stream))
    return None if failed else stream.value or 0
