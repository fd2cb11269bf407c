"""What is bound to a kernel's parameter or to a symbol."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from typing import Any

from dlaunch import _abi, _dtype, _memory, _tensor
from dlaunch._arguments import Arguments, Marked, in_brackets
from dlaunch._array import DeviceArray
from dlaunch._errors import TensorError
from dlaunch._parameter import Parameter

_ADDRESS_BYTES = 8


class Binding:
    """One value that is bound: as C takes it, and what must live as long as it is bound."""

    __slots__ = ("_parameter", "array", "device", "is_frozen", "keep", "label", "place", "stream_owner", "value")

    def __init__(self, value: Any, place: str, subject: str, parameter: Parameter | None = None) -> None:
        """Convert a value for one place; subject begins what is said of it."""
        arguments = Arguments.of_binding(value, parameter, subject)
        self.array = arguments.array
        self.place = place
        self.value = value.array if isinstance(value, Marked) else value
        self.keep: tuple[object, ...] = tuple(arguments.keep)
        self._parameter = parameter
        self.label = type(self.value).__name__
        self.is_frozen = False
        self.stream_owner: tuple[type, int] | None = None
        self.device = -1  # of a tensor's memory; -1 of what has no number that is sure
        tensor = _tensor_of(self.value, self.keep)
        if tensor is not None:
            self._describe(tensor, subject)

    def _describe(self, tensor: _tensor.BorrowedTensor, subject: str) -> None:
        self.label += f" {tensor.dtype}{list(tensor.shape)}"
        self.is_frozen = not isinstance(self.value, DeviceArray) and not _is_on_device(tensor)
        if tensor.is_copied and not self.is_frozen:
            raise TensorError(
                f"{subject}: the __dlpack__ of {type(self.value).__name__} gave a copy, which does not follow it; "
                "make the array contiguous and of this device first"
            )
        device_type, device = tensor.device
        self.device = -1 if self.is_frozen else device
        if device_type == _abi.kDLCUDA and _tensor.current_stream(self.value, device) is not None:
            self.stream_owner = (type(self.value), device)

    @property
    def index(self) -> int:
        """The parameter's number."""
        assert self._parameter is not None
        return self._parameter.index

    @property
    def is_portable(self) -> bool:
        """Whether the value means the same in another process: a number that is none of memory's, or a null."""
        kind, parameter = self.array[0].kind, self._parameter
        if kind in (_abi.DLAUNCH_ARG_INT, _abi.DLAUNCH_ARG_UINT, _abi.DLAUNCH_ARG_BYTES):
            return parameter is not None and (
                parameter.size < _ADDRESS_BYTES or _dtype.named(parameter.type) is not None
            )
        return kind in (_abi.DLAUNCH_ARG_NONE, _abi.DLAUNCH_ARG_FLOAT, _abi.DLAUNCH_ARG_BOOL)

    def freeze(self) -> None:
        """Let the host array go, once dlaunch has its copy."""
        if self.is_frozen:
            self.value, self.keep = None, ()

    def current_stream(self) -> int | None:
        """Give the stream on which the package of a GPU tensor works now; None of what has none."""
        return None if self.stream_owner is None else _tensor.current_stream(self.value, self.stream_owner[1])


def _tensor_of(value: Any, keep: Iterable[object]) -> _tensor.BorrowedTensor | None:
    if isinstance(value, DeviceArray):
        return value._borrowed
    return next((kept for kept in keep if isinstance(kept, _tensor.BorrowedTensor)), None)


def _is_on_device(tensor: _tensor.BorrowedTensor) -> bool:
    """Tell memory that is bound as it is from that which is copied: pinned memory too is reached by kernels."""
    return tensor.device[0] == _abi.kDLCUDAHost or _memory.is_device(tensor)


def of_parameter(value: Any, parameter: Parameter, kernel: str) -> Binding:
    """Convert a value for a kernel's parameter."""
    place = f"parameter {parameter.index}{in_brackets(parameter)}"
    return Binding(value, place, f'dlaunch_kernel_bind: kernel "{kernel}", {place}', parameter)


def refuse_pickling(what: object, bindings: Iterable[Binding]) -> None:
    """Raise PicklingError if one of them is memory of this process."""
    for binding in bindings:
        if not binding.is_portable:
            raise pickle.PicklingError(
                f"{what!r} cannot be pickled: {binding.place} is bound to {binding.label}, and memory of this process "
                "means nothing in another; pickle what it was before binding, and bind there, or pass it as an argument"
            )
