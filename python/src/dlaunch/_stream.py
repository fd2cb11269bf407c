"""Streams, and what is accepted as one."""

from __future__ import annotations

import ctypes
import operator
from typing import TYPE_CHECKING, Any, ClassVar, SupportsInt

from dlaunch import _abi, _lib
from dlaunch._errors import ArgumentError
from dlaunch._managed import Managed
from dlaunch._sizes import is_truth

if TYPE_CHECKING:
    from dlaunch._event import Event

FIRST_HANDLE = 1 << 48  # numbers from here on are dlaunch's handles; a driver's stream is below


class Stream(Managed):
    """A stream of a device: launches on it run one after the other.

    device: its number. non_blocking: do not wait for the legacy default stream. priority: lower numbers go first; 0 is
    that of other streams, and Stream.priorities() gives the range. Work that was submitted still runs after close().

    Stream.legacy and Stream.per_thread are the default streams. Streams are equal if they are one CUstream.
    """

    __slots__ = ("_device", "_foreign", "_native", "_priority")

    _closer = "dlaunch_stream_close"

    legacy: ClassVar[Stream]
    per_thread: ClassVar[Stream]

    def __init__(self, device: int = 0, *, non_blocking: bool = False, priority: int = 0) -> None:
        """Create a stream. ArgumentError for a priority that the device has not."""
        out = ctypes.c_uint64()
        flags = _abi.DLAUNCH_STREAM_NON_BLOCKING if non_blocking else 0
        number, first = device_number(device), _int32("priority", priority)
        _lib.call_driver("dlaunch_stream_create_with_priority", number, flags, first, ctypes.byref(out))
        super().__init__(out.value)
        self._device: int | None = number
        self._priority: int | None = first
        self._foreign: Any = None
        native = ctypes.c_uint64()
        _lib.call("dlaunch_stream_native", out.value, ctypes.byref(native))
        self._native = native.value

    @classmethod
    def from_handle(cls, stream: Any) -> Stream:
        """Give the Stream of another library's: a CUstream as an int, an object with __cuda_stream__, a torch or CuPy
        stream.

        It is not owned: close() leaves it, and an object that was given is kept alive. An int must be a stream's as
        long as this is used. A dlaunch.Stream is given back.
        """
        if isinstance(stream, Stream):
            return stream
        number = stream_number(stream)
        if number >= FIRST_HANDLE:
            raise ArgumentError(f"dlaunch: stream is {number}, which is no CUstream; keep the dlaunch.Stream instead")
        made = cls.__new__(cls)
        made._handle = made._native = number
        made._owned = []
        made._device = made._priority = None
        made._foreign = stream
        return made

    @staticmethod
    def priorities(device: int = 0) -> tuple[int, int]:
        """Give the least and the greatest priority of a device's streams: the greatest is the lowest number."""
        least, greatest = ctypes.c_int32(), ctypes.c_int32()
        number = device_number(device)
        _lib.call_driver("dlaunch_stream_priorities", number, ctypes.byref(least), ctypes.byref(greatest))
        return least.value, greatest.value

    @property
    def device(self) -> int | None:
        """The number of its device; None for a default stream or another library's."""
        return self._device

    @property
    def priority(self) -> int | None:
        """Its priority; None for a default stream or another library's."""
        return self._priority

    @property
    def closed(self) -> bool:
        """Whether close() was called. Another library's stream is never closed here."""
        return self._foreign is None and not self._owned

    @property
    def native(self) -> int:
        """The CUstream, as an integer, for other libraries. It is dlaunch's, and lives until close()."""
        if self._foreign is not None:
            return self._native
        out = ctypes.c_uint64()
        _lib.call("dlaunch_stream_native", self._handle, ctypes.byref(out))
        return out.value

    def query(self) -> bool:
        """Tell whether the stream's work is done. Raises FaultError for what went wrong in it."""
        out = ctypes.c_int32()
        _lib.call_driver("dlaunch_stream_query", self._handle, ctypes.byref(out))
        return bool(out.value)

    def synchronize(self) -> None:
        """Wait until the stream's work is done. Raises FaultError for what went wrong in it."""
        _lib.call_driver("dlaunch_stream_synchronize", self._handle)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event behind what the stream has been given, a new one unless one is given, and give it."""
        if event is None:
            from dlaunch._event import Event as New  # which needs this module

            event = New(self._device or 0)
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make what the stream is given from now on wait for an event."""
        if not isinstance(event, Managed) or not hasattr(event, "wait"):
            raise ArgumentError(f"wait_event: event is {event!r}; a dlaunch.Event is wanted")
        event.wait(self)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Give the version of the stream protocol and the CUstream."""
        return 0, self.native

    def __eq__(self, other: object) -> bool:
        """Tell whether both are one CUstream; what is closed is itself alone, since its number is given out again."""
        if not isinstance(other, Stream):
            return NotImplemented
        return self is other or (not self.closed and not other.closed and self._number() == other._number())

    def __hash__(self) -> int:
        """Hash the CUstream."""
        return hash(self._number())

    def _number(self) -> int:
        return self._native or 1  # 0 and 1 are the legacy default stream

    def __repr__(self) -> str:
        """Show the device, or whose it is, and whether this is closed."""
        if self._foreign is not None:
            known = {1: "legacy default", 2: "per-thread default"}
            return f"<dlaunch.Stream {known.get(self._number(), hex(self._native))}>"
        return f"<dlaunch.Stream on device {self._device}{', closed' if self.closed else ''}>"


def device_number(device: SupportsInt) -> int:
    """Check a device number."""
    try:
        number = -1 if is_truth(device) else operator.index(device)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 31:
        raise ArgumentError(f"dlaunch: device is {device!r}, a number from 0 is wanted")
    return number


def _int32(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 1 << 31
    if not -1 << 31 <= number < 1 << 31:
        raise ArgumentError(f"dlaunch: {name} is {value!r}, an int of 32 bits is wanted")
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
        found = found[1] if isinstance(found, (tuple, list)) and len(found) == 2 else None
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
    if stream < FIRST_HANDLE:
        return stream
    out = ctypes.c_uint64()
    _lib.call("dlaunch_stream_native", stream, ctypes.byref(out))
    return out.value


def dlpack_stream(stream: Any) -> int:
    """Check the stream that a consumer gives to __dlpack__. ArgumentError for 0, which could be two streams."""
    if isinstance(stream, bool) or not isinstance(stream, int) or stream == 0 or not -1 <= stream < FIRST_HANDLE:
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


Stream.legacy, Stream.per_thread = Stream.from_handle(1), Stream.from_handle(2)
