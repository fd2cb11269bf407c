"""Kernels."""

from __future__ import annotations

import ctypes
import functools
import pickle
from collections.abc import Mapping
from typing import Any, NoReturn

from dlaunch import _binding, _lib
from dlaunch._attributes import Attributes, launch_attributes
from dlaunch._errors import ArgumentError, ConfigError, HandleError
from dlaunch._foreign import address_of
from dlaunch._launcher import Configuration, Entry, Held, Launcher, make_launcher
from dlaunch._managed import Managed, refuse_copy
from dlaunch._occupancy import Occupancy, Shared, bytes_of
from dlaunch._offsets import offset_of
from dlaunch._parameter import Parameter, is_prototype
from dlaunch._sizes import count as _count
from dlaunch._sizes import sizes as _sizes
from dlaunch._stream import device_number, stream_number

_MOST_CONFIGURATIONS = 64  # that a kernel remembers


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
        self._held = Held(library)
        self._own(Entry(handle, name, self._prototype))

    def _own(self, entry: Entry) -> None:
        _speed_up_subscripts()
        self._entry = entry
        self._by_key: dict[tuple[Any, ...], Launcher] = {}
        self._by_configuration: dict[Configuration, Launcher] = {}

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
        self._held = Held(self._held.library)

    def __enter__(self) -> Kernel:
        """Give this object."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close this."""
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the library's image and the name or prototype; PicklingError if memory of this process is bound."""
        bindings = self._held.bindings
        _binding.refuse_pickling(self, bindings)
        if self.closed:
            raise pickle.PicklingError(f"{self!r} cannot be pickled any more")
        if self._held.library is None:
            raise pickle.PicklingError(f"{self!r} cannot be pickled: it is of no image that this package has loaded")
        return _again, (self._held.library, self._text, {b.index: b.value for b in bindings})

    __copy__ = __deepcopy__ = refuse_copy

    def __repr__(self) -> str:
        """Show the prototype, or the name, and what is bound."""
        bound = [p.name or f"parameter {p.index}" for p in self.parameters if p.bound]
        of = f" with {', '.join(bound)} bound" if bound else ""
        return f"<dlaunch.Kernel {self._prototype or self.name}{of}{', closed' if self.closed else ''}>"

    # ---- binding

    def bind(self, /, *leading: Any, **by_name: Any) -> Kernel:
        """Give a kernel in which these parameters are fixed, and which is launched without them.

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
        bindings = [_binding.of_parameter(value, parameter, entry.name) for parameter, value in values]
        bindings.sort(key=lambda b: b.is_frozen)  # copies go to the device of the others
        handle = entry.handle
        for binding in bindings:
            former, out = handle, ctypes.c_uint64()
            try:
                _lib.call("dlaunch_kernel_bind", former, binding.index, binding.array, ctypes.byref(out))
            finally:
                if former != entry.handle:
                    _lib.call("dlaunch_kernel_close", former)
            handle = out.value
            binding.freeze()
        made = Kernel.__new__(Kernel)
        made._text, made._prototype = self._text, self._prototype
        made._held = Held(self._held.library, (*self._held.bindings, *bindings))
        made._own(Entry(handle, entry.name, self._prototype))
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

    def __call__(self, *arguments: Any, **by_name: Any) -> NoReturn:
        """Say what comes before the arguments."""
        raise ConfigError(f"{self.name}(...): no grid and block given; kernel[grid, block](...) is wanted")

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
        keeps the interpreter's lock while the driver works, which saves some 100 ns, and can dead-lock if the GPU
        waits for Python code. sync asks the tensors' producers to order what they did on
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
        configuration = Configuration(
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
            found = make_launcher(self._entry, configuration, self._held)
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


def _by_parameter(entry: Entry, leading: tuple[Any, ...], by_name: dict[str, Any]) -> list[tuple[Parameter, Any]]:
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
    if library.python is None or not library.makes_builtins:
        return
    marks: list[tuple[Kernel, dict[Any, Any]]] = [(Kernel.__new__(Kernel), {}) for _ in range(3)]
    for kernel, mark in marks:
        kernel._by_key = mark
    at = offset_of([kernel for kernel, _ in marks], lambda kernel: id(kernel._by_key))
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
