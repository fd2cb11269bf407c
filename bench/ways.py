"""The ways to launch that launch_cost.py compares: what each needs, and how its users spell it at its best."""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dlaunch
from bursts import BLOCK, ELEMENTS, GRID, HANDLE, RAW, TENSOR, Bench, Burst, argument_burst, python_burst, uint64s
from empty import empty_name, empty_ptx


def raw(bench: Bench, n: int) -> Burst:
    arrays = bench.arrays(n)
    return bench.time(bench.c_burst(RAW, bench.driver_kernels(n), [a.ptr for a in arrays]), arrays)


def c_tensors(bench: Bench, n: int, cpp: bool = False) -> Burst:
    arrays, kernel = bench.arrays(n), bench.kernel(n)
    return bench.time(bench.c_burst(TENSOR, uint64s([kernel.handle]), [a.ptr for a in arrays]), arrays, kernel, cpp=cpp)


def c_handles(bench: Bench, n: int) -> Burst:
    arrays, kernel = bench.arrays(n), bench.kernel(n)
    return bench.time(bench.c_burst(HANDLE, uint64s([kernel.handle]), [a.handle for a in arrays]), arrays, kernel)


# ---- dlaunch from Python


NOTHING, HELD, RELEASED = 0, 1, 2  # burst_builtin.c


def builtin(kind: int) -> Callable[[Bench, int], Burst]:
    """One that looks at no argument: what no launcher can cost less than."""

    def make(bench: Bench, n: int) -> Burst:
        arrays = bench.arrays(n)
        burst = bench.c_burst(RAW, bench.driver_kernels(n), [a.ptr for a in arrays])
        function = ctypes.PyDLL(bench.path).burst_builtin
        function.restype = ctypes.py_object
        return argument_burst("f(ARGS)", arrays, f=function(kind, ctypes.byref(burst)), keep=burst)

    return make


def configured(args: Callable[[Bench, int], list[Any]], **options: Any) -> Callable[[Bench, int], Burst]:
    def make(bench: Bench, n: int) -> Burst:
        return argument_burst("f(ARGS)", args(bench, n), f=bench.kernel(n).configure(GRID, BLOCK, **options))

    return make


def subscript(bench: Bench, n: int) -> Burst:
    return argument_burst(f"k[{GRID}, {BLOCK}](ARGS)", bench.arrays(n), k=bench.kernel(n))


def scalar_more(bench: Bench, n: int) -> Burst:
    return argument_burst("f(ARGS, 7)", bench.arrays(n), f=bench.kernel(n + 1, scalars=1).configure(GRID, BLOCK))


def bound(bench: Bench, n: int, **options: Any) -> Burst:
    kernel: Any = bench.kernel(n)
    return python_burst("f()", f=kernel.bind(*bench.arrays(n)).configure(GRID, BLOCK, **options))


def plain_ctypes(bench: Bench, n: int) -> Burst:
    from dlaunch import _abi

    arrays, kernel = bench.arrays(n), bench.kernel(n)
    launch = ctypes.CDLL(os.environ["DLAUNCH_LIBRARY"]).dlaunch_launch
    launch.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p]
    config = _abi.dlaunch_config(ctypes.sizeof(_abi.dlaunch_config), (GRID,), (BLOCK,))
    args = (_abi.dlaunch_arg * n)()
    for arg, array in zip(args, arrays, strict=True):
        arg.kind, arg.value.handle = HANDLE, array.handle
    ready = {"config": ctypes.byref(config), "args": ctypes.byref(args), "handle": kernel.handle, "n": n}
    return python_burst("launch(handle, config, args, n, None)", launch=launch, keep=(arrays, kernel), **ready)


def torch_by_exchange(bench: Bench, n: int) -> Burst:
    """With what a torch is that _torch cannot prove; a launcher asks once, at its first launch."""
    from dlaunch import _torch

    burst = configured(torch_tensors)(bench, n)
    os.environ["DLAUNCH_SHIMS"] = "0"
    _torch.shims_of.cache_clear()
    burst(1)
    del os.environ["DLAUNCH_SHIMS"]
    _torch.shims_of.cache_clear()
    return burst


# ---- arguments


