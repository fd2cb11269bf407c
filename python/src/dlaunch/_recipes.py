"""Classes of tensors whose protocols are slow: one table, and how the builtin reads each by its attributes."""

from __future__ import annotations

import ctypes
import dataclasses
import sys
from collections.abc import Callable, Sequence
from typing import Any

from dlaunch import _abi, _dtype, _lib
from dlaunch._capsule import capsule_pointer
from dlaunch._offsets import offset_of, span_offset_of


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A class whose objects have data.ptr, data.device_id, dtype, shape, strides (bytes) and _c_contiguous.

    device_type is DLPack's. current_stream gives, for a device, an object with ptr: the stream on which the class's
    package works now; None if it has no such thing. samples makes objects of different shapes, types and addresses,
    that need no memory to be there, to find by trying where an object keeps what it shows. stream_capsule is Cython's,
    of a C function that says the same as current_stream: a device's number to a CUstream; streams are some that can be
    made current, to prove that on a device.
    """

    device_type: int
    current_stream: Callable[[int], Any] | None = None
    samples: Callable[[], Sequence[Any]] | None = None
    stream_capsule: Any = None
    streams: Callable[[], tuple[Sequence[Any], int]] | None = None


def _cupy() -> Recipe:
    cupy = sys.modules["cupy"]

    def samples() -> Sequence[Any]:
        made = []
        for address, shape, dtype, order in (
            (0x7A1000000000, (3, 5), "f4", "C"),
            (0x7A2000000200, (7, 2, 4), "i8", "F"),
            (0x7A3000000400, (11,), "c16", "C"),
            (0x7A4000000600, (13, 17, 19, 23), "u1", "F"),
        ):
            memory = cupy.cuda.UnownedMemory(address, 1 << 20, None, 0)
            made.append(cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, 0), order=order))
        return made

    functions = getattr(sys.modules.get("cupy_backends.cuda.stream"), "__pyx_capi__", {})
    return Recipe(
        _abi.kDLCUDA,
        cupy.cuda.get_current_stream,
        samples,
        functions.get("get_stream_ptr"),
        lambda: ((cupy.cuda.Stream.null, cupy.cuda.Stream.ptds), cupy.cuda.Device().id),
    )


# Exact classes, by module and name.
TABLE: dict[str, Callable[[], Recipe]] = {"cupy.ndarray": _cupy}

_found: dict[type, tuple[Any, ...]] = {}  # offsets are found once; there are few classes


def attributes_of(cls: type) -> tuple[Any, ...] | None:
    """Give what pyattributes.c takes for a class of the table, None for any other."""
    found = _found.get(cls)
    if found is None:
        name = f"{cls.__module__}.{cls.__qualname__}"
        make = TABLE.get(name)
        if make is None:
            return None
        recipe = make()
        found = _found[cls] = (
            recipe.device_type,
            recipe.device_type == _abi.kDLCUDA and _has_several_devices(),
            _packed_dtype,
            recipe.current_stream,
            *_offsets(cls, recipe),
            _stream_function(recipe),
        )
    return found


def _has_several_devices() -> bool:
    count = ctypes.c_int32()
    _lib.call("dlaunch_device_count", ctypes.byref(count))
    return count.value > 1


def _packed_dtype(dtype: Any) -> int:
    """Give a NumPy dtype as DLPack's fields in one number. TensorError for what it has no counterpart of."""
    found = _dtype.of_items(dtype)
    return found.code | found.bits << 8 | found.lanes << 16


def _offsets(cls: type, recipe: Recipe) -> tuple[Any, ...]:
    """Say where objects keep data, data's ptr, dtype, _c_contiguous and shape; -1 for what must be asked by name.

    The class of data stands before them: ptr is there in its objects.
    """
    nowhere = (None, -1, -1, -1, -1, -1)
    if recipe.samples is None:
        return nowhere
    objects: list[Any] = []
    try:
        objects += recipe.samples()
    except Exception:  # another version's constructors
        return nowhere
    if not all(_is_plain(o, cls) for o in objects):
        return nowhere
    pointers = [o.data for o in objects]
    one = all(type(p) is type(pointers[0]) for p in pointers)
    return (
        type(pointers[0]),
        offset_of(objects, lambda o: id(o.data)),
        offset_of(pointers, lambda p: int(p.ptr)) if one else -1,
        offset_of(objects, lambda o: id(o.dtype)),
        offset_of(objects, lambda o: int(o._c_contiguous), ctypes.c_uint32),
        span_offset_of(objects, lambda o: tuple(o.shape)),
    )


def _stream_function(recipe: Recipe) -> int:
    """Give the address of a C function that tells a device's current stream; 0 if trying does not prove it."""
    address = capsule_pointer(recipe.stream_capsule, b"intptr_t (int)")
    if address == 0 or recipe.streams is None or recipe.current_stream is None:
        return 0
    ask = ctypes.PYFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int)(address)
    told = set()
    try:
        streams, device = recipe.streams()
        for stream in streams:
            with stream:
                told.add(ask(device))
                if ask(device) != recipe.current_stream(device).ptr:
                    return 0
    except Exception:  # another version's names
        return 0
    return address if len(told) == len(streams) else 0


def _is_plain(o: Any, cls: type) -> bool:
    """Tell whether an object keeps what it shows, and does not make it anew."""
    keeps = o.data is o.data and o.dtype is o.dtype
    return keeps and type(o) is cls
