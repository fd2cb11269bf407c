"""What a user passes to a kernel, as dlaunch_arg: the path for all that the builtin leaves."""

from __future__ import annotations

import ctypes
import numbers
import operator
import re
import struct
import sys
from collections.abc import Sequence
from typing import Any

from dlaunch import _abi, _dtype, _exchange, _recipes, _tensor, _torch
from dlaunch._array import DeviceArray
from dlaunch._errors import ArgumentError, Error, TensorError
from dlaunch._parameter import Parameter
from dlaunch._stream import FIRST_HANDLE, native_stream, order

_COMPLEX_FORMATS = {"c32": "<ee", "c64": "<ff", "c128": "<dd"}


class Marked:
    """A host array with what the kernel does with it; a device array needs no mark."""

    __slots__ = ("array",)
    flags = 0

    def __init__(self, array: Any) -> None:
        """Mark an array, which is kept alive by this."""
        if isinstance(array, Marked):
            raise ArgumentError(f"dlaunch: {type(self).__name__} of {type(array).__name__}: one mark is wanted")
        self.array = array

    def __repr__(self) -> str:
        """Show the mark and the array's type."""
        return f"<dlaunch.{type(self).__name__} of {type(self.array).__name__}>"


class In(Marked):
    """A host array that the kernel reads: it is copied to the device before the launch."""

    __slots__ = ()
    flags = _abi.DLAUNCH_IN


class Out(Marked):
    """A host array that the kernel writes: it is copied back before the launch returns."""

    __slots__ = ()
    flags = _abi.DLAUNCH_OUT


class InOut(Marked):
    """A host array that the kernel reads and writes: copied to the device, and back before the launch returns."""

    __slots__ = ()
    flags = _abi.DLAUNCH_IN | _abi.DLAUNCH_OUT


def in_brackets(parameter: Parameter | None) -> str:
    """Give " (y)" where a name is known."""
    return f" ({parameter.name})" if parameter is not None and parameter.name else ""


class Arguments:
    """The arguments of one launch, and what must live until it has returned."""

    def __init__(
        self,
        values: Sequence[Any],
        parameters: Sequence[Parameter],
        kernel: str,
        stream: int | None,
        ordered: bool = False,
    ) -> None:
        """Convert values.

        parameters are those that a caller passes, stream is None where no one says which. With ordered the producers'
        work comes before the stream's.
        """
        self.array = (_abi.dlaunch_arg * len(values))()
        self.keep: list[object] = []
        self.stream = stream
        self._ordered = ordered
        self._arrays: list[DeviceArray] = []
        self.has_copies = False
        agrees = len(values) == len(parameters)  # else the library says how many are wanted
        for index, value in enumerate(values):
            parameter = parameters[index] if agrees else None
            subject = f'dlaunch_launch: kernel "{kernel}", argument {index}{in_brackets(parameter)}'
            self._put(self.array[index], value, parameter, subject, index)

        for array in self._arrays:  # which may stand before the tensor that says what the stream is
            array._order(self.stream or 0)

    @classmethod
    def of_binding(cls, value: Any, parameter: Parameter | None, subject: str) -> Arguments:
        """Convert one value that is bound, and of which subject begins what is said; it is ordered as for stream 0."""
        made = cls((), (), "", 0)
        made.array = (_abi.dlaunch_arg * 1)()
        made._put(made.array[0], value, parameter, subject, -1 if parameter is None else parameter.index)
        return made

    def _put(self, arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None, subject: str, number: int) -> None:
        try:
            self._convert(arg, value, parameter)
        except Error as error:
            raise type(error)(f"{subject}: {error}", argument=number) from error.__cause__

    def _convert(self, arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None) -> None:
        if isinstance(value, Marked):
            arg.flags = value.flags
            value = value.array
            if not isinstance(value, DeviceArray) and not _tensor.is_tensor(value):
                raise ArgumentError(f"{type(value).__name__} in a mark is no tensor; {_ADVICE}")
        elif parameter is not None and _is_number(parameter) and _is_host_scalar(value):
            value = value[()] if hasattr(value, "__array_interface__") else value.item()
        if value is None:
            arg.kind = _abi.DLAUNCH_ARG_NONE
        elif isinstance(value, DeviceArray):
            self._put_array(arg, value)
        elif _put_scalar(arg, value, parameter, self.keep):
            return
        elif _tensor.is_tensor(value):
            self._put_tensor(arg, value, parameter)
        else:
            raise ArgumentError(f"{type(value).__name__} is no tensor and no scalar; {_ADVICE}")

    def _put_array(self, arg: _abi.dlaunch_arg, array: DeviceArray) -> None:
        self.keep.append(array)
        if self._ordered:
            array._check_open()
            self._arrays.append(array)
        token = array.handle
        is_handle = token == 0 or token >= FIRST_HANDLE
        arg.kind = _abi.DLAUNCH_ARG_HANDLE if is_handle else _abi.DLAUNCH_ARG_VERSIONED
        arg.value.u = token

    def _put_tensor(self, arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None) -> None:
        borrowed = _tensor.read(value, self._native(), ordered=self._ordered)
        self.keep.append(borrowed)
        written = (parameter is not None and parameter.mode in ("out", "inout")) or arg.flags & _abi.DLAUNCH_OUT
        if borrowed.is_copied:
            if written:
                raise TensorError(
                    f"{type(value).__name__}: its __dlpack__ gave a copy, in which the result would be lost; "
                    "make the array contiguous and of this device first"
                )
            self.has_copies = True
        if borrowed.device[0] == _abi.kDLCUDA:
            self._settle_stream(value, borrowed)
        arg.kind, arg.value.versioned = _abi.DLAUNCH_ARG_VERSIONED, borrowed.pointer

    def _settle_stream(self, value: Any, borrowed: _tensor.BorrowedTensor) -> None:
        """The first GPU tensor says where the launch goes, if the caller does not."""
        by_interface = borrowed.keep is value and _exchange.api_of(type(value)) == 0
        if self.stream is None:
            if borrowed.stream is not None:
                self.stream = borrowed.stream
            elif not by_interface:  # its __dlpack__ has ordered itself before the legacy default stream
                self.stream = 0
        elif borrowed.stream is not None and (by_interface or self._ordered):
            # What __cuda_array_interface__ asks of a consumer on another stream.
            order(borrowed.stream, self._native() or 0, borrowed.device[1])

    def _native(self) -> int | None:
        return None if self.stream is None else native_stream(self.stream)


