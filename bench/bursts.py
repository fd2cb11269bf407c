"""Bursts of launches: C's through libburst.so, and Python's as loops that are written out for each way."""

from __future__ import annotations

import ctypes
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import dlaunch
from empty import empty_prototype, empty_ptx

Burst = Callable[[int], float]  # launches -> ns a launch

GRID, BLOCK, ELEMENTS = 1, 32, 128
RAW, TENSOR, HANDLE = 0xFFFF, 1, 10  # burst.h and dlaunch.h


class CBurst(ctypes.Structure):
    """burst.h's struct."""

    _fields_ = [
        ("kernels", ctypes.POINTER(ctypes.c_uint64)),
        ("values", ctypes.POINTER(ctypes.c_uint64)),
        ("num_kernels", ctypes.c_uint32),
        ("num_args", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("next", ctypes.c_uint32),
    ]


def uint64s(values: Sequence[int]) -> Any:
    return (ctypes.c_uint64 * max(len(values), 1))(*values)


class Bench:
    """What all bursts share: the C functions, the driver, and the objects that bursts use."""

    def __init__(self, folder: str) -> None:
        """Open libburst.so of a folder, and the driver with its primary context current on this thread."""
        self.folder = folder
        self.scratch = tempfile.TemporaryDirectory()
        self.path = os.path.join(folder, "libburst.so")
        self.c = ctypes.CDLL(self.path)
        self.c.burst_time.restype = self.c.burst_time_cpp.restype = self.c.burst_rate.restype = ctypes.c_double
        self.libcuda = dlaunch.driver_info().path
        code = self.c.burst_open(self.libcuda.encode())
        if code != 0:
            raise RuntimeError(f"{self.libcuda}: error {code}")

    def arrays(self, count: int) -> list[dlaunch.DeviceArray]:
        return [dlaunch.empty(ELEMENTS, "f32") for _ in range(count)]

    def kernel(self, args: int, scalars: int = 0) -> dlaunch.Kernel:
        return dlaunch.load(empty_ptx(args)).kernel(empty_prototype(args, scalars=scalars))

    def driver_kernels(self, args: int, kernels: int = 1) -> Any:
        """CUkernels by the driver's own functions."""
        out = uint64s([0] * kernels)
        code = self.c.burst_kernels(empty_ptx(args, kernels).encode(), args, kernels, out)
        if code != 0:
            raise RuntimeError(f"{self.libcuda}: error {code} from a kernel of {args} arguments")
        return out

    def c_burst(self, kind: int, kernels: Any, values: Sequence[int]) -> CBurst:
        """A burst for C, which keeps its arrays."""
        return CBurst(kernels, uint64s(values), len(kernels), len(values), kind)

    def time(self, burst: CBurst, *keep: Any, cpp: bool = False) -> Burst:
        """Times a burst in C; `keep` is what it uses."""
        function = self.c.burst_time_cpp if cpp else self.c.burst_time

        def timed(launches: int) -> float:
            assert keep is not None
            return float(function(ctypes.byref(burst), launches))

        return timed


def python_burst(call: str, **names: Any) -> Burst:
    """Times a call that is spelled in a loop, which costs some 10 ns itself, with `names` as its local variables."""
    local = ", ".join(f"{name}={name}" for name in ("now", *names))
    source = f"""
def burst(launches, {local}):
    rounds = range(launches)
    begin = now()
    for _ in rounds:
        {call}
    return (now() - begin) / launches
"""
    scope: dict[str, Any] = {"now": time.perf_counter_ns, **names}
    exec(compile(source, f"<{call}>", "exec"), scope)
    burst: Burst = scope["burst"]
    return burst


def argument_burst(call: str, args: Sequence[Any], **names: Any) -> Burst:
    """The same where ARGS in `call` stands for the arguments, each a variable, as in `f(t0, t1)`."""
    arguments = {f"t{i}": arg for i, arg in enumerate(args)}
    return python_burst(call.replace("ARGS", ", ".join(arguments)), **names, **arguments)
