"""Tensors of others: reading them through public protocols into a DLPack struct that Python keeps."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

from dlaunch import _abi, _dtype, _exchange
from dlaunch._buffer import Buffer, is_buffer
from dlaunch._capsule import capsule_pointer
from dlaunch._errors import TensorError

_VERSION = (_abi.DLPACK_MAJOR_VERSION, _abi.DLPACK_MINOR_VERSION)
LEGACY = 1  # the legacy default stream, as __dlpack__ counts; 0 is not allowed there
_MOST_AXES = 64  # as the executor has room for
_IMMUTABLE = ("jax", "jaxlib", "pyarrow")  # which their structs do not all say
UNORDERED = -1  # likewise: the producer waits for nothing


class BorrowedTensor:
    """A DLPack struct of our own, with its shape and strides, and what must live as long as it is used."""

    __slots__ = ("keep", "shape", "strides", "struct", "stream")

    def __init__(
        self,
        address: int,
        device: tuple[int, int],
        dtype: _dtype.DataType,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        flags: int = 0,
        keep: object = None,
    ) -> None:
        """Describe memory; strides are in elements, None for C order."""
        rank = len(shape)
        self.keep = keep
        self.stream: int | None = None  # the one on which its producer works, where that is known
        self.shape = (ctypes.c_int64 * rank)(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * rank)(*strides)
        self.struct = _abi.DLManagedTensorVersioned(
            _abi.DLPackVersion(*_VERSION),
            None,
            None,
            flags,
            _abi.DLTensor(
                address,
                _abi.DLDevice(*device),
                rank,
                dtype.to_dlpack(),
                ctypes.cast(self.shape, _abi.int64_pointer),
                None if self.strides is None else ctypes.cast(self.strides, _abi.int64_pointer),
                0,
            ),
        )

    @property
    def address(self) -> int:
        """The address of the first element."""
        return self.struct.dl_tensor.data or 0

    @property
    def pointer(self) -> int:
        """The address of the DLManagedTensorVersioned."""
        return ctypes.addressof(self.struct)

    @property
    def device(self) -> tuple[int, int]:
        """DLPack's device type and number."""
        device = self.struct.dl_tensor.device
        return device.device_type, device.device_id

    @property
    def dtype(self) -> _dtype.DataType:
        """The type of the elements."""
        return _dtype.of_dlpack(self.struct.dl_tensor.dtype)

    @property
    def is_copied(self) -> bool:
        """Whether the producer made a copy for this call."""
        return bool(self.struct.flags & _abi.DLPACK_FLAG_BITMASK_IS_COPIED)

    @property
    def is_read_only(self) -> bool:
        """Whether the memory may not be written."""
        return bool(self.struct.flags & _abi.DLPACK_FLAG_BITMASK_READ_ONLY)

    def set_strides(self, strides: Sequence[int]) -> None:
        """Correct the strides, in elements."""
        self.strides = (ctypes.c_int64 * len(strides))(*strides)
        self.struct.dl_tensor.strides = ctypes.cast(self.strides, _abi.int64_pointer)

    def element_strides(self) -> tuple[int, ...]:
        """Give the strides in elements, C order's where there are none."""
        return c_strides(tuple(self.shape)) if self.strides is None else tuple(self.strides)


def c_strides(shape: Sequence[int], step: int = 1) -> tuple[int, ...]:
    """Give the strides of C order, in elements or such steps."""
    strides = [step] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Tell C order; strides do not matter along axes of one element, nor of an array of none."""
    return 0 in shape or all(n <= 1 or a == b for n, a, b in zip(shape, strides, c_strides(shape), strict=True))


def copy_of(tensor: _abi.DLTensor, flags: int, keep: object) -> BorrowedTensor:
    """Copy a struct whose memory is another's, while it is sure to be there."""
    rank = tensor.ndim
    if not 0 <= rank <= _MOST_AXES or (rank > 0 and not tensor.shape):
        raise TensorError(f"its DLPack struct has rank {rank} and {'a' if tensor.shape else 'no'} shape")
    if rank and any((ctypes.cast(p, ctypes.c_void_p).value or 0) % 8 for p in (tensor.shape, tensor.strides)):
        raise TensorError("the address of its shape or strides is no multiple of 8")
    strides = tensor.strides[:rank] if rank and tensor.strides else None
    address = tensor.data + tensor.byte_offset if tensor.data else 0
    if address >= 1 << 64:
        raise TensorError(f"its data and its byte_offset, {tensor.byte_offset}, lead past the end of memory")
    return BorrowedTensor(
        address,
        (tensor.device.device_type, tensor.device.device_id),
        _dtype.of_dlpack(tensor.dtype),
        tensor.shape[:rank] if rank else (),
        strides,
        flags,
        keep,
    )


