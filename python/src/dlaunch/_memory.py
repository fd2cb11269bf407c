"""Device memory that no dlaunch_array stands for: views of others' arrays and of a library's symbols."""

from __future__ import annotations

import ctypes
from typing import Any

from dlaunch import _abi, _lib, _report, _tensor

# dst[i] = src[i], byte by byte: the C interface copies between a host and a dlaunch_array only, so that a view's bytes
# go through one.
_COPY_PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry dlaunch_copy(.param .u64 dst, .param .u64 src, .param .u64 n)
{
    .reg .pred %p;
    .reg .b16 %h;
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [dst];
    ld.param.u64 %rd1, [src];
    ld.param.u64 %rd2, [n];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r0, %r1;
    cvt.u64.u32 %rd4, %r2;
    add.u64 %rd3, %rd3, %rd4;
    setp.ge.u64 %p, %rd3, %rd2;
    @%p bra DONE;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd0, %rd3;
    ld.global.u8 %h, [%rd4];
    st.global.u8 [%rd5], %h;
DONE:
    ret;
}
"""
_THREADS = 256


def copy(address: int, host: int, nbytes: int, stream: int, device: int, *, to_host: bool) -> None:
    """Copy between host memory and device memory of any owner, after the earlier work of the stream; wait for it."""
    if _lib.is_simulated():  # whose memory is ours too
        _lib.call("dlaunch_stream_synchronize", stream)
        ctypes.memmove(*((host, address) if to_host else (address, host)), nbytes)
        return
    array, extent = ctypes.c_uint64(), (ctypes.c_int64 * 1)(nbytes)
    _lib.call("dlaunch_array_create", device, _abi.DLDataType(_abi.kDLUInt, 8, 1), 1, extent, ctypes.byref(array))
    try:
        if to_host:
            _launch_copy(array.value, address, nbytes, stream, to_array=True)
            _lib.call("dlaunch_array_read", array.value, host, nbytes, stream)
        else:
            _lib.call("dlaunch_array_write", array.value, host, nbytes, stream)
            _launch_copy(array.value, address, nbytes, stream, to_array=False)
            _lib.call("dlaunch_stream_synchronize", stream)
    finally:
        _lib.call("dlaunch_array_close", array.value)


def _launch_copy(array: int, address: int, nbytes: int, stream: int, *, to_array: bool) -> None:
    config = _abi.dlaunch_config(ctypes.sizeof(_abi.dlaunch_config), stream=stream)
    config.grid[0], config.block[0] = (nbytes + _THREADS - 1) // _THREADS, _THREADS
    staged = _abi.dlaunch_arg(_abi.DLAUNCH_ARG_HANDLE, 0, 0, _abi.dlaunch_arg_value(handle=array))
    viewed = _abi.dlaunch_arg(_abi.DLAUNCH_ARG_POINTER, 0, 0, _abi.dlaunch_arg_value(u=address))
    size = _abi.dlaunch_arg(_abi.DLAUNCH_ARG_UINT, 0, 0, _abi.dlaunch_arg_value(u=nbytes))
    order = (staged, viewed, size) if to_array else (viewed, staged, size)
    library, kernel = ctypes.c_uint64(), ctypes.c_uint64()
    _lib.call("dlaunch_library_load", _COPY_PTX, len(_COPY_PTX), None, ctypes.byref(library))
    try:
        _lib.call("dlaunch_kernel_get", library, b"dlaunch_copy", ctypes.byref(kernel))
        _lib.call("dlaunch_launch", kernel, ctypes.byref(config), (_abi.dlaunch_arg * 3)(*order), 3)
        _lib.call("dlaunch_kernel_close", kernel)
    finally:
        _lib.call("dlaunch_library_close", library)


def is_device(borrowed: _tensor.BorrowedTensor) -> bool:
    """Tell whether a tensor lies in device memory; on the simulator that is an address in its range."""
    if not _lib.is_simulated():
        return borrowed.device[0] in (_abi.kDLCUDA, _abi.kDLCUDAManaged)
    if borrowed.device[0] != _abi.kDLCPU:
        return False
    found: Any = _report.report().get("device_memory")
    return found is not None and found[0] <= borrowed.address < found[0] + found[1]
