"""What launches a kernel: a builtin of the library where it can be made, ctypes elsewhere."""

from __future__ import annotations

import ctypes
import dataclasses
import types
import weakref
from collections.abc import Callable
from typing import Any, NoReturn

from dlaunch import _abi, _lib
from dlaunch._arguments import Arguments, recipe_of
from dlaunch._array import DeviceArray, handle_offset
from dlaunch._attributes import LaunchAttributes
from dlaunch._binding import Binding
from dlaunch._errors import HandleError, error_of
from dlaunch._managed import Managed
from dlaunch._parameter import read_parameters

Launcher = Callable[..., None]


class Entry(Managed):
    """A kernel's handle. Launchers hold it, and not the Kernel, which remembers them."""

    __slots__ = ("keep", "known", "name", "parameters", "passed")

    _closer = "dlaunch_kernel_close"

    def __init__(self, handle: int, name: str, prototype: str | None) -> None:
        super().__init__(handle)
        self.keep: object = None  # what it came from, which keeps its library
        self.known: dict[tuple[int, int], int] = {}  # attributes that never change, by device and number
        self.name = name
        self.parameters = read_parameters(handle, prototype)
        self.passed = tuple(p for p in self.parameters if not p.filled and not p.bound)


@dataclasses.dataclass(frozen=True)
class Configuration:
    """All that a launch is but its arguments. Sizes are checked; stream is None where no one says which."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int | None
    shared: int
    cluster: tuple[int, int, int] | None
    cooperative: bool
    hold_gil: bool
    sync: bool
    empty_ok: bool
    checks_pointers: bool
    attributes: LaunchAttributes = ()
    # The object that was given as stream: the launcher keeps it open.
    keep: object = dataclasses.field(default=None, compare=False)

    def to_struct(self) -> _abi.dlaunch_config:
        """Give the C struct: a launch without blocks or threads is one of a grid of 0, which still checks."""
        flags = _abi.DLAUNCH_COOPERATIVE if self.cooperative else 0
        if self.checks_pointers:
            flags |= _abi.DLAUNCH_CHECK_POINTERS
        grid, block = self.grid, self.block
        if self.empty_ok:
            flags |= _abi.DLAUNCH_ZERO_GRID_OK
            if 0 in grid + block:
                grid, block = (0, 1, 1), (block[0] or 1, block[1] or 1, block[2] or 1)
        config = _abi.dlaunch_config(ctypes.sizeof(_abi.dlaunch_config), grid, block)
        config.cluster[:] = self.cluster or (0, 0, 0)
        config.shared_bytes, config.flags, config.stream = self.shared, flags, self.stream or 0
        if self.attributes:  # the struct keeps the array
            items = [
                _abi.dlaunch_attribute(number, 0, (ctypes.c_uint8 * 64)(*value)) for number, value in self.attributes
            ]
            config.attributes = (_abi.dlaunch_attribute * len(items))(*items)
            config.num_attributes = len(items)
        return config


@dataclasses.dataclass(frozen=True)
class Held:
    """What a kernel and its launchers keep alive: the Library, for what is bound to its symbols, and what is bound."""

    library: Managed | None
    bindings: tuple[Binding, ...] = ()

    def stream_owner(self) -> Binding | None:
        """Give the first GPU tensor whose package says on which stream it works."""
        return next((b for b in self.bindings if b.stream_owner is not None), None)


class Plain:
    """Launches through ctypes: what the builtin calls for all that it leaves, and what stands in for it."""

    __slots__ = ("_config", "_configuration", "_entry", "_held", "_library", "_stream_owner")

    def __init__(self, entry: Entry, configuration: Configuration, held: Held) -> None:
        self._entry, self._configuration, self._held = entry, configuration, held
        self._stream_owner = held.stream_owner() if configuration.stream is None else None
        self._config = configuration.to_struct()
        self._library = _lib.loaded()

    def __call__(self, *values: Any) -> None:
        self._library.slow_calls["sync" if self._configuration.sync else "no builtin"] += 1
        self._launch(values)

    def leave(self, values: tuple[Any, ...], reason: str) -> None:
        """Go on where the builtin stopped, before the driver was asked."""
        self._library.slow_calls[reason] += 1
        self._launch(values)

    def _launch(self, values: tuple[Any, ...]) -> None:
        entry, given = self._entry, self._configuration.stream
        if entry.closed:
            raise HandleError(f'dlaunch_launch: kernel "{entry.name}" is closed')
        if self._stream_owner is not None:
            given = self._stream_owner.current_stream()
        arguments = Arguments(values, entry.passed, entry.name, given, self._configuration.sync)
        config = self._config
        stream = arguments.stream or 0
        if stream != config.stream:
            config = _abi.dlaunch_config.from_buffer_copy(config)
            config.stream = stream
        _lib.call("dlaunch_launch", entry.handle, ctypes.byref(config), arguments.array, len(values))
        if arguments.has_copies:
            _lib.call("dlaunch_stream_synchronize", stream)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "what launches a dlaunch Kernel cannot be pickled or copied; pickle the Kernel, and configure there"
        )


def raise_error(status: int, driver_code: int, argument: int, message: str) -> NoReturn:
    """Raise what the library reported to the builtin."""
    raise error_of(status, driver_code, argument, message)


def make_launcher(entry: Entry, configuration: Configuration, held: Held) -> Launcher:
    """Make what launches a kernel with one configuration."""
    plain = Plain(entry, configuration, held)
    owner = plain._stream_owner
    library = _lib.loaded()
    if library.python is None or not library.makes_builtins or configuration.sync or configuration.attributes:
        return plain
    support = (
        plain.leave,
        raise_error,
        recipe_of,
        DeviceArray,
        handle_offset(),
        configuration.stream is None,
        configuration.hold_gil,
        *(owner.stream_owner if owner is not None and owner.stream_owner is not None else (None, 0)),
    )
    made: Launcher | None = library.python.dlaunch_python_callable(entry.handle, plain._config, support)
    if made is None:  # this interpreter lacks something
        return plain
    _behind[made] = plain
    return made


# What the builtins stand for, as long as they are there: for batches.
_behind: weakref.WeakKeyDictionary[Launcher, Plain] = weakref.WeakKeyDictionary()


def plain_of(launcher: Any) -> Plain | None:
    """Give what is behind something that launches; None if it does not."""
    if isinstance(launcher, Plain):
        return launcher
    return _behind.get(launcher) if isinstance(launcher, types.BuiltinFunctionType) else None
