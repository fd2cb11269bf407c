"""What an array in device memory is: its shape, its layout, its type and its place."""

from __future__ import annotations

import math
from typing import Any

from dlaunch import _tensor
from dlaunch._dtype import DataType
from dlaunch._managed import Managed


class Shaped(Managed):
    """The base of DeviceArray: all that can be said of it without its contents."""

    __slots__ = ("_borrowed", "_dtype", "_shape")

    _borrowed: _tensor.BorrowedTensor
    _dtype: DataType
    _shape: tuple[int, ...]

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
    def itemsize(self) -> int:
        """The number of bytes of an element; of less than 8 bits, 1."""
        return self._dtype.itemsize

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

    def __bool__(self) -> bool:
        """Refuse: the contents are in device memory, and that there is an array says `is not None`."""
        raise TypeError("a dlaunch.DeviceArray is in device memory, and has no truth value; use copy_to_host()")
