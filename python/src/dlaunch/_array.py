"""Arrays in device memory: dlaunch's own, and views of what others own."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from dlaunch import _abi, _dtype, _export, _lib, _memory, _tensor
from dlaunch._dtype import DataType
from dlaunch._errors import HandleError, TensorError
from dlaunch._host import host_contents
from dlaunch._indexing import indexed, reshaped
from dlaunch._managed import Managed
from dlaunch._offsets import offset_of
from dlaunch._stream import stream_number


class DeviceArray(Managed):
    """An array in device memory, and the cheapest kernel argument there is.

    Made by empty, zeros, full and to_device, which own their memory, and by from_dlpack and Library.globals, which are
    views: those keep their owner alive. Owned memory is freed by close(), or with the object, once the launches that
    use it are done.
    """

    __slots__ = ("_borrowed", "_dtype", "_shape")

    _borrowed: _tensor.BorrowedTensor
    _dtype: DataType
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
        owner = self._borrowed.keep
        if isinstance(owner, Managed) and owner.closed:
            raise HandleError(f"dlaunch.DeviceArray: this is a view of memory of {owner!r}")

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
    def is_contiguous(self) -> bool:
        """Whether the elements lie in C order without gaps."""
        return _tensor.is_c_contiguous(self._shape, self._borrowed.element_strides())

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
        return _shaped(self._contents(stream), self._dtype, self._shape)

    def _contents(self, stream: Any) -> bytearray:
        """Copy the elements in C order."""
        if not self.is_contiguous:
            return self._gathered(stream)
        data = bytearray(self.nbytes)
        if data:
            place = (ctypes.c_char * len(data)).from_buffer(data)
            self._copy(ctypes.addressof(place), stream, to_host=True)
        return data

    def _gathered(self, stream: Any) -> bytearray:
        """Copy all that lies between the elements of a strided view too, and pick them out here."""
        reach = [s * (n - 1) for s, n in zip(self.strides, self._shape, strict=True)]
        low = sum(r for r in reach if r < 0)
        size = sum(r for r in reach if r > 0) - low + self._dtype.itemsize
        place = (ctypes.c_char * size)()
        number = 0 if stream is None else stream_number(stream)
        _memory.copy(self.ptr + low, ctypes.addressof(place), size, number, self.device, to_host=True)
        here = _tensor.BorrowedTensor(
            ctypes.addressof(place) - low,
            (_abi.kDLCPU, 0),
            self._dtype,
            self._shape,
            self._borrowed.element_strides(),
        )
        return _tensor.gather(here)

    def copy_from_host(self, source: Any, stream: Any = None) -> None:
        """Copy a host array of the same shape and type, or bytes of the same size, into this one.

        Comes after the earlier work of the stream (the legacy default one unless given), and returns when the source
        may be reused. TensorError if shape or type differ, or this is a view that is not C-contiguous, or read-only.
        """
        self._check_open()
        if self._borrowed.is_read_only:
            raise TensorError("copy_from_host: this is a view of read-only memory")
        if not self.is_contiguous:
            raise TensorError("copy_from_host: this view is not C-contiguous; copy into the array that it is of")
        data = self._checked(source)
        if self.nbytes:
            place = ctypes.create_string_buffer(bytes(data), len(data))
            self._copy(ctypes.addressof(place), stream, to_host=False)

    def fill(self, value: Any, stream: Any = None) -> None:
        """Set every element to one value, after the earlier work of the stream (the legacy default one unless given).

        ArgumentError if the type cannot hold the value, or has no Python number: then give the bytes of one element.
        TensorError if this is a view that is not C-contiguous, or read-only.
        """
        self._check_open()
        if self._borrowed.is_read_only:
            raise TensorError("fill: this is a view of read-only memory")
        if not self.is_contiguous:
            raise TensorError("fill: this view is not C-contiguous; fill the array that it is of")
        self.copy_from_host(_dtype.item("fill", value, self._dtype) * self.size, stream)

    def _copy(self, host: int, stream: Any, *, to_host: bool) -> None:
        number = 0 if stream is None else stream_number(stream)
        if self._is_view():
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
        data, dtype, shape = host_contents(source)
        if shape != self._shape:
            raise TensorError(f"copy_from_host: shape {list(shape)} given, {list(self._shape)} wanted")
        if dtype != self._dtype:
            raise TensorError(f"copy_from_host: {dtype} given, {self._dtype} wanted; convert it")
        return data

    # ---- views

    def __getitem__(self, key: Any) -> DeviceArray:
        """Give a view, by ints, slices and `...`, as NumPy's indexing does; an int does not give a scalar.

        The view keeps the memory, also after this array is closed.
        """
        self._check_open()
        shape, strides, offset = indexed(key, self._shape, self._borrowed.element_strides())
        return self._viewed(self._dtype, shape, strides, offset)

    def reshape(self, *shape: Any) -> DeviceArray:
        """Give a view of another shape of the same size; one extent may be -1. TensorError if not C-contiguous."""
        extents = reshaped(shape[0] if len(shape) == 1 else shape, self.size)
        self._check_open()
        if not self.is_contiguous:
            raise TensorError("reshape: this view is not C-contiguous")
        return self._viewed(self._dtype, extents, _tensor.c_strides(extents), 0)

    def view(self, dtype: Any) -> DeviceArray:
        """Give a view of the same bytes as another type; the last axis changes with its size."""
        kind, shape = _dtype.parse(dtype), list(self._shape)
        self._check_open()
        old, new = self._dtype.bits * self._dtype.lanes, kind.bits * kind.lanes
        if not self.is_contiguous:
            raise TensorError("view: this view is not C-contiguous")
        if old != new:
            if not shape or shape[-1] * old % new:
                raise TensorError(f"view: {list(shape)} of {self._dtype} has no last axis that is whole in {kind}")
            shape[-1] = shape[-1] * old // new
        return self._viewed(kind, shape, _tensor.c_strides(shape), 0)

    def _viewed(self, dtype: DataType, shape: Sequence[int], strides: Sequence[int], offset: int) -> DeviceArray:
        if offset and self._dtype.bits * self._dtype.lanes % 8:
            raise TensorError(f"dlaunch.DeviceArray: elements of {self._dtype} share bytes, and have no views")
        keep: object = self
        if not self._is_view() and _lib.loaded().python is not None:
            keep = _export.capsule_of_array(self._handle, True)
        elif self._is_view():
            keep = self._borrowed.keep
        address = self.ptr + offset * self._dtype.itemsize if self.ptr else 0
        flags = _abi.DLPACK_FLAG_BITMASK_READ_ONLY if self._borrowed.is_read_only else 0
        borrowed = _tensor.BorrowedTensor(address, self._borrowed.device, dtype, shape, strides, flags, keep)
        return DeviceArray._of_borrowed(borrowed)

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

        It is not ordered: the consumer's stream must come after the launches that write this array. For dl_device
        (1, 0), host memory, it is a copy, made after the work of the legacy default stream. BufferError where any other
        device or a copy on the device is asked for, or read-only memory by a consumer that knows only the struct before
        DLPack 1.0.
        """
        self._check_open()
        here = self.__dlpack_device__()
        there = here if dl_device is None else tuple(dl_device)
        versioned = max_version is not None and max_version[0] >= _abi.DLPACK_MAJOR_VERSION
        if there == (_abi.kDLCPU, 0) and copy is not False and (copy or there != here):
            return _export.capsule_of_copy(self._contents(None), self._dtype, self._shape, versioned)
        if copy or there != here:
            raise BufferError("a dlaunch.DeviceArray is exported as it is, or copied to the host: dl_device=(1, 0)")
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
            "strides": None if self.is_contiguous else self.strides,
            "version": 3,
            "stream": None,
        }

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: a copy from the device should show in the program."""
        raise TypeError("a dlaunch.DeviceArray is in device memory; use copy_to_host()")


@functools.cache
def handle_offset() -> int:
    """Find where a DeviceArray's object has its handle, for the builtin, by trying; -1 where it cannot be found."""
    marks = [(DeviceArray.__new__(DeviceArray), object()) for _ in range(3)]
    for array, mark in marks:
        array._handle = mark  # type: ignore[assignment]
    return offset_of([array for array, _ in marks], lambda array: id(array._handle))


def _shaped(data: bytearray, dtype: DataType, shape: tuple[int, ...]) -> Any:
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
