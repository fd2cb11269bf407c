"""What is alive and what was done; the devices and the driver; waiting."""

from __future__ import annotations

import ctypes
import dataclasses
import json
from collections import Counter
from typing import Any

from dlaunch import _lib
from dlaunch._stream import device_number

# CUdevice_attribute numbers of cuda.h
_COMPUTE_MAJOR, _COMPUTE_MINOR, _MULTIPROCESSORS = 75, 76, 16


@dataclasses.dataclass(frozen=True)
class DriverInfo:
    """Which driver serves: kind is 'cuda' or 'sim', version is 1000 * major + 10 * minor, reason says why this one."""

    kind: str
    version: int
    devices: int
    path: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Device:
    """One device: its number, (major, minor) compute capability, and its number of multiprocessors."""

    index: int
    compute_capability: tuple[int, int]
    multiprocessors: int

    def memory(self) -> tuple[int, int]:
        """Give the free and the total memory, in bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        _lib.call("dlaunch_memory_info", self.index, ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value


def driver_info() -> DriverInfo:
    """Describe the driver, opening it if nothing has yet. NoDriverError if it is there but broken."""
    info = _lib.driver_info_struct()
    text = {name: getattr(info, name).decode("utf-8", "replace") for name in ("kind", "path", "reason")}
    return DriverInfo(version=info.version, devices=info.devices, **text)


def devices() -> list[Device]:
    """List the devices that the driver shows."""
    count = ctypes.c_int32()
    _lib.call_driver("dlaunch_device_count", ctypes.byref(count))
    found = []
    for index in range(count.value):
        major, minor, units = (_attribute(index, n) for n in (_COMPUTE_MAJOR, _COMPUTE_MINOR, _MULTIPROCESSORS))
        found.append(Device(index, (major, minor), units))
    return found


def _attribute(device: int, attribute: int) -> int:
    out = ctypes.c_int32()
    _lib.call("dlaunch_device_attribute", device, attribute, ctypes.byref(out))
    return out.value


def synchronize(device: int = 0) -> None:
    """Wait until all work of a device is done. Raises FaultError for what went wrong in it."""
    _lib.call_driver("dlaunch_synchronize", device_number(device))


def drain() -> None:
    """Finish what closing left: wait for the work that still uses closed things, and free them."""
    _lib.call("dlaunch_drain")


def report() -> dict[str, Any]:
    """Tell what is alive and what was done, as dlaunch_report does; what the package keeps for itself is left out.

    launches.python is this package's: how many launches left the builtin, or never had one, and the reasons.
    """
    found: dict[str, Any] = json.loads(_lib.read_text("dlaunch_report"))
    kept = set(_lib.loaded().kept.values())
    found["handles"] = [h for h in found["handles"] if not kept.intersection((h["handle"], *h.get("held_by", ())))]
    found["live"] = dict(Counter(h["kind"] for h in found["handles"] if h["open"]))
    slow = dict(_lib.loaded().slow_calls)
    found["launches"]["python"] = {"slow": sum(slow.values()), "reasons": slow}
    return found


def live_handles() -> int:
    """Count the handles that their owners have not closed. 0 where nothing has loaded the library."""
    if not _lib.is_loaded():
        return 0
    return sum(1 for handle in report()["handles"] if handle.get("open", True))
