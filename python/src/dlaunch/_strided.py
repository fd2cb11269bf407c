"""Copying and filling memory of any layout on the device, by a kernel that is loaded once."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import struct
from collections.abc import Sequence
from pathlib import Path

from dlaunch import _abi, _dtype, _lib, _tensor
from dlaunch._errors import TensorError

_AXES = 40  # as in strided.c
_LAYOUT = struct.Struct(f"<QIIqq{3 * _AXES}q16s")
_PROTOTYPE = f"dlaunch_strided(to: out any[...] @strided, from: any[...]? @strided, layout: bytes({_LAYOUT.size}, 8))"
_WIDEST = 16  # bytes that a thread copies at once
_THREADS = 256

_Axis = tuple[int, int, int]  # the extent, and the steps in bytes on both sides


@dataclasses.dataclass(frozen=True)
class Place:
    """Memory to copy to or from: a tensor that the launch is given, its address, and where in it to begin.

    offset and strides are in bytes; a shape comes with each call.
    """

    argument: _abi.dlaunch_arg
    address: int
    offset: int
    strides: Sequence[int]
    keep: object = None

    def overlaps(self, shape: Sequence[int], other: Place, others: Sequence[int], itemsize: int) -> bool:
        """Tell whether the bytes of one shape here and of another there may be the same."""
        low, high = self._span(shape, itemsize)
        other_low, other_high = other._span(others, itemsize)
        return 0 not in shape and 0 not in others and low < other_high and other_low < high

    def _span(self, shape: Sequence[int], itemsize: int) -> tuple[int, int]:
        reach = [step * (n - 1) for n, step in zip(shape, self.strides, strict=True)]
        first = self.address + self.offset
        return first + sum(r for r in reach if r < 0), first + sum(r for r in reach if r > 0) + itemsize


def host_place(data: bytes | bytearray, strides: Sequence[int]) -> Place:
    """Give host memory to the kernel: bytes to be read, or a bytearray that is written whole."""
    buffer = (ctypes.c_char * len(data)).from_buffer(data) if isinstance(data, bytearray) else ctypes.c_char_p(data)
    address = ctypes.cast(buffer, ctypes.c_void_p).value or 0
    uint8 = _dtype.DataType(_abi.kDLUInt, 8)
    tensor = _tensor.BorrowedTensor(address, (_abi.kDLCPU, 0), uint8, (len(data),), None, 0, (data, buffer))
    flags = _abi.DLAUNCH_OUT | _abi.DLAUNCH_WHOLE if isinstance(data, bytearray) else _abi.DLAUNCH_IN
    value = _abi.dlaunch_arg_value(u=tensor.pointer)
    return Place(_abi.dlaunch_arg(_abi.DLAUNCH_ARG_VERSIONED, flags, 0, value), address, 0, strides, tensor)


def copy(to: Place, source: Place, shape: Sequence[int], itemsize: int, stream: int) -> None:
    """Copy elements, in the order of a stream. Places that overlap are copied in any order."""
    if 0 in shape:
        return
    axes = _merged([*zip(shape, to.strides, source.strides, strict=True), (itemsize, 1, 1)])
    places = (to.address + to.offset, source.address + source.offset)
    size, axes = _widened(axes, *places)
    _launch(to, source, to.offset, axes, size, bytes(_WIDEST), stream)


def fill(to: Place, shape: Sequence[int], item: bytes, stream: int) -> None:
    """Give every element the same bytes, in the order of a stream."""
    if 0 in shape:
        return
    address = to.address + to.offset
    piece = math.gcd(_WIDEST, len(item), address, *to.strides)
    for at in range(0, len(item), piece):
        axes = _merged([*zip(shape, to.strides, to.strides, strict=True), (piece, 1, 1)])
        size, axes = _widened(axes, address + at, 0)
        _launch(to, None, to.offset + at, axes, size, item[at : at + piece] * (size // piece), stream)


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Put the axes in the order of the memory that is written, and make one of those that are one to both sides."""
    found: list[_Axis] = []
    for extent, to, source in sorted(axes, key=lambda axis: -abs(axis[1])):
        if extent == 1:
            continue
        if found and found[-1][1:] == (extent * to, extent * source):
            extent *= found.pop()[0]
        found.append((extent, to, source))
    return found


def _widened(axes: list[_Axis], to: int, source: int) -> tuple[int, list[_Axis]]:
    """Give the most bytes that can be copied at once, and the axes in steps of so many."""
    runs = bool(axes) and axes[-1][1:] == (1, 1)
    outer, run = (axes[:-1], axes[-1][0]) if runs else (axes, 1)
    size = math.gcd(_WIDEST, run, to, source, *(step for axis in outer for step in axis[1:]))
    return size, outer if run == size else [*outer, (run // size, size, size)]


def _launch(
    to: Place, source: Place | None, offset: int, axes: list[_Axis], size: int, value: bytes, stream: int
) -> None:
    units = math.prod(extent for extent, _, _ in axes)
    steps = [number for side in zip(*axes, *[(1, 0, 0)] * (_AXES - len(axes)), strict=True) for number in side]
    from_offset = 0 if source is None else source.offset
    try:
        layout = _LAYOUT.pack(units, size, len(axes), offset, from_offset, *steps, value)
    except struct.error:
        raise TensorError("an array of these strides, or of so many elements, is in no memory") from None
    buffer = ctypes.create_string_buffer(layout, len(layout))
    packed = _abi.dlaunch_arg_value(bytes=ctypes.addressof(buffer))
    nothing = _abi.dlaunch_arg(_abi.DLAUNCH_ARG_NONE)
    arguments = (_abi.dlaunch_arg * 3)(
        to.argument,
        nothing if source is None else source.argument,
        _abi.dlaunch_arg(_abi.DLAUNCH_ARG_BYTES, 0, len(layout), packed),
    )
    config = _abi.dlaunch_config(ctypes.sizeof(_abi.dlaunch_config), stream=stream)
    config.grid[0], config.block[0] = -(-units // _THREADS), _THREADS
    _lib.call("dlaunch_launch", _kernel(), ctypes.byref(config), arguments, 3)


def _kernel() -> int:
    """Give the kernel, loading it if nothing has yet; with no lock, since calls of the library may run others' code."""
    kept = _lib.loaded().kept
    found = kept.get("strided")
    if found is None:
        made = _loaded_kernel()
        found = kept.setdefault("strided", made)
        if found != made:  # another thread's came first
            _lib.call("dlaunch_kernel_close", made)
    return found


def _loaded_kernel() -> int:
    image = Path(__file__).with_name("strided.ptx").read_bytes()
    library, kernel = ctypes.c_uint64(), ctypes.c_uint64()
    _lib.call("dlaunch_library_load", image, len(image), None, ctypes.byref(library))
    try:
        _lib.call("dlaunch_kernel_get", library, _PROTOTYPE.encode(), ctypes.byref(kernel))
    finally:
        _lib.call("dlaunch_library_close", library)  # the kernel keeps it
    _lib.call("dlaunch_disown", kernel)  # it stays until the process ends
    return kernel.value
