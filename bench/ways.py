"""The ways to launch that launch_cost.py compares: each prepares a burst."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

import dlaunch
from empty import empty_prototype, empty_ptx

Burst = Callable[[int], float]  # launches -> ns a launch

GRID, BLOCK, ELEMENTS = 1, 32, 128


class Bench:
    """What all ways share: the libraries, and memory for the tensors."""

    def __init__(self, burst_library: str) -> None:
        self.c = ctypes.CDLL(burst_library)
        self.c.burst_kernel.restype = ctypes.c_void_p
        self.c.burst_raw.restype = self.c.burst_dlaunch.restype = ctypes.c_double
        self.libcuda = dlaunch.driver_info().path.encode()

    def arrays(self, tensors: int) -> list[dlaunch.DeviceArray]:
        return [dlaunch.empty(ELEMENTS, "f32") for _ in range(tensors)]

    def kernel(self, tensors: int) -> dlaunch.Kernel:
        return dlaunch.load(empty_ptx(tensors)).kernel(empty_prototype(tensors))


def python_burst(call: Callable[..., Any], *args: Any) -> Burst:
    """Times calls from Python, the loop's own cost included (some 15 ns)."""

    def burst(launches: int) -> float:
        rounds = range(launches)
        begin = time.perf_counter_ns()
        for _ in rounds:
            call(*args)
        return (time.perf_counter_ns() - begin) / launches

    return burst


def _pointers(arrays: list[dlaunch.DeviceArray]) -> Any:
    return (ctypes.c_uint64 * 64)(*[a.ptr for a in arrays])


def raw(bench: Bench, tensors: int) -> Burst:
    kernel = bench.c.burst_kernel(bench.libcuda, empty_ptx(tensors).encode(), b"empty")
    arrays = bench.arrays(tensors)
    pointers = _pointers(arrays)

    def burst(launches: int) -> float:
        assert arrays
        return float(bench.c.burst_raw(bench.libcuda, ctypes.c_void_p(kernel), None, pointers, launches))

    return burst


def from_c(bench: Bench, tensors: int) -> Burst:
    kernel, arrays = bench.kernel(tensors), bench.arrays(tensors)
    pointers = _pointers(arrays)

    def burst(launches: int) -> float:
        assert arrays
        return float(
            bench.c.burst_dlaunch(ctypes.c_uint64(kernel.handle), ctypes.c_uint64(0), pointers, tensors, launches)
        )

    return burst


def empty_builtin(bench: Bench, tensors: int) -> Burst:
    make = ctypes.PyDLL(bench.c._name).burst_empty_builtin
    make.restype = ctypes.py_object
    return python_burst(make(), *bench.arrays(tensors))


def own_arrays(bench: Bench, tensors: int) -> Burst:
    return python_burst(bench.kernel(tensors).configure(GRID, BLOCK), *bench.arrays(tensors))


def own_arrays_held(bench: Bench, tensors: int) -> Burst:
    return python_burst(bench.kernel(tensors).configure(GRID, BLOCK, hold_gil=True), *bench.arrays(tensors))


def bound(bench: Bench, tensors: int) -> Burst:
    return python_burst(bench.kernel(tensors).bind(*bench.arrays(tensors)).configure(GRID, BLOCK))


def bound_held(bench: Bench, tensors: int) -> Burst:
    return python_burst(bench.kernel(tensors).bind(*bench.arrays(tensors)).configure(GRID, BLOCK, hold_gil=True))


def subscript(bench: Bench, tensors: int) -> Burst:
    kernel = bench.kernel(tensors)
    return python_burst(lambda *args: kernel[GRID, BLOCK](*args), *bench.arrays(tensors))


def torch_tensors(bench: Bench, tensors: int) -> Burst:
    import torch

    args = [torch.empty(ELEMENTS, dtype=torch.float32, device="cuda") for _ in range(tensors)]
    return python_burst(bench.kernel(tensors).configure(GRID, BLOCK), *args)


def cupy_arrays(bench: Bench, tensors: int) -> Burst:
    import cupy

    args = [cupy.empty(ELEMENTS, dtype=cupy.float32) for _ in range(tensors)]
    return python_burst(bench.kernel(tensors).configure(GRID, BLOCK), *args)


def _core(tensors: int) -> tuple[Any, Any, Any, Any]:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    kernel = ObjectCode.from_ptx(empty_ptx(tensors).encode()).get_kernel("empty")
    return launch, device.default_stream, LaunchConfig(grid=GRID, block=BLOCK), kernel


def cuda_core_torch(bench: Bench, tensors: int) -> Burst:
    import torch

    launch, stream, config, kernel = _core(tensors)
    args = [torch.empty(ELEMENTS, dtype=torch.float32, device="cuda") for _ in range(tensors)]
    return python_burst(lambda *ts: launch(stream, config, kernel, *[t.data_ptr() for t in ts]), *args)


def cuda_core_ints(bench: Bench, tensors: int) -> Burst:
    launch, stream, config, kernel = _core(tensors)
    arrays = bench.arrays(tensors)
    bench.kept = [*getattr(bench, "kept", []), arrays]  # type: ignore[attr-defined]
    return python_burst(launch, stream, config, kernel, *[a.ptr for a in arrays])


def cupy_raw(bench: Bench, tensors: int) -> Burst:
    import cupy

    params = ", ".join(f"float* t{i}" for i in range(tensors))
    kernel = cupy.RawKernel(f'extern "C" __global__ void empty({params}) {{}}', "empty")
    args = tuple(cupy.empty(ELEMENTS, dtype=cupy.float32) for _ in range(tensors))
    return python_burst(kernel, (GRID,), (BLOCK,), args)


WAYS: dict[str, Callable[[Bench, int], Burst]] = {
    "C, cuLaunchKernelEx": raw,
    "C, dlaunch_launch": from_c,
    "Python, an empty builtin": empty_builtin,
    "dlaunch, its arrays": own_arrays,
    "dlaunch, its arrays, lock held": own_arrays_held,
    "dlaunch, its arrays, k[grid, block]": subscript,
    "dlaunch, all bound": bound,
    "dlaunch, all bound, lock held": bound_held,
    "dlaunch, torch tensors": torch_tensors,
    "dlaunch, CuPy arrays": cupy_arrays,
    "cuda.core, torch data_ptr()": cuda_core_torch,
    "cuda.core, ready ints": cuda_core_ints,
    "CuPy RawKernel, CuPy arrays": cupy_raw,
}
RAW = "C, cuLaunchKernelEx"
EMPTY = "Python, an empty builtin"


def possible() -> dict[str, Callable[[Bench, int], Burst]]:
    """The ways whose packages are installed; a line on stdout for each that is not."""
    chosen = {}
    needs = {"torch": ("dlaunch, torch tensors", "cuda.core, torch data_ptr()"),
             "cupy": ("dlaunch, CuPy arrays", "CuPy RawKernel, CuPy arrays"),
             "cuda.core": ("cuda.core, torch data_ptr()", "cuda.core, ready ints")}  # fmt: skip
    absent: dict[str, str] = {}
    for package, ways in needs.items():
        try:
            __import__(package)
        except ImportError as why:
            absent.update(dict.fromkeys(ways, f"{package}: {why}"))
    for name, way in WAYS.items():
        if name in absent:
            print(f"left out: {name} ({absent[name]})")
        else:
            chosen[name] = way
    return chosen
