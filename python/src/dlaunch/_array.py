"""Arrays in device memory: dlaunch's own, and views of what others own."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from dlaunch import _abi, _dtype, _export, _lib, _memory, _strided, _tensor
from dlaunch._dtype import DataType
from dlaunch._errors import HandleError, TensorError
from dlaunch._host import host_array, host_contents, is_host_array
from dlaunch._indexing import broadcast, indexed, reshaped, reshaped_strides
from dlaunch._managed import Managed
from dlaunch._offsets import offset_of
from dlaunch._shaped import Shaped
from dlaunch._stream import dlpack_stream, order, stream_or_legacy


class DeviceArray(Shaped):
    """An array in device memory, and the cheapest kernel argument there is.

    Made by empty, zeros, full and to_device, and as views of such an array: all of them keep its memory, which is freed
    when the last is closed, or gone, and the launches that use it are done. from_dlpack and Library.globals make views
    of memory that is not dlaunch's, and keep its owner alive.

    What copies takes a stream, and comes after its earlier work; the legacy default stream unless one is given.
    """

    __slots__ = ()

    _closer = "dlaunch_array_close"

    # _handle, which the builtin reads: a dlaunch_array, or of others' memory the address of a DLManagedTensorVersioned,
    # which is always less than any handle; 0 once that is closed.

    def __init__(self) -> None:
        """Refuse: dlaunch.empty and its like make arrays."""
        raise TypeError("make device arrays with dlaunch.empty, zeros, full, to_device or from_dlpack")

    @classmethod
    def _new(cls, shape: Sequence[int], dtype: DataType, device: int) -> DeviceArray:
        out, place = ctypes.c_uint64(), (ctypes.c_int64 * len(shape))(*shape)
        _lib.call_driver("dlaunch_array_create", device, dtype.to_dlpack(), len(shape), place, ctypes.byref(out))
        return cls._of_handle(out.value)

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

    @classmethod
    def _of_tensor(cls, source: Any, stream: int) -> DeviceArray | None:
        """View a tensor of another library, ordered before what comes on a stream; None if it is in host memory."""
        ordered = stream != _tensor.UNORDERED
        borrowed = _tensor.read(source, stream, ordered=ordered)
        if not _memory.is_device(borrowed):
            return None
        if ordered and borrowed.stream is not None:
            order(borrowed.stream, stream, borrowed.device[1])
        borrowed.struct.flags &= ~_abi.DLPACK_FLAG_BITMASK_IS_COPIED  # whoever gets it from the view shares it
        return cls._of_borrowed(borrowed)

    def _is_foreign(self) -> bool:
        return self._borrowed.keep is not None

    def close(self) -> None:
        """Let the memory go: it is freed once no view is left and the work that uses it is done. Twice is fine."""
        if self._is_foreign():
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

    def __repr__(self) -> str:
        """Show shape, type and device; the contents are in device memory."""
        closed = ", closed" if self.closed else ""
        return f"<dlaunch.DeviceArray {self._dtype}{list(self._shape)} on device {self.device}{closed}>"

    # ---- its contents

    def copy_to_host(self, stream: Any = None) -> Any:
        """Copy the contents, after the earlier work of a stream, and wait for it.

        Gives an ndarray where NumPy is imported, else a memoryview, of the same shape and type; where the type has no
        counterpart there, of its bytes or bits.
        """
        self._check_open()
        return host_array(self._contents(stream), self._dtype, self._shape)

    def _contents(self, stream: Any) -> bytearray:
        """Copy the elements in C order."""
        number, data = stream_or_legacy(stream), bytearray(self.nbytes)
        if data and self.is_contiguous and not self._is_foreign():
            place = (ctypes.c_char * len(data)).from_buffer(data)
            _lib.call("dlaunch_array_read", self._handle, ctypes.addressof(place), len(data), number)
            del place
        elif data:
            shape, strides, itemsize = self._layout("copy_to_host")
            here = _strided.host_place(data, _tensor.c_strides(shape, itemsize))
            _strided.copy(here, self._place(strides), shape, itemsize, number)
            del here  # which has borrowed data
        return data

    def copy_from_host(self, source: Any, stream: Any = None) -> None:
        """Copy a host array of the same shape and type, or bytes of the same size, into this one.

        Returns when the source may be reused. TensorError if shape or type differ, or the memory is read-only.
        """
        self._check_writable("copy_from_host")
        data, number = self._checked(source), stream_or_legacy(stream)
        if data and self.is_contiguous and not self._is_foreign():
            place = ctypes.create_string_buffer(bytes(data), len(data))
            _lib.call("dlaunch_array_write", self._handle, place, len(data), number)
        elif data:
            shape, strides, itemsize = self._layout("copy_from_host")
            there = _strided.host_place(bytes(data), _tensor.c_strides(shape, itemsize))
            _strided.copy(self._place(strides), there, shape, itemsize, number)

    def fill(self, value: Any, stream: Any = None) -> None:
        """Set every element to one value. Nothing is waited for.

        ArgumentError if the type cannot hold the value, or has no Python number: then give the bytes of one element.
        TensorError if the memory is read-only.
        """
        self._check_writable("fill")
        item = _dtype.item("fill", value, self._dtype)
        _strided.fill(self._place(self.strides), self._shape, item, stream_or_legacy(stream))

    def copy(self, stream: Any = None) -> DeviceArray:
        """Copy the contents into a new C-contiguous array on the same device. Nothing is waited for."""
        self._check_open()
        made = DeviceArray._new(self._shape, self._dtype, self.device)
        shape, strides, itemsize = self._layout("copy")
        there = made._place(_tensor.c_strides(shape, itemsize))
        _strided.copy(there, self._place(strides), shape, itemsize, stream_or_legacy(stream))
        return made

    def __setitem__(self, key: Any, value: Any) -> None:
        """Copy into the part that a key picks, on the legacy default stream.

        value: one for all elements, as for fill; or an array of the same type, of the host, dlaunch's or another
        library's, of a shape that broadcasts to the part's. An array of this one's memory is read before it is written.
        Other libraries' arrays are waited for, on the host.
        """
        self._check_writable("assignment")
        shape, strides, offset = indexed(key, self._shape, self._borrowed.element_strides())
        size = self._whole_bytes("assignment")
        part = self._place([s * size for s in strides], offset * size)
        if isinstance(value, DeviceArray):
            value._check_open()
            self._assign(part, shape, value)
        elif not is_host_array(value) and not _tensor.is_tensor(value):
            _strided.fill(part, shape, _dtype.item("assignment", value, self._dtype), 0)
        else:
            foreign = DeviceArray._of_tensor(value, _tensor.LEGACY) if _tensor.is_tensor(value) else None
            if foreign is not None:
                self._assign(part, shape, foreign)
                _lib.call("dlaunch_stream_synchronize", 0)
                return
            data, dtype, given = host_contents(value)
            self._check_type("assignment", dtype)
            steps = broadcast(given, _tensor.c_strides(given, size), shape)
            _strided.copy(part, _strided.host_place(bytes(data), steps), shape, size, 0)

    def _assign(self, part: _strided.Place, shape: Sequence[int], source: DeviceArray) -> None:
        self._check_type("assignment", source._dtype)
        if part.overlaps(shape, source._place(source.strides), source._shape, self._dtype.itemsize):
            source = source.copy()
        there = source._place(broadcast(source._shape, source.strides, shape))
        _strided.copy(part, there, shape, self._dtype.itemsize, 0)

    def _place(self, strides: Sequence[int], offset: int = 0) -> _strided.Place:
        kind = _abi.DLAUNCH_ARG_VERSIONED if self._is_foreign() else _abi.DLAUNCH_ARG_HANDLE
        argument = _abi.dlaunch_arg(kind, 0, 0, _abi.dlaunch_arg_value(u=self._handle))
        return _strided.Place(argument, self.ptr, offset, strides, self)

    def _layout(self, function: str) -> tuple[Sequence[int], Sequence[int], int]:
        """Give the shape, the strides and the item size to copy by: contiguous memory is just bytes."""
        if self.is_contiguous:
            return (self.nbytes,), (1,), 1
        return self._shape, self.strides, self._whole_bytes(function)

    def _whole_bytes(self, function: str) -> int:
        if self._dtype.bits * self._dtype.lanes % 8:
            raise TensorError(f"{function}: elements of {self._dtype} share bytes; copy a contiguous array of them")
        return self._dtype.itemsize

    def _check_writable(self, function: str) -> None:
        self._check_open()
        if self._borrowed.is_read_only:
            raise TensorError(f"{function}: this is a view of read-only memory")

    def _check_type(self, function: str, dtype: DataType) -> None:
        if dtype != self._dtype:
            raise TensorError(f"{function}: {dtype} given, {self._dtype} wanted; convert it")

    def _checked(self, source: Any) -> bytes | bytearray:
        """Give the bytes of a host array that fits."""
        if isinstance(source, (bytes, bytearray)):
            if len(source) != self.nbytes:
                raise TensorError(f"copy_from_host: {len(source)} bytes given, the array has {self.nbytes}")
            return source
        data, dtype, shape = host_contents(source)
        if shape != self._shape:
            raise TensorError(f"copy_from_host: shape {list(shape)} given, {list(self._shape)} wanted")
        self._check_type("copy_from_host", dtype)
        return data

    # ---- views

    def __getitem__(self, key: Any) -> DeviceArray:
        """Give a view, by ints, slices and `...`, as NumPy's indexing does; an int does not give a scalar.

        The view keeps the memory, also after this array is closed.
        """
        self._check_open()
        shape, strides, offset = indexed(key, self._shape, self._borrowed.element_strides())
        return self._viewed(self._dtype, shape, strides, offset)

    def __iter__(self) -> Iterator[DeviceArray]:
        """Give a view for each index of the first axis."""
        if not self._shape:
            raise TypeError("iteration over a 0-d array")
        return (self[index] for index in range(self._shape[0]))

    def reshape(self, *shape: Any) -> DeviceArray:
        """Give a view of another shape of the same size, in C order; one extent may be -1.

        TensorError if it has no strides for that: copy() it then.
        """
        extents = reshaped(shape[0] if len(shape) == 1 else shape, self.size)
        self._check_open()
        strides = reshaped_strides(self._shape, self._borrowed.element_strides(), extents)
        if strides is None:
            raise TensorError(f"reshape: {list(self._shape)} with these strides has no view {list(extents)}; copy() it")
        return self._viewed(self._dtype, extents, strides, 0)

    def view(self, dtype: Any) -> DeviceArray:
        """Give a view of the same bytes as another type; with its size the last axis changes, which is contiguous."""
        kind, shape, strides = _dtype.parse(dtype), list(self._shape), list(self._borrowed.element_strides())
        self._check_open()
        old, new = self._dtype.bits * self._dtype.lanes, kind.bits * kind.lanes
        if old != new:
            if not shape or shape[-1] * old % new:
                raise TensorError(f"view: {list(shape)} of {self._dtype} has no last axis that is whole in {kind}")
            outer = zip(shape[:-1], strides[:-1], strict=True)
            fits = (strides[-1] == 1 or shape[-1] == 1) and all(n == 1 or s * old % new == 0 for n, s in outer)
            if 0 not in shape and not fits:
                raise TensorError(
                    f"view: with these strides {list(shape)} of {self._dtype} is no array of {kind}; copy() it"
                )
            shape[-1] = shape[-1] * old // new
            strides = [*(s * old // new for s in strides[:-1]), 1]
        if self.size and self.ptr % kind.alignment:
            raise TensorError(
                f"view: the address {self.ptr:#x} is no multiple of the {kind.alignment} of {kind}; copy() it"
            )
        return self._viewed(kind, shape, strides, 0)

    def _viewed(self, dtype: DataType, shape: Sequence[int], strides: Sequence[int], offset: int) -> DeviceArray:
        size = self._dtype.itemsize
        if offset and self._dtype.bits * self._dtype.lanes % 8:
            raise TensorError(f"dlaunch.DeviceArray: elements of {self._dtype} share bytes, and have no views")
        if self._is_foreign():
            address = self.ptr + offset * size if self.ptr else 0
            flags = _abi.DLPACK_FLAG_BITMASK_READ_ONLY if self._borrowed.is_read_only else 0
            return DeviceArray._of_borrowed(
                _tensor.BorrowedTensor(
                    address, self._borrowed.device, dtype, shape, strides, flags, self._borrowed.keep
                )
            )
        out, rank = ctypes.c_uint64(), len(shape)
        axes = (ctypes.c_int64 * rank)(*shape), (ctypes.c_int64 * rank)(*strides)
        _lib.call("dlaunch_array_view", self._handle, dtype.to_dlpack(), rank, *axes, offset * size, ctypes.byref(out))
        return DeviceArray._of_handle(out.value)

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

        stream: the consumer's, which waits for the launches that were given this memory so far: None and 1 are the
        legacy default stream, 2 the per-thread one, -1 is for none; ArgumentError for 0. The device waits, or the host
        where a launch was on a stream that may be gone: see dlaunch_array_wait. Of memory that is not dlaunch's nothing
        is ordered. For dl_device (1, 0), host memory, it is a copy, made after the work of the legacy default stream.
        BufferError where any other device or a copy on the device is asked for, or read-only memory by a consumer that
        knows only the struct before DLPack 1.0.
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
        number = _tensor.LEGACY if stream is None else dlpack_stream(stream)
        if number != _tensor.UNORDERED:
            self._order(number)
        if self._is_foreign():
            return _export.capsule_of_view(self, self._borrowed, versioned)
        return _export.capsule_of_array(self._handle, versioned)

    def _order(self, stream: int) -> None:
        """Make a stream wait for the launches that were given this memory; of others' nobody knows them."""
        if not self._is_foreign():
            _lib.call("dlaunch_array_wait", self._handle, stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Give DLPack's device type and number; on the simulator (1, 0), kDLCPU."""
        return self._borrowed.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA Array Interface; AttributeError on the simulator.

        Asking for it makes the legacy default stream wait for the launches that were given this memory so far, and that
        is the stream which consumers are told; None, of memory that is not dlaunch's.
        """
        if self._borrowed.device[0] == _abi.kDLCPU:
            raise AttributeError("__cuda_array_interface__: this array is in the simulator's memory, not a GPU's")
        self._check_open()
        self._order(_tensor.LEGACY)
        return {
            "shape": self._shape,
            "typestr": self._dtype.str,
            "data": (self.ptr, self._borrowed.is_read_only),
            "strides": None if self.is_contiguous else self.strides,
            "version": 3,
            "stream": None if self._is_foreign() else _tensor.LEGACY,
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
