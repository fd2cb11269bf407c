"""How many blocks and clusters of a kernel fit a device."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from dlaunch import _abi, _lib
from dlaunch._errors import ConfigError
from dlaunch._managed import Managed
from dlaunch._sizes import count, sizes
from dlaunch._stream import device_number

# Bytes of dynamic shared memory for a block of b threads: a constant, (a, c) for a + c * b, a table by b, or f(b).
Shared = int | tuple[int, int] | Mapping[int, int] | Callable[[int], int]

_MAX_THREADS_PER_BLOCK, _MULTIPROCESSORS = 0, 16  # a CUfunction_attribute and a CUdevice_attribute
_WARP = 32


def bytes_of(shared: Shared, block: int) -> int:
    """Give the dynamic shared memory of a block of so many threads."""
    if callable(shared):
        return count("shared", shared(block))
    if isinstance(shared, Mapping):
        return count("shared", shared[block])
    base, per_thread = _line(shared)
    return count("shared", base + per_thread * block)


def _line(shared: Any) -> tuple[int, int]:
    if not isinstance(shared, tuple):
        return count("shared", shared), 0
    if len(shared) != 2:
        raise ConfigError(f"shared is {shared!r}; (bytes, bytes for each thread) is wanted")
    return count("shared", shared[0]), count("shared", shared[1])


class Occupancy:
    """How many blocks and clusters of a kernel fit a device at once.

    `occupancy[1]` is for device 1. Asking about more dynamic shared memory than is allowed opts the kernel in to it, as
    a launch does. ConfigError for a block of 0 threads, UnsupportedError for clusters where the device has none.
    """

    __slots__ = ("_device", "_kernel")

    def __init__(self, kernel: Managed, device: int = 0) -> None:
        """Ask about a kernel on a device."""
        self._kernel, self._device = kernel, device

    def __getitem__(self, device: int) -> Occupancy:
        """Give that of another device."""
        return Occupancy(self._kernel, device_number(device))

    def max_active_blocks(self, block: int, shared: int = 0) -> int:
        """Count the blocks of so many threads that a multiprocessor runs at once: 0 if not one fits."""
        out = ctypes.c_int32()
        self._ask("max_active_blocks", count("block", block), count("shared", shared), ctypes.byref(out))
        return out.value

    def max_potential_block_size(self, shared: Shared = 0, limit: int = 0) -> tuple[int, int]:
        """Give the smallest grid that fills the device, and the block with which most threads are active.

        shared: the dynamic shared memory of a block, in bytes; or (a, c) for a + c * threads; or a mapping from the
        block sizes to try; or a function of the block size, which is called for each number of whole warps. limit: the
        most threads that are wanted; 0 is any number. ConfigError if no block fits.
        """
        if isinstance(shared, Mapping) or callable(shared):
            return self._search(shared, limit)
        grid, block = ctypes.c_int32(), ctypes.c_int32()
        base, per_thread = _line(shared)
        out = (ctypes.byref(grid), ctypes.byref(block))
        self._ask("max_potential_block_size", base, per_thread, count("limit", limit), *out)
        return grid.value, block.value

    def _search(self, shared: Mapping[int, int] | Callable[[int], int], limit: int) -> tuple[int, int]:
        most = self._read("dlaunch_kernel_attribute", self._kernel.handle, _MAX_THREADS_PER_BLOCK, self._device)
        most = min(most, count("limit", limit) or most)
        tried = shared if isinstance(shared, Mapping) else {*range(_WARP, most + 1, _WARP), most}
        blocks = [block for block in tried if count("block", block) <= most]
        active = {block: self.max_active_blocks(block, bytes_of(shared, block)) for block in blocks}
        best = max(active, key=lambda block: (active[block] * block, block), default=0)
        if not active.get(best):
            raise ConfigError("max_potential_block_size: no block fits with that much shared memory")
        return active[best] * self._read("dlaunch_device_attribute", self._device, _MULTIPROCESSORS), best

    def available_shared_bytes(self, blocks: int, block: int) -> int:
        """Give the dynamic shared memory that each block may have for `blocks` of them to run at once.

        That is for one multiprocessor, and no more than attributes.max_dynamic_shared_bytes is now. block: threads.
        ConfigError if so many blocks do not fit.
        """
        out = ctypes.c_size_t()
        self._ask("available_shared_bytes", count("blocks", blocks), count("block", block), ctypes.byref(out))
        return out.value

    def max_cluster_size(self, block: int | tuple[int, ...], shared: int = 0, grid: int | tuple[int, ...] = 1) -> int:
        """Give the most blocks that a cluster of such a launch may have."""
        return self._clusters("max_cluster_size", grid, block, shared, None)

    def max_active_clusters(
        self,
        cluster: int | tuple[int, ...],
        block: int | tuple[int, ...],
        shared: int = 0,
        grid: int | tuple[int, ...] | None = None,
    ) -> int:
        """Count the clusters of this many blocks that the device runs at once. grid: one cluster, unless given."""
        return self._clusters("max_active_clusters", cluster if grid is None else grid, block, shared, cluster)

    def _clusters(self, what: str, grid: Any, block: Any, shared: int, cluster: Any) -> int:
        config = _abi.dlaunch_config(ctypes.sizeof(_abi.dlaunch_config), sizes("grid", grid), sizes("block", block))
        config.shared_bytes = count("shared", shared)
        if cluster is not None:
            config.cluster[:] = sizes("cluster", cluster)
        out = ctypes.c_int32()
        self._ask(what, ctypes.byref(config), ctypes.byref(out))
        return out.value

    def _ask(self, what: str, *arguments: Any) -> None:
        _lib.call(f"dlaunch_kernel_{what}", self._kernel.handle, self._device, *arguments)

    def _read(self, function: str, *arguments: Any) -> int:
        out = ctypes.c_int32()
        _lib.call(function, *arguments, ctypes.byref(out))
        return out.value

    def __repr__(self) -> str:
        """Show the device."""
        return f"<dlaunch.Occupancy on device {self._device}>"
