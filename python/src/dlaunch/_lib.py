"""Finding, loading and calling libdlaunch.so, on first use: a process may fork before that, never after."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from dlaunch import _abi
from dlaunch._errors import ArgumentError, MissingFileError, SimulatorWarning, UnsupportedError, error_from

_NAMES = ("libdlaunch.so.1", "libdlaunch.so")


class Loaded:
    """The library, once it is loaded."""

    def __init__(self, path: str) -> None:
        """Load a file and check that it speaks this package's ABI."""
        self.path = path
        try:
            self.c = ctypes.CDLL(path)
            found = ctypes.CFUNCTYPE(ctypes.c_uint32)(("dlaunch_abi_version", self.c))()
        except (OSError, AttributeError) as cause:
            raise UnsupportedError(
                f"dlaunch: {path} cannot be loaded: {cause}; "
                "a libdlaunch.so for this machine (Linux with glibc) is wanted"
            ) from cause
        if found < _abi.DLAUNCH_ABI_VERSION:
            raise UnsupportedError(
                f"dlaunch: {path} has ABI version {found}, this package needs {_abi.DLAUNCH_ABI_VERSION} or newer; "
                "is DLAUNCH_LIBRARY an old build?"
            )
        _abi.declare(self.c)
        self.python = _python_functions(path)
        wanted = os.environ.get("DLAUNCH_FASTCALL") != "0"
        self.makes_builtins = wanted and self.python is not None and _has_lock()
        self.counts_leaks = _is_on("DLAUNCH_LEAK")
        self.traces_origins = self.counts_leaks or _is_on("DLAUNCH_LOG")
        self.driver_seen = False
        self.slow_calls: Counter[str] = Counter()
        self.kept: dict[str, int] = {}  # handles of the package's own kernels: nobody closes them


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "off").partition(":")[0] not in ("", "off")


def _python_functions(path: str) -> ctypes.PyDLL | None:
    """Give the functions that work on Python objects; None where this is not CPython."""
    if not hasattr(ctypes, "pythonapi"):
        return None
    library = ctypes.PyDLL(path)
    _abi.declare_python(library)
    return library if library.dlaunch_python_ready() else None


def _has_lock() -> bool:
    """Tell a build whose threads take turns, which builtins rely on. Others can have a lock that is switched on."""
    return "t" not in getattr(sys, "abiflags", "")


_lock = threading.Lock()
_loaded: list[Loaded] = []


def loaded() -> Loaded:
    """Give the library, loading it if nothing has yet. Touches no driver."""
    if _loaded:
        return _loaded[0]
    with _lock:
        if not _loaded:
            _loaded.append(Loaded(_find()))
        return _loaded[0]


def is_loaded() -> bool:
    """Tell whether anything has needed the library yet."""
    return bool(_loaded)


def _find() -> str:
    given = os.environ.get("DLAUNCH_LIBRARY")
    if given:
        places = [Path(given)]
    else:
        places = [Path(__file__).parent / name for name in _NAMES]
    for place in places:
        if place.is_file():
            return str(place.resolve())
    tried = ", ".join(map(str, places))
    source = "DLAUNCH_LIBRARY names" if given else "tried"
    raise MissingFileError(
        f"dlaunch: libdlaunch.so was not found ({source}: {tried}); "
        "install a wheel, or build the library and set DLAUNCH_LIBRARY to its path"
    )


def call(name: str, *arguments: Any) -> None:
    """Call a function of the library; raise what it reports."""
    err = _abi.dlaunch_error(ctypes.sizeof(_abi.dlaunch_error), 0, 0, -1)
    status = getattr(loaded().c, name)(*arguments, ctypes.byref(err))
    if status != _abi.DLAUNCH_OK:
        err.status = status
        raise error_from(err)


def call_driver(name: str, *arguments: Any) -> None:
    """Do as call does, for a function that opens the driver: say once that it is the simulator."""
    library = loaded()
    if not library.driver_seen:
        _see_driver(library)
    call(name, *arguments)


def driver_info_struct() -> _abi.dlaunch_driver_info_t:
    """Describe the driver, opening it if nothing has yet."""
    info = _abi.dlaunch_driver_info_t(ctypes.sizeof(_abi.dlaunch_driver_info_t))
    call("dlaunch_driver_info", ctypes.byref(info))
    return info


def is_simulated() -> bool:
    """Tell whether the simulator serves, opening the driver if nothing has yet."""
    return bool(driver_info_struct().kind == b"sim")


def _see_driver(library: Loaded) -> None:
    info = driver_info_struct()
    library.driver_seen = True
    if info.kind != b"sim" or os.environ.get("DLAUNCH_DRIVER", "auto") not in ("", "auto"):
        return
    reason = info.reason.decode("utf-8", "replace")
    warnings.warn(
        f"dlaunch runs kernels on its simulator: {reason} (DLAUNCH_DRIVER=sim asks for it without this warning)",
        SimulatorWarning,
        stacklevel=_frames_of_package(),
    )


def _frames_of_package() -> int:
    """Count the package's own frames, so that a warning points at the caller's line."""
    own = os.path.dirname(__file__) + os.sep
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        frame = frame.f_back
        level += 1
    return level


def read_text(name: str, *arguments: Any) -> str:
    """Call a function that puts a text into a buffer of ours."""
    needed = ctypes.c_size_t()
    call(name, *arguments, None, 0, ctypes.byref(needed))
    while True:
        buffer = ctypes.create_string_buffer(needed.value + 1024)  # another thread may make the text longer
        try:
            call(name, *arguments, buffer, len(buffer), ctypes.byref(needed))
        except ArgumentError:
            if needed.value <= len(buffer):
                raise
        else:
            return buffer.value.decode("utf-8", "replace")


def encode(what: str, text: str) -> bytes:
    """Give a text as C takes it; ArgumentError if it cannot be one."""
    if not isinstance(text, str):
        raise ArgumentError(f"dlaunch: {what} is of type {type(text).__name__}, a str is wanted")
    if "\0" in text:
        raise ArgumentError(f"dlaunch: {what} {text!r} has a NUL in it")
    try:
        return text.encode()
    except UnicodeEncodeError as cause:
        raise ArgumentError(f"dlaunch: {what} {text!r} has no UTF-8: {cause.reason}") from cause
