"""What a tensor of any framework is: the facts that a launch goes by."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from dlaunch import _tensor
from dlaunch._array import DeviceArray
from dlaunch._errors import ArgumentError, TensorError


@dataclasses.dataclass(frozen=True)
class View:
    """A tensor's place and layout, as view() found them.

    shape: the extents. strides: the steps from one element to the next of each axis, in elements, C order's where the
    tensor gives none. dtype: NumPy's (or ml_dtypes') where that is imported, else a dlaunch DataType. device: DLPack's
    type and number, as __dlpack_device__ gives them: (1, 0) is host memory, (2, n) is CUDA device n. is_c_contiguous,
    is_f_contiguous: whether the elements lie without gaps, the last or the first axis fastest. is_read_only: whether
    the memory may not be written. ptr: the address of the first element; it is good as long as the tensor is.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    device: tuple[int, int]
    is_c_contiguous: bool
    is_f_contiguous: bool
    is_read_only: bool
    ptr: int
    nbytes: int

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)


def view(obj: Any) -> View:
    """Describe a tensor as a launch would read it: shape, strides, dtype, device, contiguity, read-only, address, size.

    Takes what has DLPack, the CUDA Array Interface, DLPack's C exchange API or the buffer protocol, and DeviceArray.
    Nothing is copied, launched or waited for. ArgumentError for anything else; TensorError for a tensor that no kernel
    can be given, or whose __dlpack__ gives a copy, since that is gone when this returns.
    """
    if isinstance(obj, DeviceArray):
        obj._check_open()
        borrowed = obj._borrowed
    elif _tensor.is_tensor(obj):
        borrowed = _tensor.read(obj, _tensor.UNORDERED)
    else:
        raise ArgumentError(f"view: {type(obj).__name__} is no tensor; make it one, as with numpy.asarray(...)")
    if borrowed.is_copied:
        raise TensorError(f"view: the __dlpack__ of {type(obj).__name__} gave a copy, of which there is no view")
    shape, strides, dtype = tuple(borrowed.shape), borrowed.element_strides(), borrowed.dtype
    found = dtype.numpy()
    return View(
        shape,
        strides,
        dtype if found is None else found,
        borrowed.device,
        _tensor.is_c_contiguous(shape, strides),
        _tensor.is_c_contiguous(shape[::-1], strides[::-1]),
        borrowed.is_read_only,
        borrowed.address,
        dtype.bytes_of(math.prod(shape)),
    )
