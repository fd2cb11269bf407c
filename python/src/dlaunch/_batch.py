"""Many launches in one call."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dlaunch import _abi, _lib, _memory, _tensor
from dlaunch._arguments import Arguments
from dlaunch._array import DeviceArray
from dlaunch._errors import ArgumentError, HandleError, TensorError
from dlaunch._graph import Graph, StreamSource, current
from dlaunch._imported import ImportedTensor
from dlaunch._launcher import Entry, Launcher, Plain, plain_of, raise_error
from dlaunch._parameter import Parameter
from dlaunch._stream import stream_number

_MOST_STREAMS = 64  # that a batch remembers


class _Fixed(Arguments):
    """The arguments of a launch that is done again and again: tensors are held, and not only borrowed."""

    def __init__(self, values: Sequence[Any], entry: Entry) -> None:
        self.source: StreamSource | None = None  # of the first GPU tensor whose package has a current stream
        super().__init__(values, entry.passed, entry.name, None)

    def _put_array(self, arg: _abi.dlaunch_arg, array: DeviceArray) -> None:
        array._check_open()
        if array._is_foreign():
            self._put_imported(arg, array._borrowed)
        else:
            self.keep.append(array)
            arg.kind, arg.value.handle = _abi.DLAUNCH_ARG_HANDLE, array.handle

    def _put_tensor(self, arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None) -> None:
        borrowed = _tensor.read(value, ordered=True)  # by a capsule, if it can be: that keeps the memory itself
        device_type, device = borrowed.device
        if borrowed.is_copied:
            raise TensorError(f"{type(value).__name__}: its __dlpack__ gave a copy, which would stay as it is now")
        if device_type == _abi.kDLCPU and not _memory.is_device(borrowed):
            raise TensorError(
                f"{type(value).__name__} is in host memory, which a batch does not copy each time; "
                "give dlaunch.to_device(...) of it"
            )
        if device_type == _abi.kDLCUDA:
            source = _tensor.stream_source(value, device)
            self.source = self.source or source
            if source is None and borrowed.stream is not None:
                _lib.call("dlaunch_stream_synchronize", borrowed.stream)  # which __cuda_array_interface__ asks for
        self._put_imported(arg, borrowed)

    def _put_imported(self, arg: _abi.dlaunch_arg, borrowed: _tensor.BorrowedTensor) -> None:
        imported = ImportedTensor(borrowed)
        self.keep.append(imported)
        arg.kind, arg.value.handle = _abi.DLAUNCH_ARG_HANDLE, imported.handle


class Batch:
    """Launches that are done together, in order, by one call: `batch = dlaunch.batch([(f, x, y), (g, y)])`, `batch()`.

    Arguments are converted when they are added: the batch then keeps arrays, and the memory of other packages' tensors,
    and numbers, addresses and shapes are those of that time. What is closed later is a HandleError of the call. It may
    be called from several threads, but not while launches are added.
    """

    def __init__(self, launches: Iterable[tuple[Any, ...]] = ()) -> None:
        """Take launches as tuples of what launches and its arguments; see add."""
        self._launches: list[tuple[Plain, _Fixed]] = []
        self._by_stream: dict[int, Callable[[], None]] = {}
        self._source: StreamSource | None = None
        for launch in launches:
            if not isinstance(launch, (tuple, list)) or not launch:
                raise ArgumentError(f"batch: {launch!r} given; a tuple of kernel[grid, block] and arguments is wanted")
            self.add(*launch)

    def add(self, launch: Launcher, *arguments: Any) -> None:
        """Add a launch: what kernel[grid, block] or kernel.configure(...) gave, and its arguments.

        Launches whose configuration has a stream keep to it. hold_gil has no effect here, and sync is refused. Host
        arrays are a TensorError. Whether arguments fit the kernel is checked by each call.
        """
        plain = plain_of(launch)
        if plain is None:
            raise ArgumentError(
                f"batch: {launch!r} given; what kernel[grid, block] or kernel.configure(...) gives is wanted"
            )
        if plain._configuration.sync:
            raise ArgumentError("batch: the launch has sync=True; synchronize after the batch instead")
        if plain._entry.closed:
            raise HandleError(f'batch: kernel "{plain._entry.name}" is closed')
        fixed = _Fixed(arguments, plain._entry)
        self._launches.append((plain, fixed))
        bound = plain._held.stream_owner()
        self._source = self._source or (fixed.source if bound is None else bound.current_stream)
        self._by_stream.clear()

    def __len__(self) -> int:
        """Count the launches."""
        return len(self._launches)

    def __repr__(self) -> str:
        """Show how many launches there are."""
        return f"<dlaunch.Batch of {len(self)} launches>"

    def __call__(self, stream: Any = None) -> None:
        """Do the launches; the first that fails is the last, and the message has its index.

        stream: for launches that have none of their own, as in Kernel.configure. None takes the current stream of the
        first GPU tensor whose package has one, else the legacy default stream. Raises what launches raise.
        """
        number = current(self._source) if stream is None else stream_number(stream)
        launch = self._by_stream.get(number)
        if launch is None:
            launch = self._prepare(number)
        launch()

    def _prepare(self, stream: int) -> Callable[[], None]:
        calls, library = self._calls(stream), _lib.loaded()
        launch: Callable[[], None] = functools.partial(_lib.call, "dlaunch_launch_many", calls, len(calls), None)
        if library.python is not None and library.makes_builtins:
            launch = library.python.dlaunch_python_batch(calls, len(calls), raise_error, calls)
        if len(self._by_stream) >= _MOST_STREAMS:
            self._by_stream.clear()
        self._by_stream[stream] = launch
        return launch

    def _calls(self, stream: int) -> ctypes.Array[_abi.dlaunch_call]:
        """Make the C structs; the array keeps what they point to, but for what the launches' arguments do."""
        calls = (_abi.dlaunch_call * len(self._launches))()
        for call, (plain, arguments) in zip(calls, self._launches, strict=True):
            config = plain._configuration.to_struct()
            if plain._configuration.stream is None:
                config.stream = stream
            call.kernel, call.num_args = plain._entry.handle, len(arguments.array)
            call.config.contents = config
            call.args = ctypes.cast(arguments.array, type(call.args))
        return calls

    def graph(self) -> Graph:
        """Make a CUDA graph of the launches, as they are now; it runs them one after the other, on one stream.

        It holds kernels, arrays and other packages' tensors by itself. Everything is checked here. ArgumentError if
        there is no launch, or they are for several devices.
        """
        calls, out = self._calls(0), ctypes.c_uint64()
        _lib.call_driver("dlaunch_graph_create", calls, len(calls), ctypes.byref(out))
        return Graph(out.value, self._source, [plain._held for plain, _ in self._launches])


def batch(launches: Iterable[tuple[Any, ...]] = ()) -> Batch:
    """Make a Batch of launches, each a tuple of what kernel[grid, block] gives and its arguments."""
    return Batch(launches)
