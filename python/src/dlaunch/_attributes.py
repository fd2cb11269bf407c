"""What the driver tells of a kernel, and lets one set; and attributes of a launch."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping

from dlaunch import _lib
from dlaunch._errors import ConfigError
from dlaunch._managed import Managed
from dlaunch._stream import device_number

_CONSTANT = frozenset({0, 1, 2, 3, 4, 5, 6, 7, 10})  # CUfunction_attributes that never change

LaunchAttributes = tuple[tuple[int, bytes], ...]
_VALUE_BYTES = 64


class Attributes:
    """What the driver tells of a kernel on one device. Sizes are in bytes.

    `attributes[1]` is that of device 1. What can be set says so; setting raises ConfigError for a value that does not
    fit, and UnsupportedError where it needs another device. On the simulator `registers` is an estimate.
    """

    __slots__ = ("_device", "_kernel", "_known")

    def __init__(self, kernel: Managed, known: dict[tuple[int, int], int], device: int = 0) -> None:
        """Ask about a kernel on a device. known: what was asked before, by device and attribute."""
        self._kernel, self._known, self._device = kernel, known, device

    def __getitem__(self, device: int) -> Attributes:
        """Give those of another device."""
        return Attributes(self._kernel, self._known, device_number(device))

    def _get(self, attribute: int) -> int:
        known = self._known.get((self._device, attribute))
        if known is not None and not self._kernel.closed:  # of a closed one the library says that it is
            return known
        out = ctypes.c_int32()
        _lib.call("dlaunch_kernel_attribute", self._kernel.handle, attribute, self._device, ctypes.byref(out))
        if attribute in _CONSTANT:
            self._known[self._device, attribute] = out.value
        return out.value

    def _set(self, attribute: int, value: int) -> None:
        try:
            number = operator.index(value)
        except TypeError:
            number = -1 << 31
        if not -1 << 31 < number < 1 << 31:
            raise ConfigError(f"kernel attribute {attribute} is {value!r}; an int of 32 bits is wanted")
        _lib.call("dlaunch_kernel_set_attribute", self._kernel.handle, attribute, self._device, number)

    @property
    def max_threads_per_block(self) -> int:
        """The most threads that a block may have."""
        return self._get(0)

    @property
    def static_shared_bytes(self) -> int:
        """The shared memory that each block has without asking for any."""
        return self._get(1)

    @property
    def const_bytes(self) -> int:
        """The constant memory that its program declares."""
        return self._get(2)

    @property
    def local_bytes(self) -> int:
        """The local memory of each thread: arrays, and registers that there was no room for."""
        return self._get(3)

    @property
    def registers(self) -> int:
        """The registers of each thread."""
        return self._get(4)

    @property
    def ptx_version(self) -> int:
        """The architecture that its PTX was for: 90 is 9.0."""
        return self._get(5)

    @property
    def binary_version(self) -> int:
        """The architecture that its machine code is for: 90 is 9.0."""
        return self._get(6)

    @property
    def cache_mode_ca(self) -> bool:
        """Whether it was compiled to cache what it loads from global memory in L1."""
        return bool(self._get(7))

    @property
    def max_dynamic_shared_bytes(self) -> int:
        """The dynamic shared memory that a block may have. A launch that wants more raises it; it can be set."""
        return self._get(8)

    @max_dynamic_shared_bytes.setter
    def max_dynamic_shared_bytes(self, value: int) -> None:
        self._set(8, value)

    @property
    def preferred_shared_carveout(self) -> int:
        """The share of the L1 cache to use as shared memory, in percent; -1: the driver's choice. It can be set."""
        return self._get(9)

    @preferred_shared_carveout.setter
    def preferred_shared_carveout(self, value: int) -> None:
        self._set(9, value)

    @property
    def cluster_size_must_be_set(self) -> bool:
        """Whether a launch has to say the size of its clusters."""
        return bool(self._get(10))

    @property
    def required_cluster(self) -> tuple[int, int, int]:
        """The clusters that a launch must have: width, height and depth in blocks; zeros: any. It can be set."""
        return self._get(11), self._get(12), self._get(13)

    @required_cluster.setter
    def required_cluster(self, value: tuple[int, int, int]) -> None:
        if not isinstance(value, (tuple, list)) or len(value) != 3:
            raise ConfigError(f"required_cluster is {value!r}; width, height and depth are wanted")
        for attribute, size in zip((11, 12, 13), value, strict=True):
            self._set(attribute, size)

    @property
    def non_portable_cluster_allowed(self) -> bool:
        """Whether clusters may have more than 8 blocks, which not every device has. It can be set."""
        return bool(self._get(14))

    @non_portable_cluster_allowed.setter
    def non_portable_cluster_allowed(self, value: bool) -> None:
        self._set(14, value)

    @property
    def cluster_scheduling_policy(self) -> int:
        """How the blocks of a cluster are placed: 0 default, 1 spread, 2 load-balanced. It can be set."""
        return self._get(15)

    @cluster_scheduling_policy.setter
    def cluster_scheduling_policy(self, value: int) -> None:
        self._set(15, value)

    def __repr__(self) -> str:
        """Show the device."""
        return f"<dlaunch.Attributes on device {self._device}>"


def launch_attributes(given: Mapping[int, int | bytes] | None) -> LaunchAttributes:
    """Check the further attributes of a launch, and give each its bytes."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise ConfigError(f"attributes is {given!r}; a mapping of CUlaunchAttribute numbers is wanted")
    return tuple((_number(number, 0, 1 << 32), _bytes(number, value)) for number, value in given.items())


def _bytes(number: int, value: int | bytes) -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        return (_number(value, -1 << 31, 1 << 32) & 0xFFFFFFFF).to_bytes(4, "little")
    data = bytes(value)
    if len(data) > _VALUE_BYTES:
        raise ConfigError(f"launch attribute {number} has {len(data)} bytes; at most {_VALUE_BYTES} are wanted")
    return data


def _number(value: int, least: int, end: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = end
    if not least <= number < end:
        raise ConfigError(f"launch attributes: {value!r} given; an int of 32 bits, or bytes for a value, is wanted")
    return number
