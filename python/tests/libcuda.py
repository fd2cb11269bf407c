"""The driver itself, through ctypes: what tests hold dlaunch's answers against. Device 0's context is made current."""

from __future__ import annotations

import ctypes
import functools
from typing import Any


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("num_attributes", ctypes.c_uint),
    ]


class Attribute(ctypes.Structure):
    """CUlaunchAttribute, of a cluster."""

    _fields_ = [
        ("id", ctypes.c_uint),
        ("pad", ctypes.c_uint),
        ("cluster", ctypes.c_uint * 3),
        ("rest", ctypes.c_uint * 13),
    ]


@functools.cache
def driver() -> Any:
    cuda = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    return cuda


def call(name: str, *arguments: Any) -> None:
    result = getattr(driver(), name)(*arguments)
    assert result == 0, f"{name}: {result}"


def number(name: str, *arguments: Any, kind: Any = ctypes.c_int) -> int:
    out = kind()
    call(name, ctypes.byref(out), *arguments)
    return out.value or 0


def pointer(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)


def load(image: bytes) -> int:
    """Load a library."""
    return number("cuLibraryLoadData", image + b"\0", None, None, 0, None, None, 0, kind=ctypes.c_void_p)


def unload(library: int) -> None:
    call("cuLibraryUnload", pointer(library))


def kernel(library: int, name: str) -> int:
    return number("cuLibraryGetKernel", pointer(library), name.encode(), kind=ctypes.c_void_p)


def function(kernel: int) -> int:
    return number("cuKernelGetFunction", pointer(kernel), kind=ctypes.c_void_p)


def kernel_attribute(attribute: int, kernel: int) -> int:
    return number("cuKernelGetAttribute", attribute, pointer(kernel), 0)


def max_active_blocks(function: int, block: int, shared: int) -> int:
    return number("cuOccupancyMaxActiveBlocksPerMultiprocessor", pointer(function), block, ctypes.c_size_t(shared))


def max_potential_block_size(function: int, shared: int, limit: int) -> tuple[int, int]:
    grid, block = ctypes.c_int(), ctypes.c_int()
    name = "cuOccupancyMaxPotentialBlockSize"
    call(name, ctypes.byref(grid), ctypes.byref(block), pointer(function), None, ctypes.c_size_t(shared), limit)
    return grid.value, block.value


def available_shared_bytes(function: int, blocks: int, block: int) -> int:
    return number("cuOccupancyAvailableDynamicSMemPerBlock", pointer(function), blocks, block, kind=ctypes.c_size_t)


def max_cluster_size(function: int, block: int, shared: int) -> int:
    config = Config((1, 1, 1), (block, 1, 1), shared)
    return number("cuOccupancyMaxPotentialClusterSize", pointer(function), ctypes.byref(config))


def max_active_clusters(function: int, cluster: int, block: int, shared: int) -> int:
    attribute = Attribute(4, 0, (cluster, 1, 1))
    config = Config((cluster, 1, 1), (block, 1, 1), shared, None, ctypes.addressof(attribute), 1)
    return number("cuOccupancyMaxActiveClusters", pointer(function), ctypes.byref(config))