_ADVICE = (
    "make it one: numpy.asarray(...) for a host array (dlaunch.In, Out or InOut of it), dlaunch.to_device(...) "
    "for a device array, bytes for a struct by value"
)


# ---- scalars


def _put_scalar(arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None, keep: list[object]) -> bool:
    """Convert a scalar; False if it is none."""
    numpy = sys.modules.get("numpy")
    if isinstance(value, bool):
        arg.kind, arg.value.u = _abi.DLAUNCH_ARG_BOOL, int(value)
    elif isinstance(value, bytes):
        _put_bytes(arg, value, keep)
    elif numpy is not None and isinstance(value, numpy.generic) and not isinstance(value, str):
        _put_numpy(arg, value, parameter, keep)
    elif isinstance(value, int):
        _put_int(arg, value)
    elif isinstance(value, float):
        arg.kind, arg.value.f = _abi.DLAUNCH_ARG_FLOAT, value
    elif isinstance(value, complex):
        _put_complex(arg, value, parameter, None, keep)
    elif isinstance(value, (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes._Pointer)):
        _put_ctypes(arg, value, keep)
    elif _tensor.is_tensor(value):
        return False
    elif hasattr(type(value), "__index__"):
        _put_int(arg, operator.index(value))
    elif isinstance(value, numbers.Real):
        arg.kind, arg.value.f = _abi.DLAUNCH_ARG_FLOAT, float(value)
    else:
        return False
    return True


_NUMBER = re.compile(r"b(8|16|32|64)|bytes\(.*")


def _is_number(parameter: Parameter) -> bool:
    """Tell a parameter that a prototype declares as a number, or as a struct by value."""
    return _dtype.named(parameter.type) is not None or _NUMBER.fullmatch(parameter.type) is not None


def _is_host_scalar(value: Any) -> bool:
    """Tell a host array without axes, of any package, which is a number to a parameter that is no tensor."""
    if getattr(value, "shape", None) != () or isinstance(value, DeviceArray) or not hasattr(value, "__dlpack_device__"):
        return False
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return False  # a number already
    return hasattr(value, "item") and value.__dlpack_device__()[0] == _abi.kDLCPU


def _put_int(arg: _abi.dlaunch_arg, value: int) -> None:
    if -(1 << 63) <= value < 1 << 63:
        arg.kind, arg.value.i = _abi.DLAUNCH_ARG_INT, value
    elif 0 <= value < 1 << 64:
        arg.kind, arg.value.u = _abi.DLAUNCH_ARG_UINT, value
    else:
        raise ArgumentError(f"the integer {value} needs more than 64 bits")


def _put_bytes(arg: _abi.dlaunch_arg, value: bytes, keep: list[object]) -> None:
    buffer = ctypes.create_string_buffer(value, max(len(value), 1))
    keep.append(buffer)
    arg.kind, arg.size, arg.value.bytes = _abi.DLAUNCH_ARG_BYTES, len(value), ctypes.addressof(buffer)


