"""Tensors that are not what they say."""

from __future__ import annotations

from typing import Any

import dlaunch
from dlaunch import _dtype
from dlaunch._tensor import BorrowedTensor


class Claims:
    """A tensor of f32 that says of itself whatever one likes."""

    def __init__(self, address: int, count: int, device: tuple[int, int]) -> None:
        borrowed = BorrowedTensor(address, device, _dtype.parse("f32"), [count], [1], 0, object())
        self._array = dlaunch.DeviceArray._of_borrowed(borrowed)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._array.__dlpack__(max_version=keywords.get("max_version"))

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()
