"""How images are loaded and linked: the options of the driver's compiler, by name."""

from __future__ import annotations

import ctypes
import difflib
import functools
import importlib.util
import operator
import os
import re
from collections.abc import Mapping
from typing import Any

from dlaunch import _abi, _lib
from dlaunch._errors import ArgumentError
from dlaunch._sizes import is_truth

_LOG_BYTES = 1 << 14

_SUFFIXES = {"": 0, "a": 1 << 16, "f": 2 << 16}  # of CUjit_target: one architecture alone, one family


def _number(least: int, most: int, value: Any) -> int:
    number = -1 if is_truth(value) else operator.index(value)
    if not least <= number <= most:
        raise ValueError
    return number


def _flag(value: Any) -> int:
    if not isinstance(value, bool):
        raise ValueError
    return int(value)


def _target(value: Any) -> int:
    found = re.fullmatch(r"(?:sm_|compute_)(\d{2,3})([af]?)", value)
    if found is None:
        raise ValueError
    return int(found[1]) + _SUFFIXES[found[2]]


def _cache_mode(value: Any) -> int:
    return ("none", "cg", "ca").index(value)


def _count(most: int) -> Any:
    return functools.partial(_number, 0, most)


# Each name: the CUjit_option of cuda.h, how its value is read, and what is wanted.
_JIT = {
    "max_registers": (0, functools.partial(_number, 1, 255), "1 to 255"),
    "optimization_level": (7, _count(4), "0 to 4"),
    "target": (9, _target, "an architecture such as 'sm_90' or 'sm_90a'"),
    "debug": (11, _flag, "True or False"),
    "verbose": (12, _flag, "True or False"),
    "lineinfo": (13, _flag, "True or False"),
    "cache_mode": (14, _cache_mode, "'none', 'cg' or 'ca'"),
    "position_independent": (30, _flag, "True or False"),
    "min_blocks_per_multiprocessor": (31, functools.partial(_number, 1, 64), "1 to 64"),
    "max_threads_per_block": (32, functools.partial(_number, 1, 1024), "1 to 1024"),
    "override_directives": (33, _flag, "True or False"),
    "split_compile": (34, _count(1024), "a number of threads, or 0 for one on each core"),
}


class Options:
    """A dlaunch_library_options, and the memory that it points to."""

    def __init__(self, what: str, names: Mapping[str, str] | None, lazy: bool, jit: Mapping[str, Any]) -> None:
        """Check what was given to `what`: ArgumentError names the nearest option, or the values wanted."""
        pairs = [_jit_option(what, name, value) for name, value in jit.items()]
        self._log = ctypes.create_string_buffer(_LOG_BYTES)
        self._ids = (ctypes.c_int32 * len(pairs))(*(pair[0] for pair in pairs))
        self._values = (ctypes.c_uint64 * len(pairs))(*(pair[1] for pair in pairs))
        self._names = _names(what, {} if names is None else names)
        self.struct = _abi.dlaunch_library_options(
            struct_size=ctypes.sizeof(_abi.dlaunch_library_options),
            flags=_abi.DLAUNCH_LAZY if lazy else 0,
            log=ctypes.addressof(self._log),
            log_size=_LOG_BYTES,
            jit_options=self._ids,
            jit_values=self._values,
            num_jit_options=len(pairs),
            names=self._names,
            num_names=len(self._names),
            nvjitlink=_nvjitlink(),
        )

    @property
    def log(self) -> str:
        """What the compiler or linker said."""
        return self._log.value.decode("utf-8", "replace")


def _jit_option(what: str, name: str, value: Any) -> tuple[int, int]:
    try:
        number, read, wanted = _JIT[name]
    except KeyError:
        near = difflib.get_close_matches(name, _JIT, 1)
        said = f"the nearest is {near[0]}" if near else "there are " + ", ".join(_JIT)
        raise ArgumentError(f"{what}: there is no option {name}; {said}") from None
    try:
        return number, read(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: {name} is {value!r}; {wanted} is wanted") from None


def _names(what: str, names: Mapping[str, str]) -> Any:
    """Give the pairs of names; symbols may be bytes, as NVRTC gives them."""
    if not isinstance(names, Mapping):
        raise ArgumentError(f"{what}: names is {names!r}; a mapping of names to symbols is wanted")
    pairs = (_abi.dlaunch_name * len(names))()
    for pair, (name, symbol) in zip(pairs, names.items(), strict=True):
        if isinstance(symbol, bytes):
            symbol = symbol.decode("utf-8", "surrogateescape")  # which encode refuses
        pair.name, pair.symbol = _lib.encode("a name", name), _lib.encode("a symbol", symbol)
    return pairs


@functools.cache
def _nvjitlink() -> bytes | None:
    """Find the libnvJitLink of NVIDIA's wheels: the newest that makes what this driver loads."""
    spec = importlib.util.find_spec("nvidia")
    newest = _lib.driver_info_struct().version // 1000
    for major in range(newest, 11, -1):
        folder = "nvjitlink" if major == 12 else f"cu{major}"
        for base in (spec and spec.submodule_search_locations) or ():
            path = os.path.join(base, folder, "lib", f"libnvJitLink.so.{major}")
            if os.path.isfile(path):
                return os.fsencode(path)
    return None
