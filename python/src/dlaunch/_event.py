"""Events: marks in the work of streams."""

from __future__ import annotations

import ctypes
from typing import Any

from dlaunch import _abi, _lib
from dlaunch._errors import ArgumentError
from dlaunch._managed import Managed
from dlaunch._stream import device_number, stream_number


class Event(Managed):
    """A mark in the work of a device's streams: it is passed when what was before it is done.

    device: its number. timing: it has a time, for elapsed. blocking: a thread that waits for it sleeps; without, it
    spins. Streams that wait for it still do after close().
    """

    __slots__ = ("_device",)

    _closer = "dlaunch_event_close"

    def __init__(self, device: int = 0, *, timing: bool = True, blocking: bool = False) -> None:
        """Create an event, which is not recorded yet."""
        out = ctypes.c_uint64()
        flags = (0 if timing else _abi.DLAUNCH_EVENT_NO_TIMING) | (_abi.DLAUNCH_EVENT_BLOCKING if blocking else 0)
        number = device_number(device)
        _lib.call_driver("dlaunch_event_create", number, flags, ctypes.byref(out))
        super().__init__(out.value)
        self._device = number

    @property
    def device(self) -> int:
        """The number of its device."""
        return self._device

    def record(self, stream: Any = None) -> None:
        """Put the event behind what a stream of its device has been given so far: the legacy default one for None.

        Recorded again, it stands for the last place only.
        """
        _lib.call("dlaunch_event_record", self._handle, 0 if stream is None else stream_number(stream))

    def wait(self, stream: Any = None) -> None:
        """Make what a stream of any device is given from now on wait for the event. The caller does not wait."""
        _lib.call("dlaunch_event_wait", self._handle, 0 if stream is None else stream_number(stream))

    def query(self) -> bool:
        """Tell whether the event is passed, or was never recorded."""
        out = ctypes.c_int32()
        _lib.call("dlaunch_event_query", self._handle, ctypes.byref(out))
        return bool(out.value)

    def synchronize(self) -> None:
        """Wait until the event is passed. Raises FaultError for what went wrong before it."""
        _lib.call("dlaunch_event_synchronize", self._handle)

    def elapsed(self, end: Event) -> float:
        """Give the milliseconds from this event to another of the device, which both must have passed.

        ArgumentError if one has no time or was never recorded; DriverError (code 600) if one is not passed yet.
        """
        if not isinstance(end, Event):
            raise ArgumentError(f"dlaunch: end is {end!r}, a dlaunch.Event is wanted")
        out = ctypes.c_float()
        _lib.call("dlaunch_event_elapsed", self._handle, end.handle, ctypes.byref(out))
        return out.value

    def __repr__(self) -> str:
        """Show the device and whether this is closed."""
        return f"<dlaunch.Event on device {self._device}{', closed' if self.closed else ''}>"
