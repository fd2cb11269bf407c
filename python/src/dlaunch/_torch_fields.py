"""Where torch's tensors keep what torch's C functions tell: found by trying, so that C reads it without a call.

No promise of torch's says where it is. So every field is looked for in tensors that differ in it, and must be in the
same place in all; and in each launcher the C functions are asked about the first tensor of a kind before the fields of
those like it are believed (pyshims.h says what a kind is).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any

from dlaunch._offsets import offset_in

_INLINE_RANK = 5  # DL_INLINE_RANK of pyshims.h
_MOST_BYTES = 1024  # of what torch keeps of a tensor, or of its storage
NOT_FOUND = (0,) * 8
_OF_ANOTHER_TORCH = (ArithmeticError, AttributeError, OSError, RuntimeError, TypeError, ValueError, struct.error)


def fields_of(torch: Any, samples: Sequence[Any], told: Callable[[Any, str], int]) -> tuple[int, ...]:
    """Give what pyshims.c takes, from KEYS to DELETER; NOT_FOUND where it must do without.

    samples are of one class, in the CPU's memory and of at most five axes. told gives what the C function
    aoti_torch_get_{name} tells of a tensor.
    """
    try:
        tensors = [_block(t._cdata) for t in samples]
        found = (
            _keys_at(torch, samples),
            offset_in(tensors, [_word(t.untyped_storage()._cdata) for t in samples]),
            _rank_at(tensors, samples),
            offset_in(tensors, [_word(t.storage_offset()) for t in samples]),
            offset_in(tensors, [struct.pack("=H", told(t, "dtype")) for t in samples], step=2),
            _device_at(torch, samples, told),
            *_storage_at(torch, samples),
        )
    except _OF_ANOTHER_TORCH:
        return NOT_FOUND
    return found if min(found) > 0 else NOT_FOUND


def _keys_at(torch: Any, samples: Sequence[Any]) -> int:
    """The set that says of what kind a tensor is: dense, on which device, conjugate, a wrapper of another ..."""
    conjugate = torch.ones(3, dtype=torch.complex64).conj()
    several = [*samples, conjugate, conjugate.imag, torch.empty(3, device="meta")]
    keys = [_word(int(torch._C._dispatch_keys(t).raw_repr())) for t in several]
    if len(set(keys)) < 4:  # they do not tell these apart: plain, conjugate, negative, without memory
        return -1
    return offset_in([_block(t._cdata) for t in several], keys)


def _rank_at(tensors: Sequence[bytes], samples: Sequence[Any]) -> int:
    """The rank, behind which sizes and then strides have room for five axes each."""
    at = offset_in(tensors, [struct.pack(f"={t.dim() + 1}q", t.dim(), *t.shape) for t in samples])
    strides = at + 8 * (1 + _INLINE_RANK)
    inline = all(
        b.startswith(struct.pack(f"={t.dim()}q", *t.stride()), strides) for b, t in zip(tensors, samples, strict=True)
    )
    return at if inline else -1


def _device_at(torch: Any, samples: Sequence[Any], told: Callable[[Any, str], int]) -> int:
    """The type of a device and its number, a byte each."""
    several = [*samples, torch.empty(3, device="meta")]
    numbers = [struct.pack("=bb", told(t, "device_type"), told(t, "device_index")) for t in several]
    return offset_in([_block(t._cdata) for t in several], numbers, step=1)


def _storage_at(torch: Any, samples: Sequence[Any]) -> tuple[int, int]:
    """The address of memory, and the function that frees it; another one frees what is copied on write."""
    borrowed = torch.frombuffer(bytearray(64), dtype=torch.uint8)
    storages = [t.untyped_storage() for t in (*samples, borrowed)]
    blocks = [_block(s._cdata) for s in storages]
    data = offset_in(blocks, [_word(s.data_ptr()) for s in storages])
    deleter = data + 8
    own = {block[deleter : deleter + 8] for block in blocks[:-1]}
    others = [blocks[-1]]
    if hasattr(torch, "_lazy_clone"):
        shared = torch._lazy_clone(torch.arange(5))
        others.append(_block(shared.untyped_storage()._cdata))
    is_told_apart = len(own) == 1 and all(block[deleter : deleter + 8] not in own for block in others)
    return (data, deleter) if is_told_apart else (-1, -1)


def _word(value: int) -> bytes:
    return struct.pack("=Q", value)


def _block(address: int) -> bytes:
    """The memory at an address that malloc gave; not all, if another allocator's sizes mean something else."""
    size = ctypes.CDLL(None).malloc_usable_size
    size.restype, size.argtypes = ctypes.c_size_t, (ctypes.c_void_p,)
    return ctypes.string_at(address, min(size(address), _MOST_BYTES))