def own_arrays(bench: Bench, n: int) -> list[Any]:
    return list(bench.arrays(n))


def torch_tensors(bench: Bench, n: int) -> list[Any]:
    import torch

    return [torch.empty(ELEMENTS, dtype=torch.float32, device="cuda") for _ in range(n)]


def cupy_arrays(bench: Bench, n: int) -> list[Any]:
    import cupy

    return [cupy.empty(ELEMENTS, dtype=cupy.float32) for _ in range(n)]


def numba_arrays(bench: Bench, n: int) -> list[Any]:
    from numba import cuda

    return [cuda.device_array(ELEMENTS, dtype="float32") for _ in range(n)]


def tvm_tensors(bench: Bench, n: int) -> list[Any]:
    import tvm_ffi

    return [tvm_ffi.from_dlpack(a) for a in bench.arrays(n)]


# ---- the others


def tvm(args: Callable[[Bench, int], list[Any]]) -> Callable[[Bench, int], Burst]:
    """A C function that takes the addresses and launches: nothing is checked."""

    def make(bench: Bench, n: int) -> Burst:
        import tvm_ffi

        path = os.path.join(bench.folder, "libburst_tvm.so")
        f = tvm_ffi.load_module(path).get_function("launch")
        launch = ctypes.cast(ctypes.CDLL(bench.libcuda).cuLaunchKernelEx, ctypes.c_void_p)
        ctypes.CDLL(path).burst_tvm_prepare(launch, n, ctypes.c_uint64(bench.driver_kernels(n)[0]))
        return argument_burst("f(ARGS)", args(bench, n), f=f)

    return make


def _core(n: int) -> dict[str, Any]:
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    device = Device(0)
    device.set_current()
    kernel = ObjectCode.from_ptx(empty_ptx(n).encode()).get_kernel(empty_name(n))
    return {"launch": launch, "s": device.default_stream, "c": LaunchConfig(grid=GRID, block=BLOCK), "k": kernel}


def cuda_core_torch(bench: Bench, n: int) -> Burst:
    pointers = ", ".join(f"t{i}.data_ptr()" for i in range(n))
    return argument_burst(f"launch(s, c, k, {pointers})", torch_tensors(bench, n), **_core(n))


def cuda_core_ints(bench: Bench, n: int) -> Burst:
    arrays = bench.arrays(n)
    return argument_burst("launch(s, c, k, ARGS)", [a.ptr for a in arrays], **_core(n), keep=arrays)


def cupy_raw(bench: Bench, n: int) -> Burst:
    import cupy

    params = ", ".join(f"float* t{i}" for i in range(n))
    kernel = cupy.RawKernel(f'extern "C" __global__ void empty({params}) {{}}', "empty")
    return python_burst(
        "k(grid, block, args)", k=kernel, grid=(GRID,), block=(BLOCK,), args=tuple(cupy_arrays(bench, n))
    )


def _empty_function(bench: Bench, n: int) -> Any:
    """A function of n parameters that does nothing, in a file: Triton reads it there."""
    path = os.path.join(bench.scratch.name, f"empty_{n}.py")
    source = f"def empty({', '.join(f't{i}' for i in range(n))}):\n    pass\n"
    with open(path, "w") as file:
        file.write(source)
    scope: dict[str, Any] = {"__name__": "empty"}
    exec(compile(source, path, "exec"), scope)
    return scope["empty"]


def triton_jit(bench: Bench, n: int) -> Burst:
    import triton

    return argument_burst("k(ARGS)", torch_tensors(bench, n), k=triton.jit(_empty_function(bench, n))[(GRID,)])


def triton_compiled(bench: Bench, n: int) -> Burst:
    """The kernel of one specialization, as Triton's own tutorial on softmax launches it."""
    import triton

    args = torch_tensors(bench, n)
    compiled = triton.jit(_empty_function(bench, n))[(GRID,)](*args)
    return argument_burst("k(ARGS)", args, k=compiled[(GRID, 1, 1)])


