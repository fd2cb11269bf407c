"""Device memory, and what is not."""

from __future__ import annotations

from typing import Any

from dlaunch import _abi, _lib, _report, _tensor


def is_device(borrowed: _tensor.BorrowedTensor) -> bool:
    """Tell whether a tensor lies in device memory; on the simulator that is an address in its range."""
    if not _lib.is_simulated():
        return borrowed.device[0] in (_abi.kDLCUDA, _abi.kDLCUDAManaged)
    if borrowed.device[0] != _abi.kDLCPU:
        return False
    found: Any = _report.report().get("device_memory")
    return found is not None and found[0] <= borrowed.address < found[0] + found[1]