def _from_exchange(value: Any, address: int) -> BorrowedTensor:
    borrowed = copy_of(_exchange.read(value, address), 0, value)
    device_type, device_id = borrowed.device
    if device_type == _abi.kDLCUDA:
        borrowed.stream = _exchange.current_stream(address, device_id)
    return borrowed


def current_stream(value: Any, device: int) -> int | None:
    """Give the stream on which the package of a GPU tensor works now; None where there is no such thing."""
    address = _exchange.api_of(type(value))
    return _exchange.current_stream(address, device) if address else _producer_stream(value, device)


def stream_source(value: Any, device: int) -> Callable[[], int | None] | None:
    """Give what tells current_stream from now on, at less cost; None where there is no such thing."""
    address = _exchange.api_of(type(value))
    if address:
        return functools.partial(_exchange.current_stream, address, device)
    return None if _producer_stream(value, device) is None else functools.partial(_producer_stream, value, device)


# ---- __dlpack__

_CAPSULES = (b"dltensor_versioned", b"dltensor")


def _from_dlpack(value: Any, launch_stream: int | None, ordered: bool) -> BorrowedTensor:
    device_type, device_id = (int(n) for n in value.__dlpack_device__())
    keywords: dict[str, Any] = {"max_version": _VERSION}
    stream = None
    if device_type == _abi.kDLCUDA:
        stream = _producer_stream(value, device_id)
        # Where a producer's current stream is known the launch goes there, or where the caller says: it is asked for an
        # order only if the caller wants one.
        keywords["stream"] = UNORDERED if stream is not None else (launch_stream or LEGACY)
        if ordered:
            keywords["stream"] = (stream if launch_stream is None else launch_stream) or LEGACY
        if keywords["stream"] == UNORDERED and _package_of(value) in ("jax", "jaxlib"):
            keywords["stream"] = LEGACY  # JAX 0.11 takes -1 for the address of a stream
    with _producer_device(value, device_type, device_id):
        capsule = _call_dlpack(_exporter(value), keywords)
    for name in _CAPSULES:
        address = capsule_pointer(capsule, name)
        if address:
            break
    else:
        raise TensorError(f"its __dlpack__ gave {type(capsule).__name__}, a capsule of DLPack is wanted")
    if name == b"dltensor":
        borrowed = copy_of(_abi.DLManagedTensor.from_address(address).dl_tensor, 0, capsule)
    else:
        major = _abi.DLPackVersion.from_address(address).major
        if major != _abi.DLPACK_MAJOR_VERSION:
            raise TensorError(f"its DLPack struct has major version {major}; {_abi.DLPACK_MAJOR_VERSION} is wanted")
        versioned = _abi.DLManagedTensorVersioned.from_address(address)
        borrowed = copy_of(versioned.dl_tensor, versioned.flags, capsule)
    borrowed.stream = None if ordered and launch_stream is not None else stream
    if _package_of(value) in _IMMUTABLE and not getattr(value, "is_mutable", False):
        borrowed.struct.flags |= _abi.DLPACK_FLAG_BITMASK_READ_ONLY
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(value, cupy.ndarray):  # CuPy 14.2 divides negative strides as if they were not
        borrowed.set_strides([s // value.itemsize for s in value.strides])
    return borrowed


def _call_dlpack(export: Callable[..., Any], keywords: dict[str, Any]) -> Any:
    """Call __dlpack__; without what it does not know, if it is that what it says."""
    try:
        return export(**keywords)
    except TypeError as error:
        if "max_version" not in str(error) and "keyword" not in str(error):
            raise
    del keywords["max_version"]
    return export(**keywords)


def _exporter(value: Any) -> Callable[..., Any]:
    """Give what exports a tensor; torch's refuses one that requires gradients, which a launch does not record."""
    if _package_of(value) == "torch" and value.requires_grad:
        value = value.detach()
    export: Callable[..., Any] = value.__dlpack__
    return export


def _producer_device(value: Any, device_type: int, device: int) -> AbstractContextManager[Any]:
    """Make a device current for torch, whose tensors are exported only there."""
    if _package_of(value) == "torch" and device_type == _abi.kDLCUDA:
        return cast("AbstractContextManager[Any]", sys.modules["torch"].cuda.device(device))
    return nullcontext()


def _package_of(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _producer_stream(value: Any, device: int) -> int | None:
    """Give the current stream of the package that made a tensor, where it has such a thing."""
    package = _package_of(value)
    if package == "torch":
        return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)
    if package == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return int(cupy.cuda.get_current_stream().ptr)
    return None


# ---- the array interfaces


def _from_numpy(value: Any) -> BorrowedTensor:
    """Read an ndarray by its own attributes: its __dlpack__ refuses read-only memory before NumPy 2.1."""
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.ma.MaskedArray):
        raise TensorError("a masked array's mask has no counterpart in DLPack; give .filled()")
    dtype = _dtype.of_items(value.dtype)
    flags = 0 if value.flags.writeable else _abi.DLPACK_FLAG_BITMASK_READ_ONLY
    strides = _element_strides(value.strides, value.dtype.itemsize, value.shape)
    return BorrowedTensor(value.ctypes.data, (_abi.kDLCPU, 0), dtype, value.shape, strides, flags, value)


def _element_strides(strides: Sequence[int] | None, itemsize: int, shape: Sequence[int]) -> list[int] | None:
    if strides is None:
        return None
    for axis, stride in enumerate(strides):
        if itemsize == 0 or (stride % itemsize and shape[axis] > 1):
            raise TensorError(
                f"axis {axis} has a stride of {stride} bytes, which is no multiple of the item's {itemsize}"
            )
    return [stride // itemsize for stride in strides]


def _from_buffer(value: Any) -> BorrowedTensor:
    held = Buffer(value)
    dtype = _dtype.of_format(held.format, held.itemsize)
    if dtype is None:
        raise TensorError(f"items of format {held.format!r} are no numbers of a kernel's")
    flags = _abi.DLPACK_FLAG_BITMASK_READ_ONLY if held.is_read_only else 0
    strides = _element_strides(held.strides, held.itemsize, held.shape)
    return BorrowedTensor(held.address, (_abi.kDLCPU, 0), dtype, held.shape, strides, flags, held)


def _from_cuda_interface(value: Any, device: int) -> BorrowedTensor:
    interface = value.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TensorError("its __cuda_array_interface__ has a mask, which has no counterpart in DLPack")
    address, read_only = interface["data"]
    typestr, shape = str(interface["typestr"]), tuple(interface["shape"])
    if typestr[:1] == ">":
        raise TensorError(f"typestr {typestr!r}: its bytes are in the other order")
    dtype = _dtype.of_interface(typestr)
    strides = _element_strides(interface.get("strides"), dtype.itemsize, shape)
    flags = _abi.DLPACK_FLAG_BITMASK_READ_ONLY if read_only else 0
    place = getattr(getattr(value, "device", None), "id", device)
    borrowed = BorrowedTensor(address or 0, (_abi.kDLCUDA, int(place)), dtype, shape, strides, flags, value)
    if interface.get("stream") is not None:
        borrowed.stream = int(interface["stream"])
        if borrowed.stream == 0:
            raise TensorError(
                "its __cuda_array_interface__ has the stream 0, which may be either default stream: 1 or 2"
            )
    return borrowed


def is_tensor(value: Any) -> bool:
    """Tell whether an object has one of the protocols."""
    if isinstance(value, type):
        return False
    has_protocol = hasattr(value, "__dlpack__") or _exchange.api_of(type(value)) != 0 or _has_cuda_interface(value)
    return has_protocol or is_buffer(value)


def _has_cuda_interface(value: Any) -> bool:
    # A class attribute first: asking the instance runs torch's code, which raises for CPU tensors.
    if not hasattr(type(value), "__cuda_array_interface__") and "__cuda_array_interface__" not in getattr(
        value, "__dict__", ()
    ):
        return False
    try:
        return value.__cuda_array_interface__ is not None
    except Exception:
        return False


def read(value: Any, launch_stream: int | None = None, device: int = 0, *, ordered: bool = False) -> BorrowedTensor:
    """Read any tensor, by the exchange API, as an ndarray, by __dlpack__, by __cuda_array_interface__, or as a buffer.

    launch_stream is where it will be used, None if the producer's is to be taken, or UNORDERED. With ordered a producer
    is asked to order its work before that stream: if the result has a stream all the same, that is where the work is.
    What a protocol raises is the cause of the TensorError. The result holds the object, or its capsule, alive.
    """
    name = type(value).__name__
    try:
        _refuse_other_memory(value)
        address = _exchange.api_of(type(value))
        if address and not (ordered and hasattr(value, "__dlpack__")):
            return _from_exchange(value, address)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            return _from_numpy(value)
        if hasattr(value, "__dlpack__"):
            try:
                return _from_dlpack(value, launch_stream, ordered)
            except BufferError:  # what DLPack cannot say, as dates
                if not _has_cuda_interface(value):
                    raise
        if not _has_cuda_interface(value) and is_buffer(value):
            return _from_buffer(value)
        return _from_cuda_interface(value, device)
    except TensorError as error:
        raise TensorError(f"{name}: {error}") from error.__cause__
    except Exception as cause:
        said = str(cause).partition("\nException raised from")[0]  # torch adds where in its own C++ code
        raise TensorError(f"{name}: it cannot be read as a tensor: {type(cause).__name__}: {said}") from cause


def _refuse_other_memory(value: Any) -> None:
    """Refuse a torch tensor, or one derived from it, whose memory does not hold what it shows."""
    if not hasattr(type(value), "is_conj"):
        return
    layout = str(getattr(value, "layout", "torch.strided"))
    if layout != "torch.strided":
        raise TensorError(f"its layout is {layout}, which has no strides; give .to_dense()")
    for asked, advice in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
        if getattr(value, asked, bool)():
            raise TensorError(f"its memory differs from what it shows ({asked}() is true); give .{advice}()")
    place = getattr(getattr(value, "device", None), "type", None)
    if place in ("cpu", "cuda") and value.numel() > 0 and _is_freed(value):
        raise TensorError(f"its memory is freed (its untyped_storage() is empty), but it has {value.numel()} elements")


def _is_freed(tensor: Any) -> bool:
    """Tell a torch tensor whose storage was emptied: torch gives its elements' offset from NULL as the address."""
    try:
        return int(tensor.untyped_storage().data_ptr()) == 0
    except (AttributeError, RuntimeError):  # of a tensor that has none
        return False


def gather(borrowed: BorrowedTensor) -> bytearray:
    """Copy a host tensor's elements in C order."""
    shape, itemsize = tuple(borrowed.shape), borrowed.dtype.itemsize
    if borrowed.dtype.bits * borrowed.dtype.lanes % 8:
        raise TensorError(f"{borrowed.dtype}: elements of less than a byte are not copied here")
    if 0 in shape:
        return bytearray()
    strides, found = borrowed.element_strides(), bytearray()
    _gather_axis(found, borrowed.address, shape, [s * itemsize for s in strides], itemsize)
    return found


def _gather_axis(to: bytearray, address: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> None:
    contiguous = itemsize
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent > 1 and stride != contiguous:
            break
        contiguous *= extent
    else:
        to += ctypes.string_at(address, contiguous)
        return
    for index in range(shape[0]):
        _gather_axis(to, address + index * strides[0], shape[1:], strides[1:], itemsize)
