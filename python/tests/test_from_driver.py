"""Kernels that others got from the driver: which are taken, and what is none."""

from __future__ import annotations

import ctypes
import gc
import types
from pathlib import Path
from typing import Any

import libcuda
import numpy as np
import pytest
from conftest import imported
from process import output_of

import dlaunch

PROTOTYPE = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"


def check(kernel: dlaunch.Kernel) -> None:
    y = np.ones(4, "f4")
    kernel[1, 4](2.0, np.arange(4, dtype="f4"), y)
    np.testing.assert_array_equal(y, [1, 3, 5, 7])


def test_our_own_kernel_comes_back_with_its_library(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        first = library[PROTOTYPE]
    address = first.driver_handle
    with dlaunch.Kernel.from_driver(address, PROTOTYPE) as again:
        first.close()
        assert (again.name, again.prototype, again.driver_handle) == ("saxpy", PROTOTYPE, address)
        check(again)
        with dlaunch.Kernel.from_driver(again) as plain:  # an object that has it
            assert plain.name == "saxpy" and plain.prototype is None and repr(plain) == "<dlaunch.Kernel saxpy>"
            assert [p.size for p in plain.parameters] == [4, 8, 8, 4]
        with dlaunch.Kernel.from_driver(again, PROTOTYPE.removeprefix("saxpy")) as unnamed:
            assert unnamed.name == "saxpy"
            check(unnamed)


def test_an_unloaded_kernel_is_refused(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel:
        address = kernel.driver_handle
    with pytest.raises(dlaunch.HandleError, match="unloaded by dlaunch|neither"):
        dlaunch.Kernel.from_driver(address)
    with pytest.raises(dlaunch.HandleError, match="closed"):
        dlaunch.Kernel.from_driver(kernel)


def test_prototypes_that_do_not_fit(saxpy: dlaunch.Kernel) -> None:
    for text in ("saxpy", "daxpy(a: f32)", "(a: f32)", "(a: f64, x: f32[n], y: f32[n], n: i32)", "(a:"):
        with pytest.raises(dlaunch.PrototypeError):
            dlaunch.Kernel.from_driver(saxpy, text)
    for bad in (1, b"()", "(a: f32)\0"):
        with pytest.raises(dlaunch.ArgumentError):
            dlaunch.Kernel.from_driver(saxpy, bad)  # type: ignore[arg-type]
    for none in (np.zeros(2), np.array("x"), 1.5, "1", None, [saxpy.driver_handle]):
        with pytest.raises(dlaunch.ArgumentError, match="the address of a CUkernel or CUfunction"):
            dlaunch.Kernel.from_driver(none)


NO_ADDRESS = [1.0, 0.0, True, None, "0x1000", bytes(8), -8, 1 << 64, np.float64(8), np.bool_(True), 1j, [8], object(),
              types.SimpleNamespace(handle=None)]  # fmt: skip


@pytest.mark.parametrize("handle", NO_ADDRESS, ids=repr)
def test_what_is_no_address(handle: Any) -> None:
    with pytest.raises(dlaunch.ArgumentError, match="CUkernel or CUfunction"):
        dlaunch.Kernel.from_driver(handle)


def test_addresses_of_anything_else() -> None:
    zeros = ctypes.create_string_buffer(4096)
    at = ctypes.addressof(zeros)
    with dlaunch.Stream() as stream:
        numbers = [0, 1, 2, 3, 4, 8, 42, 0x1234, at, at + 1, id(zeros), 2**47, 2**63, 2**64 - 8, 2**64 - 1]
        for address in (*numbers, stream.native, stream.handle, ctypes.c_void_p(at), np.uint64(at), np.int32(7)):
            with pytest.raises(dlaunch.HandleError, match="CUkernel"):
                dlaunch.Kernel.from_driver(address)


def test_where_objects_hold_it(saxpy: dlaunch.Kernel) -> None:
    address = saxpy.driver_handle
    hold = types.SimpleNamespace

    class Convertible:  # as cuda.bindings' CUkernel
        def __int__(self) -> int:
            return address

    for handle in (
        address,
        np.uint64(address),
        Convertible(),
        hold(handle=Convertible()),  # cuda.core
        hold(_handle=address),
        hold(function=address, kernel=b"the cubin"),  # Triton
        hold(kernel=hold(ptr=address)),  # CuPy's RawKernel
        hold(handle=ctypes.c_void_p(address)),
        saxpy,
    ):
        with dlaunch.Kernel.from_driver(handle) as kernel:
            assert kernel.driver_handle == address


def test_the_object_is_kept(saxpy: dlaunch.Kernel) -> None:
    class Holder:
        handle = saxpy.driver_handle
        gone = False

        def __del__(self) -> None:
            Holder.gone = True

    kernel = dlaunch.Kernel.from_driver(Holder(), PROTOTYPE)
    launch = kernel[1, 4]
    gc.collect()
    assert not Holder.gone
    y = np.ones(4, "f4")
    launch(1.0, y.copy(), y)
    kernel.close()
    del kernel, launch
    gc.collect()
    assert Holder.gone


# ---- on a GPU: handles that dlaunch did not make


@pytest.mark.gpu
def test_foreign_kernels_and_functions(kernels: Path) -> None:
    library = libcuda.load((kernels / "saxpy.ptx").read_bytes())
    kernel = libcuda.kernel(library, "saxpy")
    for address in (kernel, libcuda.function(kernel)):
        with dlaunch.Kernel.from_driver(address, PROTOTYPE) as ours:
            assert ours.name == "saxpy" and ours.driver_handle == address
            check(ours)
            ours.load()
            assert ours.attributes.registers == libcuda.kernel_attribute(4, kernel)
            ours.attributes.max_dynamic_shared_bytes = 70_000
            assert libcuda.kernel_attribute(8, kernel) == 70_000
            assert ours.occupancy.max_active_blocks(128) > 0
        with dlaunch.Kernel.from_driver(address) as plain:
            assert [(p.offset, p.size) for p in plain.parameters] == [(0, 4), (8, 8), (16, 8), (24, 4)]
    libcuda.unload(library)


@pytest.mark.gpu
def test_the_drivers_other_handles(kernels: Path) -> None:
    """Each in a process of its own: what is wrong here does not raise, it ends the process."""
    for other in ("library", "libcuda.kernel(library, 'saxpy') + 8", "stream", "context", "module"):
        output_of(
            f"""
            import ctypes, sys
            sys.path.insert(0, {str(Path(__file__).parent)!r})
            import dlaunch, libcuda
            library = libcuda.load(open({str(kernels / "saxpy.ptx")!r}, "rb").read())
            stream = libcuda.number("cuStreamCreate", 0, kind=ctypes.c_void_p)
            context = libcuda.number("cuCtxGetCurrent", kind=ctypes.c_void_p)
            module = libcuda.number("cuLibraryGetModule", libcuda.pointer(library), kind=ctypes.c_void_p)
            try:
                dlaunch.Kernel.from_driver({other})
            except dlaunch.HandleError:
                pass
            else:
                raise SystemExit("taken")
            """
        )


@pytest.mark.gpu
def test_a_function_of_our_own_kernel(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.Kernel.from_driver(libcuda.function(saxpy.driver_handle), PROTOTYPE) as kernel:
        check(kernel)


cuda_core: Any = imported("cuda.core")
cupy: Any = imported("cupy")

if cuda_core is not None and hasattr(cuda_core, "ObjectCode"):

    @pytest.mark.gpu
    def test_cuda_core(kernels: Path) -> None:
        cuda_core.Device(0).set_current()
        theirs = cuda_core.ObjectCode.from_ptx((kernels / "saxpy.ptx").read_bytes()).get_kernel("saxpy")
        with dlaunch.Kernel.from_driver(theirs, PROTOTYPE) as kernel:
            check(kernel)


if cupy is not None:

    @pytest.mark.gpu
    def test_cupy() -> None:
        theirs = cupy.RawKernel(r'extern "C" __global__ void f(float *x, int n) { x[threadIdx.x] += n; }', "f")
        with dlaunch.Kernel.from_driver(theirs, "f(x: inout f32[m], n: i32)") as kernel:
            x = np.zeros(4, "f4")
            kernel[1, 4](x, 3)
            np.testing.assert_array_equal(x, np.full(4, 3, "f4"))
