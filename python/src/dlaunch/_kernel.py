"""Kernels, and what launches them: a builtin of the library where it can be made, ctypes elsewhere."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import pickle
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from dlaunch import _abi, _capture, _lib
from dlaunch._arguments import Arguments, recipe_of
from dlaunch._array import DeviceArray, handle_offset
from dlaunch._attributes import Attributes, LaunchAttributes, launch_attributes
from dlaunch._capture import Capture
from dlaunch._errors import ArgumentError, ConfigError, HandleError, error_of
from dlaunch._foreign import address_of
from dlaunch._managed import Managed, refuse_copy
from dlaunch._occupancy import Occupancy, Shared, bytes_of
from dlaunch._offsets import offset_of
from dlaunch._parameter import Parameter, is_prototype, read_parameters
from dlaunch._sizes import count as _count
from dlaunch._sizes import sizes as _sizes
from dlaunch._stream import device_number, stream_number

_MOST_CONFIGURATIONS = 64  # that a kernel remembers

Launcher = Callable[..., None]


class _Entry(Managed):
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
class _Configuration:
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
class _Held:
    """What a kernel and its launchers keep alive: the Library, for what is bound to its symbols, and what is bound."""

    library: Managed | None
    captures: tuple[Capture, ...] = ()

    def stream_owner(self) -> Capture | None:
        """Give the first GPU tensor whose package says on which stream it works."""
        return next((c for c in self.captures if c.stream_owner is not None), None)


class _Plain:
    """Launches through ctypes: what the builtin calls for all that it leaves, and what stands in for it."""

    __slots__ = ("_config", "_configuration", "_entry", "_held", "_library", "_stream_owner")

    def __init__(self, entry: _Entry, configuration: _Configuration, held: _Held) -> None:
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


def _raise_error(status: int, driver_code: int, argument: int, message: str) -> NoReturn:
    """Raise what the library reported to the builtin."""
    raise error_of(status, driver_code, argument, message)


def _launcher(entry: _Entry, configuration: _Configuration, held: _Held) -> Launcher:
    """Make what launches a kernel with one configuration."""
    plain = _Plain(entry, configuration, held)
    owner = plain._stream_owner
    library = _lib.loaded()
    if library.python is None or not library.makes_builtins or configuration.sync or configuration.attributes:
        return plain
    support = (
        plain.leave,
        _raise_error,
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
_behind: weakref.WeakKeyDictionary[Launcher, _Plain] = weakref.WeakKeyDictionary()


def plain_of(launcher: Any) -> _Plain | None:
    """Give what is behind something that launches; None if it does not."""
    if isinstance(launcher, _Plain):
        return launcher
    return _behind.get(launcher) if isinstance(launcher, types.BuiltinFunctionType) else None


class Kernel:
    """A kernel of a library: launch it with `kernel[grid, block](arguments...)`.

    It keeps its library loaded; the two may be closed in any order. Raises from every launch: ArgumentError,
    TensorError, ConfigError, HandleError (closed), FaultError and DriverError.
    """

    __slots__ = ("__dict__", "__weakref__", "_by_key")  # C reads _by_key

    def __init__(self, handle: int, text: str, default_name: str = "", library: Managed | None = None) -> None:
        """Own a handle that dlaunch_kernel_get gave for this name or prototype of a Library."""
        given = text.strip() if is_prototype(text) else None
        name = text if given is None else _name_of(given) or default_name
        self._prototype = given or _lib.read_text("dlaunch_kernel_prototype", handle) or None
        self._text = text
        self._held = _Held(library)
        self._own(_Entry(handle, name, self._prototype))

    def _own(self, entry: _Entry) -> None:
        _speed_up_subscripts()
        self._entry = entry
        self._by_key: dict[tuple[Any, ...], Launcher] = {}
        self._by_configuration: dict[_Configuration, Launcher] = {}

    @classmethod
    def from_driver(cls, handle: Any, prototype: str | None = None) -> Kernel:
        """Make a kernel of a CUkernel or CUfunction that another library got from the driver.

        handle: its address as an int, or an object that has it: a Kernel of cuda.core or dlaunch, a CuPy RawKernel or
        Function, a Triton CompiledKernel, a ctypes pointer. The object is kept, and must keep the kernel's library
        loaded; of an int that is the caller's to do. One of dlaunch's own kernels gives that kernel, with its library.
        prototype: as for Library.kernel; its name, if there is one, must be the kernel's. HandleError if it is no such
        address, ArgumentError if it is none at all, UnsupportedError where the driver cannot tell the parameters.
        """
        out = ctypes.c_uint64()
        text = None if prototype is None else _lib.encode("prototype", prototype)
        _lib.call_driver("dlaunch_kernel_from_driver", address_of(handle), text, ctypes.byref(out))
        name = _lib.read_text("dlaunch_kernel_name", out.value)
        kernel = cls(out.value, prototype or name, name)
        kernel._entry.keep = handle
        return kernel

    # ---- what it is

    @property
    def name(self) -> str:
        """The name that the image has for it."""
        return self._entry.name

    @property
    def prototype(self) -> str | None:
        """The prototype that it was got with, else the one that the image carries, or None."""
        return self._prototype

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters, those that `=` fills in too."""
        return self._entry.parameters

    @property
    def handle(self) -> int:
        """The dlaunch_kernel, for other languages; stale once this is closed."""
        return self._entry.handle

    @property
    def driver_handle(self) -> int:
        """The CUkernel, as an integer, for other libraries: dlaunch's, and good until close().

        Of from_driver, what that was given. On the simulator it is a number of the simulator's.
        """
        out = ctypes.c_uint64()
        _lib.call("dlaunch_kernel_native", self._entry.handle, ctypes.byref(out))
        return out.value

    @property
    def attributes(self) -> Attributes:
        """What the driver tells of it on device 0; `kernel.attributes[1]` is that of device 1."""
        return Attributes(self._entry, self._entry.known)

    @property
    def occupancy(self) -> Occupancy:
        """How many of its blocks fit device 0; `kernel.occupancy[1]` is for device 1."""
        return Occupancy(self._entry)

    def load(self, device: int = 0) -> None:
        """Ready it for launches on a device, which the first launch does otherwise: best before a stream capture."""
        _lib.call("dlaunch_kernel_load", self._entry.handle, device_number(device))

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._entry.closed

    def close(self) -> None:
        """Close the kernel; launches that have begun are not harmed, later ones raise HandleError. Twice is fine."""
        self._by_key.clear()  # the launchers keep streams
        self._by_configuration.clear()
        self._entry.close()
        self._held = _Held(self._held.library)

    def __enter__(self) -> Kernel:
        """Give this object."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close this."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the library's image and the name or prototype; PicklingError if memory of this process is bound."""
        captures = self._held.captures
        _capture.refuse_pickling(self, captures)
        if self.closed:
            raise pickle.PicklingError(f"{self!r} cannot be pickled any more")
        if self._held.library is None:
            raise pickle.PicklingError(f"{self!r} cannot be pickled: it is of no image that this package has loaded")
        return _again, (self._held.library, self._text, {c.index: c.value for c in captures})

    __copy__ = __deepcopy__ = refuse_copy

    def __repr__(self) -> str:
        """Show the prototype, or the name, and what is bound."""
        bound = [p.name or f"parameter {p.index}" for p in self.parameters if p.bound]
        of = f" with {', '.join(bound)} bound" if bound else ""
        return f"<dlaunch.Kernel {self._prototype or self.name}{of}{', closed' if self.closed else ''}>"

    # ---- capturing

    def bind(self, /, *leading: Any, **by_name: Any) -> Kernel:
        """Capture: give a kernel in which these parameters are fixed, and which is launched without them.

        leading: values for the first parameters that are passed; by_name: for others. A device array's address, shape
        and strides are fixed, its contents are not: what is written there later is seen, and kernels may write to it.
        The new kernel keeps it alive. A host array is copied to the device now, and that copy does not change, so that
        the kernel may only read it. Values are checked as launches check them: ArgumentError, TensorError. This kernel
        stays as it is; what is bound can be bound again.
        """
        entry = self._entry
        if entry.closed:
            raise HandleError(f'bind: kernel "{entry.name}" is closed')
        return self._bound(_by_parameter(entry, leading, by_name))

    def _bound(self, values: list[tuple[Parameter, Any]]) -> Kernel:
        entry = self._entry
        captures = [_capture.of_parameter(value, parameter, entry.name) for parameter, value in values]
        captures.sort(key=lambda c: c.is_frozen)  # copies go to the device of the others
        handle = entry.handle
        for capture in captures:
            former, out = handle, ctypes.c_uint64()
            try:
                _lib.call("dlaunch_kernel_bind", former, capture.index, capture.array, ctypes.byref(out))
            finally:
                if former != entry.handle:
                    _lib.call("dlaunch_kernel_close", former)
            handle = out.value
            capture.freeze()
        made = Kernel.__new__(Kernel)
        made._text, made._prototype = self._text, self._prototype
        made._held = _Held(self._held.library, (*self._held.captures, *captures))
        made._own(_Entry(handle, entry.name, self._prototype))
        return made

    # ---- launching

    def __getitem__(self, key: tuple[Any, ...]) -> Launcher:
        """Give what launches with (grid, block), (grid, block, stream) or (grid, block, stream, shared).

        grid counts blocks and block counts threads, each an int or a tuple of up to three; shared counts bytes. The
        result is remembered: `f = kernel[grid, block]` in front of a loop makes launches cheaper still.
        """
        try:
            grid, block = key
            if type(grid) is int and type(block) is int:
                return self._by_key[key]
        except (KeyError, TypeError, ValueError):  # not there yet, or to be refused
            pass
        return self._look_up(key)

    def _look_up(self, key: Any) -> Launcher:
        if type(key) is not tuple or not 2 <= len(key) <= 4:
            raise ConfigError(
                f"kernel[...]: {key!r} given; "
                "[grid, block], [grid, block, stream] or [grid, block, stream, shared] is wanted"
            )
        if not all(map(_is_exact, key)):
            return self.configure(*key)
        found = self._by_key.get(key)
        if found is None:
            found = self.configure(*key)
            _remember(self._by_key, key, found)
        return found

    def configure(
        self,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        stream: Any = None,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        cooperative: bool = False,
        hold_gil: bool = False,
        sync: bool = False,
        check: str | None = None,
        empty_ok: bool = False,
        attributes: Mapping[int, int | bytes] | None = None,
    ) -> Launcher:
        """Give what launches with this configuration: call it with the kernel's arguments.

        grid: blocks; block: threads; cluster: blocks; each an int or up to three. shared: dynamic shared memory, in
        bytes. stream: an int, a dlaunch.Stream, an object with __cuda_stream__, a torch or CuPy stream; None takes the
        current stream of the first GPU tensor whose package has one, else the legacy default stream. hold_gil
        keeps the interpreter's lock during the launch, which saves a wait beside busy Python threads, and can
        dead-lock if the GPU waits for Python code. sync asks the tensors' producers to order what they did on
        other streams before this one: the device waits, not the caller. check="pointers" asks the driver about
        the memory of every tensor: freed, another device's, the host's, or ending before the tensor does is a
        TensorError. empty_ok makes a 0 in grid or block a launch that does nothing. attributes: further
        CUlaunchAttributes by their number in cuda.h, each an int of 32 bits or the bytes of its value; with
        them launches go through ctypes. The result keeps the kernel's handle, but not past close(), and the
        stream. The kernel remembers what it gave for its latest configurations. ConfigError if a value is
        wrong.
        """
        if check not in (None, "pointers"):
            raise ArgumentError(f"check is {check!r}; 'pointers' or None is wanted")
        configuration = _Configuration(
            _sizes("grid", grid, empty_ok),
            _sizes("block", block, empty_ok),
            None if stream is None else stream_number(stream),
            _count("shared", shared),
            None if cluster is None else _sizes("cluster", cluster, False),
            bool(cooperative),
            bool(hold_gil),
            bool(sync),
            bool(empty_ok),
            check == "pointers",
            launch_attributes(attributes),
            keep=stream,
        )
        found = self._by_configuration.get(configuration)
        if found is None:
            found = _launcher(self._entry, configuration, self._held)
            _remember(self._by_configuration, configuration, found)
        return found

    def launch(
        self,
        *arguments: Any,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        stream: Any = None,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        cooperative: bool = False,
        hold_gil: bool = False,
        sync: bool = False,
        check: str | None = None,
        empty_ok: bool = False,
        attributes: Mapping[int, int | bytes] | None = None,
    ) -> None:
        """Launch with these arguments; the keywords are configure's."""
        self.configure(grid, block, stream, shared, cluster, cooperative, hold_gil, sync, check, empty_ok, attributes)(
            *arguments
        )

    def forall(
        self,
        size: int,
        stream: Any = None,
        shared: Shared = 0,
        *,
        device: int = 0,
        hold_gil: bool = False,
        sync: bool = False,
    ) -> Launcher:
        """Give what launches a thread for each of `size` elements, and those that fill the last block.

        The block is the one with which most threads are active on `device`; the grid is one-dimensional. shared: as in
        occupancy.max_potential_block_size. size 0 gives a launch that does nothing. The other keywords are configure's.
        `f = kernel.forall(n)` in front of a loop saves finding the block each time.
        """
        size = _count("size", size)
        _, block = self.occupancy[device].max_potential_block_size(shared)
        return self.configure(
            -(-size // block), block, stream, bytes_of(shared, block), hold_gil=hold_gil, sync=sync, empty_ok=size == 0
        )


def _again(library: Any, text: str, bound: dict[int, Any]) -> Kernel:
    """Get a kernel as it was pickled."""
    kernel: Kernel = library.kernel(text)
    if not bound:
        return kernel
    with kernel:
        return kernel._bound([(kernel.parameters[index], value) for index, value in bound.items()])


def _by_parameter(entry: _Entry, leading: tuple[Any, ...], by_name: dict[str, Any]) -> list[tuple[Parameter, Any]]:
    """Say which parameter each value is for."""
    subject = f'bind: kernel "{entry.name}"'
    names = [p.name for p in entry.passed]
    if len(leading) > len(names):
        raise ArgumentError(
            f"{subject} has {len(names)} parameters that are passed ({', '.join(names)}), {len(leading)} given"
        )
    found = list(zip(entry.passed, leading, strict=False))
    for name, value in by_name.items():
        if name not in names:
            known = {p.name: p for p in entry.parameters}
            why = "there is none of that name"
            if name in known:
                why = "it is bound already" if known[name].bound else "it is filled in by the prototype"
            raise ArgumentError(f"{subject}, parameter {name}: {why}; one of {', '.join(names) or 'none'} is wanted")
        if names.count(name) > 1:  # of PTX, cut where the C struct ends
            raise ArgumentError(f"{subject}, parameter {name}: it is not the only one of that name; bind by position")
        index = names.index(name)
        if index < len(leading):
            raise ArgumentError(f"{subject}, parameter {name}: given twice")
        found.append((entry.passed[index], value))
    if not found:
        raise ArgumentError(
            f"{subject}: nothing to bind; give values for some of {', '.join(names) or 'no parameters'}"
        )
    return found


@functools.cache
def _speed_up_subscripts() -> None:
    """Let C find what kernel[grid, block] gives, where it can be found where the class keeps it."""
    library = _lib.loaded()
    marks: list[tuple[Kernel, dict[Any, Any]]] = [(Kernel.__new__(Kernel), {}) for _ in range(3)]
    for kernel, mark in marks:
        kernel._by_key = mark
    at = offset_of([kernel for kernel, _ in marks], lambda kernel: id(kernel._by_key))
    if library.python is None or not library.makes_builtins or at < 0:
        return
    made = library.python.dlaunch_python_subscript(Kernel, at)
    if made is not None:
        Kernel.__getitem__ = made  # type: ignore[method-assign]


def _is_exact(item: Any) -> bool:
    """Tell what a key can be remembered by: True and 1.0 are equal to 1, and must be refused all the same."""
    return item is None or type(item) is int or (type(item) is tuple and all(type(n) is int for n in item))


def _remember(known: dict[Any, Launcher], key: Any, launcher: Launcher) -> None:
    if len(known) >= _MOST_CONFIGURATIONS:
        known.clear()
    known[key] = launcher


def _name_of(prototype: str) -> str:
    depth = 0
    for at in range(len(prototype) - 1, -1, -1):
        depth += (prototype[at] == ")") - (prototype[at] == "(")
        if depth == 0:
            return prototype[:at].strip()
    return ""
