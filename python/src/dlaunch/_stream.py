"""Streams, and what is accepted as one."""

from __future__ import annotations

import ctypes
import operator
from typing import Any, SupportsInt

from dlaunch import _abi, _lib
from dlaunch._errors import ArgumentError
from dlaunch._managed import Managed


class Stream(Managed):
    """A stream of a device: launches on it run one after the other.

    device: its number. non_blocking: do not wait for the legacy default stream. Work that was submitted still runs
    after close().
    """

    __slots__ = ("_device",)

    _closer = "dlaunch_stream_close"

    def __init__(self, device: int = 0, *, non_blocking: bool = False) -> None:
        """Create a stream."""
        out = ctypes.c_uint64()
        flags = _abi.DLAUNCH_STREAM_NON_BLOCKING if non_blocking else 0
        _lib.call_driver("dlaunch_stream_create", device_number(device), flags, ctypes.byref(out))
        super().__init__(out.value)
        self._device = device

    @property
    def device(self) -> int:
        """The number of its device."""
        return self._device

    @property
    def native(self) -> int:
        """The CUstream, as an integer, for other libraries. It is dlaunch's, and lives until close()."""
        out = ctypes.c_uint64()
        _lib.call("dlaunch_stream_native", self._handle, ctypes.byref(out))
        return out.value

    def synchronize(self) -> None:
        """Wait until the stream's work is done. Raises FaultError for what went wrong in it."""
        _lib.call("dlaunch_stream_synchronize", self._handle)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Give the version of the stream protocol and the CUstream."""
        return 0, self.native

    def __repr__(self) -> str:
        """Show the device and whether this is closed."""
        return f"<dlaunch.Stream on device {self._device}{', closed' if self.closed else ''}>"


_FIRST_HANDLE = 1 << 48  # a stream below is a driver's


def device_number(device: SupportsInt) -> int:
    """Check a device number."""
    try:
        number = operator.index(device)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(f"dlaunch: device is {device!r}, a number from 0 is wanted") from None
    if not 0 <= number < 1 << 31 or isinstance(device, bool):
        raise ArgumentError(f"dlaunch: device is {device!r}, a number from 0 is wanted")
    return number


def stream_number(stream: Any) -> int:
    """Give the number of anything that is accepted as a stream.

    That is an int (a CUstream; 0 and 1 legacy default, 2 per thread), a dlaunch.Stream, an object with
    __cuda_stream__, a torch stream (cuda_stream) or a CuPy stream (ptr).
    """
    if isinstance(stream, Stream):
        return stream.handle
    found: Any = stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        found = protocol() if callable(protocol) else protocol
        found = found[1]
    elif not isinstance(stream, int):
        found = getattr(stream, "cuda_stream", getattr(stream, "ptr", None))
    try:
        number = operator.index(found)
    except TypeError:
        number = -1
    if isinstance(stream, bool) or not 0 <= number < 1 << 64:
        raise ArgumentError(
            f"dlaunch: stream is {stream!r}; an int, a dlaunch.Stream, a torch or CuPy stream, "
            "or an object with __cuda_stream__ is wanted"
        )
    return number


def stream_or_legacy(stream: Any) -> int:
    """Give the number of a stream, or of the legacy default one for None."""
    return 0 if stream is None else stream_number(stream)


def native_stream(stream: int) -> int:
    """Give the driver's number of a stream."""
    if stream < _FIRST_HANDLE:
        return stream
    out = ctypes.c_uint64()
    _lib.call("dlaunch_stream_native", stream, ctypes.byref(out))
    return out.value


def dlpack_stream(stream: Any) -> int:
    """Check the stream that a consumer gives to __dlpack__. ArgumentError for 0, which could be two streams."""
    if isinstance(stream, bool) or not isinstance(stream, int) or stream == 0 or not -1 <= stream < _FIRST_HANDLE:
        raise ArgumentError(
            f"__dlpack__: stream is {stream!r}; None, 1 (legacy default), 2 (per-thread default), "
            "a cudaStream_t as an int, or -1 for no order is wanted"
        )
    return stream


def order(before: int, after: int, device: int) -> None:
    """Make a stream wait, on the device, for what another one, of that device, has been given so far."""
    if (before or 1) == (after or 1):  # 0 and 1 are one
        return
    event = ctypes.c_uint64()
    _lib.call("dlaunch_event_create", device, _abi.DLAUNCH_EVENT_NO_TIMING, ctypes.byref(event))
    try:
        _lib.call("dlaunch_event_record", event, before)
        _lib.call("dlaunch_event_wait", event, after)
    finally:
        _lib.call("dlaunch_event_close", event)