def _put_complex(
    arg: _abi.dlaunch_arg, value: complex, parameter: Parameter | None, own: str | None, keep: list[object]
) -> None:
    """Pack a complex number as the parameter's type says, else as its own does."""
    declared = parameter.type if parameter is not None and _dtype.named(parameter.type) is not None else ""
    wanted = declared or own
    if declared and declared not in _COMPLEX_FORMATS:
        raise ArgumentError(f"complex given, {declared} wanted")
    if wanted is None:
        raise ArgumentError("complex given, and the parameter has no type; declare it c64 or c128 in a prototype")
    try:
        packed = struct.pack(_COMPLEX_FORMATS[wanted], value.real, value.imag)
    except OverflowError:
        raise ArgumentError(f"{value!r} would become infinite as {wanted}") from None
    _put_bytes(arg, packed, keep)


def _put_numpy(arg: _abi.dlaunch_arg, value: Any, parameter: Parameter | None, keep: list[object]) -> None:
    """Convert a NumPy scalar: a number as Python's, where the parameter has a type; else its bits."""
    kind = value.dtype.kind
    wanted = parameter.type if parameter is not None else ""
    untyped = parameter is not None and parameter.size == value.dtype.itemsize and _dtype.named(wanted) is None
    if kind == "b":
        arg.kind, arg.value.u = _abi.DLAUNCH_ARG_BOOL, int(value)
    elif kind in "iu" or value.dtype.name.rstrip("0123456789") in ("int", "uint"):  # ml_dtypes' int4 is of kind V
        _put_int(arg, int(value))
    elif kind == "c" and value.dtype.itemsize <= 16:
        _put_complex(arg, complex(value), parameter, f"c{8 * value.dtype.itemsize}", keep)
    elif kind in "Mm" or isinstance(value, sys.modules["numpy"].void):
        _put_bytes(arg, value.tobytes(), keep)
    elif value.dtype.itemsize > 8:
        raise ArgumentError(f"{value.dtype.name} is no type of a kernel's; give a float")
    elif untyped or _dtype.of_numpy(value.dtype).name == wanted != "f64":
        _put_bytes(arg, value.tobytes(), keep)
    else:
        arg.kind, arg.value.f = _abi.DLAUNCH_ARG_FLOAT, float(value)


def _put_ctypes(arg: _abi.dlaunch_arg, value: Any, keep: list[object]) -> None:
    """Convert a ctypes object: pointers as addresses, numbers as numbers, structs as bytes."""
    if isinstance(value, (ctypes.c_void_p, ctypes._Pointer)):
        arg.kind, arg.value.u = _abi.DLAUNCH_ARG_POINTER, ctypes.cast(value, ctypes.c_void_p).value or 0
    elif isinstance(value, (ctypes.Structure, ctypes.Union)):
        _put_bytes(arg, bytes(value), keep)
    elif isinstance(value.value, bool):
        arg.kind, arg.value.u = _abi.DLAUNCH_ARG_BOOL, int(value.value)
    elif isinstance(value.value, int):
        _put_int(arg, value.value)
    elif isinstance(value.value, float):
        arg.kind, arg.value.f = _abi.DLAUNCH_ARG_FLOAT, value.value
    else:
        raise ArgumentError(f"{type(value).__name__} is no scalar of a kernel's; give an int, a float or bytes")


# ---- what the builtin converts by itself


# Recipes of pycallable.h for exact types. A DLPackExchangeAPI's address is one too, and greater; so is a tuple of that
# address and what _torch has found, and one of None and what _recipes has.
RECIPE_SLOW, RECIPE_INT, RECIPE_FLOAT, RECIPE_TRUTH = 0, 1, 2, 3


def recipe_of(cls: type) -> int | tuple[Any, ...]:
    """Say how the builtin converts objects of exactly this type; asked once a type."""
    address = _exchange.api_of(cls)
    if address:
        shims = _torch.shims_of(cls)
        return address if shims is None else (address, shims)
    attributes = _recipes.attributes_of(cls)
    if attributes is not None:
        return (None, attributes)
    numpy = sys.modules.get("numpy")
    if numpy is None or not issubclass(cls, numpy.generic) or cls.__module__ != "numpy":
        return RECIPE_SLOW
    if issubclass(cls, numpy.bool_):
        return RECIPE_TRUTH
    if issubclass(cls, numpy.integer) and not issubclass(cls, numpy.timedelta64):
        return RECIPE_INT
    return RECIPE_FLOAT if cls in (numpy.float16, numpy.float32, numpy.float64) else RECIPE_SLOW