def numba_cuda(args: Callable[[Bench, int], list[Any]]) -> Callable[[Bench, int], Burst]:
    """Specialized for the types of its arguments, so that it does not look for the fitting code."""

    def make(bench: Bench, n: int) -> Burst:
        import numba
        import numpy
        from numba import cuda

        if not hasattr(numpy, "row_stack"):
            numpy.row_stack = numpy.vstack  # numba-cuda 0.30 asks for what NumPy 2.5 has no more: they are the same
        numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
        given = args(bench, n)
        return argument_burst("k(ARGS)", given, k=cuda.jit(_empty_function(bench, n)).specialize(*given)[GRID, BLOCK])

    return make


# ---- the table


@dataclass(frozen=True)
class Way:
    """One way to launch. Those that take the same kind of arguments are compared."""

    name: str
    kind: str
    make: Callable[[Bench, int], Burst]
    needs: tuple[str, ...] = ()

    @property
    def is_ours(self) -> bool:
        return "dlaunch" in self.name

    def lacks(self) -> str | None:
        """Why it cannot be measured here."""
        if "bound" in self.name and not hasattr(dlaunch.Kernel, "bind"):
            return "dlaunch.Kernel has no bind"
        for package in self.needs:
            try:
                importlib.import_module(package)
            except ImportError as why:
                return f"{package}: {why}"
        if "torch" in self.needs and not sys.modules["torch"].cuda.is_available():
            return "torch sees no GPU"
        return None


RAW_WAY = Way("C: cuLaunchKernelEx", "C", raw)

WAYS = [
    RAW_WAY,
    Way("C: dlaunch, tensors", "C", c_tensors),
    Way("C: dlaunch, handles of arrays", "C", c_handles),
    Way("C++: dlaunch, tensors", "C", functools.partial(c_tensors, cpp=True)),
    Way("Python: an empty builtin", "Python", builtin(NOTHING)),
    Way("Python: a builtin with all ready", "Python", builtin(RELEASED)),
    Way("Python: the same, lock held", "Python", builtin(HELD)),
    Way("dlaunch, its arrays", "own arrays", configured(own_arrays)),
    Way("dlaunch, its arrays, lock held", "own arrays", configured(own_arrays, hold_gil=True)),
    Way("dlaunch, its arrays, k[grid, block]", "own arrays", subscript),
    Way("dlaunch, its arrays and a scalar", "own arrays", scalar_more),
    Way("dlaunch, all bound", "own arrays", bound),
    Way("dlaunch, all bound, lock held", "own arrays", functools.partial(bound, hold_gil=True)),
    Way("dlaunch by ctypes, handles ready", "own arrays", plain_ctypes),
    Way("tvm-ffi, its tensors", "own arrays", tvm(tvm_tensors), ("tvm_ffi",)),
    Way("cuda.core, ready ints", "own arrays", cuda_core_ints, ("cuda.core",)),
    Way("numba-cuda, its arrays", "own arrays", numba_cuda(numba_arrays), ("numba_cuda",)),
    Way("dlaunch, torch tensors", "torch", configured(torch_tensors), ("torch",)),
    Way("dlaunch, torch tensors, lock held", "torch", configured(torch_tensors, hold_gil=True), ("torch",)),
    Way("dlaunch, torch tensors, exchange API", "torch", torch_by_exchange, ("torch",)),
    Way("tvm-ffi, torch tensors", "torch", tvm(torch_tensors), ("torch", "tvm_ffi")),
    Way("cuda.core, torch data_ptr()", "torch", cuda_core_torch, ("torch", "cuda.core")),
    Way("Triton, torch tensors", "torch", triton_jit, ("torch", "triton")),
    Way("Triton, torch tensors, compiled kernel", "torch", triton_compiled, ("torch", "triton")),
    Way("numba-cuda, torch tensors", "torch", numba_cuda(torch_tensors), ("torch", "numba_cuda")),
    Way("dlaunch, CuPy arrays", "CuPy", configured(cupy_arrays), ("cupy",)),
    Way("dlaunch, CuPy arrays, lock held", "CuPy", configured(cupy_arrays, hold_gil=True), ("cupy",)),
    Way("CuPy RawKernel, CuPy arrays", "CuPy", cupy_raw, ("cupy",)),
    Way("numba-cuda, CuPy arrays", "CuPy", numba_cuda(cupy_arrays), ("cupy", "numba_cuda")),
]
