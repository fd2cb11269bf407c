"""The current device of a thread."""

from __future__ import annotations

import ctypes
import threading

from dlaunch import _lib
from dlaunch._stream import device_number


class _Here(threading.local):
    """What was current on this thread, where other threads may use the same object."""

    def __init__(self) -> None:
        self.former: list[int] = []


class device:
    """Make a device the thread's current one: `with dlaunch.device(1): ...`.

    Its primary context is current inside, for launches that neither a stream nor a tensor gives a device, and for other
    libraries. Afterwards the context that was current before is again, whatever it was and whatever was raised. It may
    be nested. What has a device= takes that, 0 by default, and not the current one.
    """

    __slots__ = ("_here", "index")

    def __init__(self, index: int) -> None:
        """Choose a device; nothing is done before the `with`."""
        self.index = device_number(index)
        self._here = _Here()

    def __enter__(self) -> device:
        """Make the device current."""
        former = ctypes.c_uint64()
        _lib.call_driver("dlaunch_device_enter", self.index, ctypes.byref(former))
        self._here.former.append(former.value)
        return self

    def __exit__(self, *unused: object) -> None:
        """Make current what was."""
        _lib.call("dlaunch_device_leave", self._here.former.pop())

    def __repr__(self) -> str:
        """Show the number."""
        return f"<dlaunch.device {self.index}>"
