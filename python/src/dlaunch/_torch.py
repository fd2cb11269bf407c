"""torch's own C functions for reading a tensor, where they are proved to tell what torch's public protocol tells.

They are several times as fast as DLPack's exchange API, and no promise of torch's: which functions there are, and where
in a Python object the tensor is that they take. So both are tried on fresh tensors of the exact class first, and used
only if everything agrees; and so are the fields that they read (_torch_fields). DLAUNCH_SHIMS=0 does without all that.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Sequence
from typing import Any

from dlaunch import _dtype, _tensor, _torch_fields
from dlaunch._offsets import offset_of

_DTYPES = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16",
    "complex32": "c32", "complex64": "c64", "complex128": "c128", "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2": "f8e5m2", "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}  # fmt: skip

# What pyshims.c calls, in its order.
_READERS: dict[str, Any] = {
    "layout": ctypes.c_int32,
    "device_type": ctypes.c_int32,
    "device_index": ctypes.c_int32,
    "dtype": ctypes.c_int32,
    "dim": ctypes.c_int64,
    "sizes": ctypes.POINTER(ctypes.c_int64),
    "strides": ctypes.POINTER(ctypes.c_int64),
    "data_ptr": ctypes.c_void_p,
}


@functools.cache
def shims_of(cls: type) -> tuple[int, ...] | None:
    """Give what pyshims.c takes for a class of torch's tensors; None where it must do without."""
    torch = sys.modules.get("torch")
    if torch is None or cls not in (torch.Tensor, torch.nn.Parameter) or os.environ.get("DLAUNCH_SHIMS") == "0":
        return None
    try:
        library = ctypes.CDLL(os.path.join(torch.__path__[0], "lib", "libtorch_cpu.so"))
        functions = {name: getattr(library, f"aoti_torch_get_{name}") for name in _READERS}
        numbers = {name: getattr(library, f"aoti_torch_{name}")() for name in ("layout_strided", "device_type_cpu",
                                                                               "device_type_cuda")}  # fmt: skip
        samples = _samples(torch, cls)
        at = offset_of(samples, lambda t: int(t._cdata))
        dtypes = _numbers_of_dtypes(torch, library)
        agree = at >= 0 and all(_agrees(t, id(t) + at, functions, numbers, dtypes) for t in samples)
    except (OSError, AttributeError, RuntimeError, TypeError):  # another version of torch
        return None
    if not agree:
        return None

    def told(tensor: Any, name: str) -> int:
        answer = ctypes.c_int32()
        if functions[name](ctypes.c_void_p(id(tensor) + at), ctypes.byref(answer)) != 0:
            raise RuntimeError(name)
        return answer.value

    fields = _torch_fields.fields_of(torch, samples, told)
    addresses = [ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions.values()]
    table = [dtypes.get(number, 0) for number in range(max(dtypes) + 1)]
    return (at, numbers["layout_strided"], numbers["device_type_cuda"], *addresses, *fields, *table)


def _samples(torch: Any, cls: type) -> Sequence[Any]:
    """Make tensors of different shapes, types, places and steps."""
    whole = torch.arange(420, dtype=torch.float32)
    made = [
        whole.reshape(3, 7, 20)[1:, ::2].transpose(0, 2),
        whole[5:6].expand(4, 1),
        whole.to(torch.float64)[17],
        whole.to(torch.complex64)[3:].reshape(-1)[:0],
        whole.to(torch.bfloat16).reshape(2, 5, 1, 42),
    ]
    return [cls(t) if cls is not torch.Tensor else t for t in made]  # a Parameter shares the memory


def _numbers_of_dtypes(torch: Any, library: ctypes.CDLL) -> dict[int, int]:
    """Give torch's numbers of the types that DLPack has, with DLPack's fields in one number."""
    found: dict[int, int] = {}
    for name, ours in _DTYPES.items():
        dtype, shim = _dtype.named(ours), f"aoti_torch_dtype_{name}"
        if dtype is not None and hasattr(torch, name) and hasattr(library, shim):
            found[int(getattr(library, shim)())] = _packed(dtype)
    return found


def _agrees(
    tensor: Any, address: int, functions: dict[str, Any], numbers: dict[str, int], dtypes: dict[int, int]
) -> bool:
    """Tell whether all that the functions tell of a tensor is what its __dlpack__ tells."""
    told: dict[str, Any] = {name: kind() for name, kind in _READERS.items()}
    for name, function in functions.items():
        if function(ctypes.c_void_p(address), ctypes.byref(told[name])) != 0:
            return False
    public = _tensor.read(tensor.detach(), _tensor.UNORDERED)
    rank = len(public.shape)
    return (
        told["layout"].value == numbers["layout_strided"]
        and told["device_type"].value == numbers["device_type_cpu"]
        and dtypes.get(told["dtype"].value) == _packed(public.dtype)
        and told["dim"].value == rank
        and tuple(told["sizes"][:rank]) == tuple(public.shape)
        and tuple(told["strides"][:rank]) == tuple(tensor.stride())
        and (told["data_ptr"].value or 0) == tensor.data_ptr()
        and (0 in public.shape or (told["data_ptr"].value or 0) == public.address)
    )


def _packed(dtype: _dtype.DataType) -> int:
    return dtype.code | dtype.bits << 8 | dtype.lanes << 16
