"""Arrays in device memory: dlaunch's own, and views of what others own."""

from __future__ import annotations

import ctypes
import functools
import math
import operator
import struct
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from dlaunch import _abi, _dtype, _export, _lib, _memory, _tensor
from dlaunch._errors import ArgumentError, HandleError, TensorError
from dlaunch._managed import Managed
from dlaunch._stream import device_number, stream_number


class DeviceArray(Managed):
    """An array in device memory, and the cheapest kernel argument there is.

    Made by empty, zeros, full and to_device, which own their memory, and by from_dlpack and Library.globals, which are
    views: those keep their owner alive. Owned memory is freed by close(), or with the object, once the launches that
    use it are done.
    """

    __slots__ = ("_borrowed", "_dtype", "_shape")

    _borrowed: _tensor.BorrowedTensor
    _dtype: _dtype.DataType
    _shape: tuple[int, ...]

    _closer = "dlaunch_array_close"

    # _handle, which the builtin reads: a dlaunch_array, or for a view the address of a DLManagedTensorVersioned, which
    # is always less than any handle; 0 once a view is closed.

    def __init__(self) -> None:
        """Refuse: dlaunch.empty and its like make arrays."""
        raise TypeError("make device arrays with dlaunch.empty, zeros, full, to_device or from_dlpack")

    @classmethod
    def _of_handle(cls, handle: int) -> DeviceArray:
        array = cls.__new__(cls)
        Managed.__init__(array, handle)
        tensor = _abi.DLTensor()
        _lib.call("dlaunch_array_tensor", handle, ctypes.byref(tensor))
        array._borrowed = _tensor.copy_of(tensor, 0, None)
        array._dtype = array._borrowed.dtype
        array._shape = tuple(array._borrowed.shape)
        return array

    @classmethod
    def _of_borrowed(cls, borrowed: _tensor.BorrowedTensor) -> DeviceArray:
        array = cls.__new__(cls)
        array._handle, array._owned = borrowed.pointer, [0]
        array._borrowed, array._dtype, array._shape = borrowed, borrowed.dtype, tuple(borrowed.shape)
        return array

    def _is_view(self) -> bool:
        return self._borrowed.keep is not None

    def close(self) -> None:
        """Free the memory once the work that uses it is done; of a view, let its owner go. Twice is fine."""
        if self._is_view():
            self._handle = 0
            self._owned.clear()
        else:
            super().close()

    def __del__(self) -> None:
        """Free the memory without waiting."""
        borrowed = getattr(self, "_borrowed", None)  # not there if making it failed
        if borrowed is None or borrowed.keep is None:
            super().__del__()

    def _check_open(self) -> None:
        if self.closed:
            raise HandleError("dlaunch.DeviceArray: this array is closed")

    # ---- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps from one element to the next of each axis, in bytes, as NumPy counts them."""
        return tuple(s * self._dtype.itemsize for s in self._borrowed.element_strides())

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements."""
        return self._dtype.bytes_of(self.size)

    @property
    def dtype(self) -> Any:
        """The type of the elements: NumPy's dtype (or ml_dtypes') where that is imported, else a dlaunch DataType."""
        found = self._dtype.numpy()
        return self._dtype if found is None else found

    @property
    def device(self) -> int:
        """The number of the device."""
        return self._borrowed.device[1]

    @property
    def ptr(self) -> int:
        """The address of the first element, in device memory."""
        return self._borrowed.address

    def __len__(self) -> int:
        """Give the extent of the first axis."""
        if not self._shape:
            raise TypeError("len() of a 0-d array")
        return self._shape[0]

    def __repr__(self) -> str:
        """Show shape, type and device; the contents are in device memory."""
        closed = ", closed" if self.closed else ""
        return f"<dlaunch.DeviceArray {self._dtype}{list(self._shape)} on device {self.device}{closed}>"

    # ---- its contents

    def copy_to_host(self, stream: Any = None) -> Any:
        """Copy the contents, after the earlier work of a stream, and wait for it.

        Gives an ndarray where NumPy is imported, else a memoryview, of the same shape and type; where the type has no
        counterpart there, of its bytes or bits. On the legacy default stream unless one is given.
        """
        self._check_open()
        data = bytearray(self.nbytes)
        if data:
            place = (ctypes.c_char * len(data)).from_buffer(data)
            self._copy(ctypes.addressof(place), stream, to_host=True)
            del place
        return _shaped(data, self._dtype, self._shape)

    def copy_from_host(self, source: Any, stream: Any = None) -> None:
        """Copy a host array of the same shape and type, or bytes of the same size, into this one.

        Comes after the earlier work of the stream (the legacy default one unless given), and returns when the source
        may be reused. TensorError if shape or type differ.
        """
        self._check_open()
        data = self._checked(source)
        if self.nbytes:
            place = ctypes.create_string_buffer(bytes(data), len(data))
            self._copy(ctypes.addressof(place), stream, to_host=False)

    def _copy(self, host: int, stream: Any, *, to_host: bool) -> None:
        number = 0 if stream is None else stream_number(stream)
        if self._is_view():
            if self._borrowed.strides is not None and not _is_contiguous(self._borrowed):
                raise TensorError("dlaunch.DeviceArray: this view is not C-contiguous, which a copy needs")
            _memory.copy(self.ptr, host, self.nbytes, number, self.device, to_host=to_host)
            return
        name = "dlaunch_array_read" if to_host else "dlaunch_array_write"
        _lib.call(name, self._handle, host, self.nbytes, number)

    def _checked(self, source: Any) -> bytes | bytearray:
        """Give the bytes of a host array that fits."""
        if isinstance(source, (bytes, bytearray)):
            if len(source) != self.nbytes:
                raise TensorError(f"copy_from_host: {len(source)} bytes given, the array has {self.nbytes}")
            return source
        data, dtype, shape = _host_contents(source)
        if shape != self._shape:
            raise TensorError(f"copy_from_host: shape {list(shape)} given, {list(self._shape)} wanted")
        if dtype != self._dtype:
            raise TensorError(f"copy_from_host: {dtype} given, {self._dtype} wanted; convert it")
        return data

    # ---- for other libraries

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Give a capsule of a DLPack struct that keeps the memory, also after close().

        It is not ordered: the consumer's stream must come after the launches that write this array. BufferError where
        a copy or another device is asked for, or the consumer knows only the struct before DLPack 1.0.
        """
        self._check_open()
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a dlaunch.DeviceArray is exported as it is; use copy_to_host() for a copy")
        versioned = max_version is not None and max_version[0] >= _abi.DLPACK_MAJOR_VERSION
        if not versioned and self._borrowed.is_read_only:
            raise BufferError("this memory is read-only, which the struct before DLPack 1.0 cannot say")
        if self._is_view():
            return _export.capsule_of_view(self, self._borrowed, versioned)
        return _export.capsule_of_array(self._handle, versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Give DLPack's device type and number; on the simulator (1, 0), kDLCPU."""
        return self._borrowed.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA Array Interface; AttributeError on the simulator."""
        if self._borrowed.device[0] == _abi.kDLCPU:
            raise AttributeError("__cuda_array_interface__: this array is in the simulator's memory, not a GPU's")
        self._check_open()
        return {
            "shape": self._shape,
            "typestr": self._dtype.str,
            "data": (self.ptr, self._borrowed.is_read_only),
            "strides": None if _is_contiguous(self._borrowed) else self.strides,
            "version": 3,
            "stream": None,
        }

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a copy from the device should show in the program."""
        raise TypeError("a dlaunch.DeviceArray is in device memory; use copy_to_host()")


@functools.cache
def handle_offset() -> int:
    """Find where a DeviceArray's object has its handle, for the builtin, by trying; -1 where it cannot be found."""
    word = ctypes.sizeof(ctypes.c_void_p)
    found: set[int] = set()
    for _ in range(3):
        array, mark = DeviceArray.__new__(DeviceArray), object()
        array._handle = mark  # type: ignore[assignment]
        words = (ctypes.c_void_p * (DeviceArray.__basicsize__ // word)).from_address(id(array))
        here = {at * word for at, content in enumerate(words) if content == id(mark)}
        if len(here) != 1:
            return -1
        found |= here
    return found.pop() if len(found) == 1 else -1


def _is_contiguous(borrowed: _tensor.BorrowedTensor) -> bool:
    shape = tuple(borrowed.shape)
    wanted = _tensor.c_strides(shape)
    found = borrowed.element_strides()
    return 0 in shape or all(n <= 1 or a == b for n, a, b in zip(shape, found, wanted, strict=True))


def _shaped(data: bytearray, dtype: _dtype.DataType, shape: tuple[int, ...]) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        found = dtype.numpy()
        if found is None:  # no such type without ml_dtypes: its bits
            whole = dtype.bits * dtype.lanes in (8, 16, 32, 64)
            found = numpy.dtype(f"u{dtype.itemsize}" if whole else "u1")
            shape = shape if whole else (len(data),)
        return numpy.frombuffer(data, found).reshape(shape)
    view: Any = memoryview(data)
    if dtype.format is None or 0 in shape or not shape:
        return view if dtype.format is None or not data else view.cast(dtype.format)
    return view.cast(dtype.format, shape)


def _host_contents(source: Any) -> tuple[bytes | bytearray, _dtype.DataType, tuple[int, ...]]:
    """Give a host array's elements in C order, their type and the shape."""
    if _tensor.is_tensor(source):
        borrowed = _tensor.read(source)
        if borrowed.device[0] not in (_abi.kDLCPU, _abi.kDLCUDAHost):
            raise TensorError(f"{type(source).__name__} is in device memory already; a host array is wanted")
        return _tensor.gather(borrowed), borrowed.dtype, tuple(borrowed.shape)
    try:
        view = memoryview(source)
    except TypeError:
        raise ArgumentError(
            f"{type(source).__name__} is no array; make it one, as with numpy.asarray(..., dtype) or array.array"
        ) from None
    letter = view.format.removeprefix("@") if len(view.format) <= 2 else view.format
    kind = {"?": "bool", "e": "f16", "f": "f32", "d": "f64"}.get(letter)
    if kind is None and letter in "bhilqnBHILQN":
        kind = f"{'i' if letter.islower() else 'u'}{8 * view.itemsize}"
    dtype = _dtype.named(kind) if kind is not None else None
    if dtype is None or view.itemsize != dtype.itemsize:
        raise TensorError(f"{type(source).__name__} with items of format {view.format!r} is no array of numbers")
    return view.tobytes(), dtype, tuple(view.shape or ())


# ---- making them


def _extents(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        items = (operator.index(shape),) if hasattr(shape, "__index__") else tuple(map(operator.index, shape))
    except TypeError:
        raise ArgumentError(f"shape is {shape!r}; an int or a sequence of ints is wanted") from None
    for axis, extent in enumerate(items):
        if not 0 <= extent < 1 << 63:
            raise ArgumentError(f"shape is {items}: axis {axis} is {extent}; 0 or more, below 2**63, is wanted")
    return items


def empty(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make a C-contiguous array whose contents are undefined.

    shape: an int or a sequence of them. dtype: 'f32' and its like, or a NumPy dtype or its name. OutOfMemoryError if
    the device has no room.
    """
    extents, kind = _extents(shape), _dtype.parse(dtype)
    out = ctypes.c_uint64()
    place = (ctypes.c_int64 * len(extents))(*extents)
    number = device_number(device)
    _lib.call_driver("dlaunch_array_create", number, kind.to_dlpack(), len(extents), place, ctypes.byref(out))
    return DeviceArray._of_handle(out.value)


def zeros(shape: int | Sequence[int], dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array of zeros; shape and dtype as in empty."""
    array = empty(shape, dtype, device)
    array.copy_from_host(bytes(array.nbytes))
    return array


def full(shape: int | Sequence[int], value: Any, dtype: Any, device: int = 0) -> DeviceArray:
    """Make an array that holds one value everywhere; shape and dtype as in empty.

    ArgumentError if the type cannot hold the value, or has no Python number: then give the bytes of one element.
    """
    kind = _dtype.parse(dtype)
    item = _item(value, kind)
    array = empty(shape, kind, device)
    array.copy_from_host(item * array.size)
    return array


def _item(value: Any, dtype: _dtype.DataType) -> bytes:
    if isinstance(value, bytes) and len(value) == dtype.itemsize and dtype.bits >= 8:
        return value
    numpy_dtype = dtype.numpy()
    letter = "e" if dtype.name == "f16" else dtype.format
    try:
        if dtype.name in ("c64", "c128"):
            number = complex(value)
            return struct.pack("<ff" if dtype.name == "c64" else "<dd", number.real, number.imag)
        if letter is not None:
            return struct.pack("<" + letter, operator.index(value) if letter in "bhiqBHIQ" else value)
        if numpy_dtype is not None and dtype.bits >= 8:
            return bytes(numpy_dtype.type(value).tobytes())
    except (struct.error, TypeError, OverflowError, ValueError) as cause:
        raise ArgumentError(f"full: {value!r} is no value of {dtype}: {cause}") from cause
    raise ArgumentError(f"full: {value!r} of {dtype} needs ml_dtypes imported; or give the element as bytes")


def to_device(source: Any, device: int = 0) -> DeviceArray:
    """Copy a host array (NumPy, a CPU tensor, array.array, a buffer) into a new array of its shape and type."""
    if isinstance(source, DeviceArray):
        raise ArgumentError("to_device: this is a dlaunch.DeviceArray already")
    data, dtype, shape = _host_contents(source)
    array = empty(shape, dtype, device)
    array.copy_from_host(bytes(data))
    return array


def from_dlpack(source: Any) -> DeviceArray:
    """View another library's device memory, without a copy; the view keeps the object's memory alive.

    The object's work on its own streams is not waited for but as its __dlpack__ does. TensorError for host memory: use
    to_device.
    """
    _lib.call_driver("dlaunch_device_count", ctypes.byref(ctypes.c_int32()))
    if isinstance(source, DeviceArray):
        source._check_open()
        return DeviceArray._of_borrowed(_tensor.copy_of(source._borrowed.struct.dl_tensor, 0, source))
    if not _tensor.is_tensor(source):
        raise ArgumentError(f"from_dlpack: {type(source).__name__} has no __dlpack__")
    borrowed = _tensor.read(source)
    if not _memory.is_device(borrowed):
        raise TensorError(f"from_dlpack: {type(source).__name__} is in host memory; use to_device() to copy it")
    return DeviceArray._of_borrowed(borrowed)


def view_of_memory(address: int, nbytes: int, device: int, owner: object) -> DeviceArray:
    """View device memory as bytes, keeping its owner alive."""
    place = (_abi.kDLCPU, 0) if _lib.is_simulated() else (_abi.kDLCUDA, device)
    dtype = _dtype.DataType(_abi.kDLUInt, 8)
    return DeviceArray._of_borrowed(_tensor.BorrowedTensor(address, place, dtype, (nbytes,), None, 0, owner))
