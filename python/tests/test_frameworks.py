"""Tensors of torch, CuPy, JAX and TVM FFI where they are installed: streams, layouts, how they are read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from conftest import imported
from echo import PTX, echo
from process import output_of
from test_fast_path import left

import dlaunch
from dlaunch import _recipes

torch: Any = imported("torch")
cupy: Any = imported("cupy")
tvm_ffi: Any = imported("tvm_ffi")
on_gpu = os.environ.get("DLAUNCH_DRIVER") != "sim"
with_torch = torch is not None
torch_on_gpu = with_torch and on_gpu and torch.cuda.is_available()
cupy_on_gpu = cupy is not None and on_gpu and cupy.is_available()

if with_torch:

    def test_torch_host_tensors(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.arange(8, dtype=torch.float32), torch.ones(8)
        for _ in range(2):
            saxpy[1, 8](2.0, x, y)
        np.testing.assert_array_equal(y.numpy(), 4 * np.arange(8) + 1)
        with pytest.raises(dlaunch.TensorError, match=r"argument 1 \(x\): .*f64 given"):
            saxpy[1, 8](2.0, x.double(), y)
        with pytest.raises(dlaunch.TensorError, match="argument 1"):
            saxpy[1, 4](2.0, torch.ones(8)[::2], torch.ones(4))

    def test_torch_memory_is_copied_to_the_device() -> None:
        source = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        for tensor in (source, source.T, source[:, 1:3], source.to(torch.float16), source.bool()):
            with dlaunch.to_device(tensor) as there:
                np.testing.assert_array_equal(there.copy_to_host(), tensor.numpy())
        with dlaunch.to_device(source.bfloat16()) as there:
            assert there.copy_to_host().tobytes() == source.bfloat16().view(torch.int16).numpy().tobytes()

    @pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
    def test_torch_scalars(dtype: str) -> None:
        value = torch.tensor(1, dtype=getattr(torch, dtype))
        scalar = {"float32": "f32", "bfloat16": "bf16", "int8": "i8", "bool": "bool", "complex64": "c64"}[dtype]
        with dlaunch.load(PTX) as library:
            got = echo(library, 8 * value.itemsize, scalar, value)
        assert got == value.reshape(1).view(torch.uint8).numpy().tobytes()

    def test_torch_lazy_conjugates_are_refused() -> None:
        z = torch.tensor([1 + 2j]).conj()
        with pytest.raises(dlaunch.TensorError, match=r"resolve_conj\(\)"):
            dlaunch.to_device(z)
        with pytest.raises(dlaunch.TensorError, match=r"resolve_neg\(\)"):
            dlaunch.view(z.imag)


if torch_on_gpu:

    def test_torch_lazy_bits_leave_the_builtin(kernels: Any) -> None:
        text = "strided_copy(src: any[n] @strided, s: i64 = stride(src, 0), dst: inout any[n] @strided, " \
            "d: i64 = stride(dst, 0), n: i32 = n)"  # fmt: skip
        z = torch.arange(8, dtype=torch.float32, device="cuda").to(torch.complex64)
        conj, y = z.conj(), torch.zeros(8, device="cuda")
        with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(text) as copy:
            launch = copy[1, 32]
            launch(z.imag, y)
            assert left(lambda: launch(z.imag, y)) == {}
            for negative in (conj.imag, conj.imag[::2], conj.imag[3:4], conj.imag[3], conj.reshape(2, 4).imag.T[0]):
                assert negative.is_neg()
                with pytest.raises(dlaunch.TensorError, match=r"argument 0 .*resolve_neg\(\)"):
                    launch(negative, y)
            with pytest.raises(dlaunch.TensorError, match=r"argument 0 .*resolve_conj\(\)"):
                launch(conj, y)

    def test_torch_is_fast(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.arange(8, dtype=torch.float32, device="cuda"), torch.ones(8, device="cuda")
        launch = saxpy[1, 8]
        launch(2.0, x, y)
        assert left(lambda: [launch(2.0, x, y) for _ in range(10)]) == {}
        np.testing.assert_array_equal(y.cpu().numpy(), 22 * np.arange(8) + 1)

    def test_torch_parameters_and_views(saxpy: dlaunch.Kernel) -> None:
        x = torch.nn.Parameter(torch.ones(8, device="cuda"))
        y = torch.zeros(3, 8, device="cuda")
        for _ in range(2):
            saxpy[1, 8](1.0, x, y[1])
        np.testing.assert_array_equal(y.cpu().numpy(), [[0] * 8, [2] * 8, [0] * 8])

    def test_torch_current_stream(saxpy: dlaunch.Kernel) -> None:
        stream = torch.cuda.Stream()
        x, y = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
        torch.cuda.synchronize()
        for fast in (True, False):
            with torch.cuda.stream(stream):
                torch.cuda._sleep(100_000_000)  # what comes on another stream would be too early
                x.fill_(3)
                saxpy[1 << 12, 256](1.0 if fast else np.longdouble(1).astype("f8"), x, y)
                result = y.clone()
            stream.synchronize()
            assert bool((result == 3).all())
            x.zero_(), y.zero_()
            torch.cuda.synchronize()
        saxpy[1 << 12, 256, stream](1.0, x, y)
        stream.synchronize()

    def test_bound_torch_tensors_go_with_the_current_stream(saxpy: dlaunch.Kernel) -> None:
        side = torch.cuda.Stream()
        x, y = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
        with saxpy.bind(1.0, x, y) as bound:
            for waits in (False, True):  # the builtin, and ctypes
                launch = bound.configure(1 << 12, 256, sync=waits)
                x.zero_()
                y.zero_()
                launch()
                torch.cuda.synchronize()
                with torch.cuda.stream(side):
                    torch.cuda._sleep(50_000_000)
                    x.fill_(3)
                    assert waits or left(launch) == {}
                    if waits:
                        launch()
                    result = y.clone()
                side.synchronize()
                assert bool((result == 3).all())

    def test_torch_in_a_graph(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.ones(32, device="cuda"), torch.zeros(32, device="cuda")
        saxpy[1, 32](1.0, x, y)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            saxpy[1, 32](1.0, x, y)
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        assert bool((y == 4).all())

    def test_torch_sees_device_arrays() -> None:
        with dlaunch.full((2, 3), 7, "f32") as array:
            shared = torch.from_dlpack(array)
            assert shared.data_ptr() == array.ptr and shared.is_cuda
            shared += 1
            torch.cuda.synchronize()
            np.testing.assert_array_equal(array.copy_to_host(), np.full((2, 3), 8, "f4"))
            with dlaunch.from_dlpack(shared) as view:
                assert view.ptr == array.ptr
        assert bool((shared == 8).all())
        del shared

    def test_host_and_device_together(saxpy: dlaunch.Kernel) -> None:
        x, y = np.arange(8, dtype="f4"), torch.ones(8, device="cuda")
        saxpy[1, 8](2.0, x, y)
        np.testing.assert_array_equal(y.cpu().numpy(), 2 * x + 1)


if cupy_on_gpu:
    STRIDED = (
        "strided_copy(src: any[n] @strided, s: i64 = stride(src, 0), dst: inout any[n] @strided, "
        "d: i64 = stride(dst, 0), n: i32 = n)"
    )

    def test_cupy_is_fast(saxpy: dlaunch.Kernel) -> None:
        x, y = cupy.arange(8, dtype="f4"), cupy.ones(8, "f4")
        launch = saxpy[1, 8]
        launch(2.0, x, y)
        assert left(lambda: [launch(2.0, x, y) for _ in range(10)]) == {}
        np.testing.assert_array_equal(cupy.asnumpy(y), 22 * np.arange(8) + 1)

    def test_cupy_is_found_by_trying() -> None:
        found = _recipes.attributes_of(cupy.ndarray)
        assert found is not None and found[0] == 2 and found[4] is cupy.cuda.MemoryPointer
        assert min(found[5:]) > 0, found  # else it is asked by name, which is slower

    @pytest.mark.parametrize("named", [False, True])
    def test_cupy_layouts(kernels: Any, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        found = _recipes.attributes_of(cupy.ndarray)
        assert found is not None
        if named:
            monkeypatch.setitem(_recipes._found, cupy.ndarray, (*found[:4], None, -1, -1, -1, -1, -1, 0))
        source = cupy.arange(240, dtype="f4").reshape(4, 5, 12)
        pieces = [
            source[1, 2],
            source[:, 1, 3],
            source[2, ::-1, 0],
            source[0, 0, ::5],
            source[1, 1, 1:2],
            source[3, 0, :0],
        ]
        with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(STRIDED) as copy:
            launch = copy[1, 32]
            launch(source[0, 0], cupy.zeros(12, "f4"))
            for src in pieces:
                for dst in (cupy.zeros(src.size, "f4"), cupy.zeros((src.size, 3), "f4")[:, 1]):
                    assert left(lambda src=src, dst=dst: launch(src, dst)) == {}
                    np.testing.assert_array_equal(cupy.asnumpy(dst), cupy.asnumpy(src))
                    assert dlaunch.view(src).ptr == src.data.ptr or src.size == 0
            for rank in (0, 2, 9):
                with pytest.raises(dlaunch.TensorError, match=rf"argument 0 .*{rank}"):
                    launch(cupy.zeros((2,) * rank, "f4"), cupy.zeros(2, "f4"))

    def test_cupy_arrays_that_change(saxpy: dlaunch.Kernel) -> None:
        x, y = cupy.ones(8, "f4"), cupy.zeros(8, "f4")
        launch = saxpy[1, 8]
        launch(1.0, x, y)
        x.shape = (2, 4)
        with pytest.raises(dlaunch.TensorError, match="argument 1"):
            launch(1.0, x, y)
        x.shape = (8,)
        assert left(lambda: launch(1.0, x, y)) == {}
        np.testing.assert_array_equal(cupy.asnumpy(y), 2 * np.ones(8))

    def test_cupy_subclasses(saxpy: dlaunch.Kernel) -> None:
        class Derived(cupy.ndarray):
            pass

        x, y = cupy.ones(8, "f4").view(Derived), cupy.zeros(8, "f4")
        launch = saxpy[1, 8]
        launch(1.0, x, y)
        assert left(lambda: launch(1.0, x, y)) == {"another type": 1}
        np.testing.assert_array_equal(cupy.asnumpy(y), 2 * np.ones(8))

    def test_cupy_current_stream(saxpy: dlaunch.Kernel) -> None:
        stream = cupy.cuda.Stream(non_blocking=True)
        x, y = cupy.zeros(1 << 20, "f4"), cupy.zeros(1 << 20, "f4")
        cupy.cuda.Device().synchronize()
        with stream:
            saxpy[1 << 12, 256](0.0, x, y)
            for _ in range(20):
                x.sort()
            x.fill(3)
            assert left(lambda: saxpy[1 << 12, 256](1.0, x, y)) == {}
            result = y.copy()
        stream.synchronize()
        assert bool((result == 3).all())

    def test_bound_cupy_arrays_go_with_the_current_stream(saxpy: dlaunch.Kernel) -> None:
        stream = cupy.cuda.Stream(non_blocking=True)
        x, y = cupy.zeros(1 << 20, "f4"), cupy.zeros(1 << 20, "f4")
        cupy.cuda.Device().synchronize()
        with saxpy.bind(1.0, x, y) as bound:
            for waits in (False, True):  # the builtin, and ctypes
                launch = bound.configure(1 << 12, 256, sync=waits)
                y.fill(0)
                x.fill(0)
                launch()
                cupy.cuda.Device().synchronize()
                with stream:
                    for _ in range(20):
                        x.sort()
                    x.fill(3)
                    assert waits or left(launch) == {}
                    if waits:
                        launch()
                    result = y.copy()
                stream.synchronize()
                assert bool((result == 3).all())

    def test_cupy_dates(kernels: Any) -> None:
        class Dates:
            """What DLPack cannot say, and the CUDA Array Interface can."""

            def __init__(self, inner: Any) -> None:
                self.inner = inner
                self.__cuda_array_interface__ = {**inner.__cuda_array_interface__, "typestr": "<M8[s]"}

            def __dlpack__(self, **keywords: Any) -> Any:
                raise BufferError("no dates")

            def __dlpack_device__(self) -> tuple[int, int]:
                return (2, 0)

        with dlaunch.from_dlpack(Dates(cupy.arange(4, dtype="i8"))) as view:
            assert view.dtype == np.dtype("i8")
            np.testing.assert_array_equal(view.copy_to_host(), np.arange(4))


if imported("jax") is not None and on_gpu:

    def test_jax(kernels: Any) -> None:
        out = output_of(
            f"""
            import jax, jax.numpy as jnp, numpy as np, dlaunch
            library = dlaunch.load({str(kernels / "saxpy.ptx")!r})
            saxpy = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
            x = jnp.arange(64, dtype="float32") * 2
            y = np.ones(64, "f4")
            for _ in range(2):
                saxpy[2, 32](1.0, x, y)
            print((y == 4 * np.arange(64) + 1).all())
            """,
            XLA_PYTHON_CLIENT_PREALLOCATE="false",
        )
        assert out.endswith("True\n")


if tvm_ffi is not None:

    def test_tvm_ffi(saxpy: dlaunch.Kernel, device_array: Any) -> None:
        put, get = device_array
        x, y = np.arange(8, dtype="f4"), np.ones(8, "f4")
        held = put(y)
        for _ in range(2):
            saxpy[1, 8](2.0, tvm_ffi.from_dlpack(put(x)), tvm_ffi.from_dlpack(held))
        dlaunch.synchronize()
        np.testing.assert_array_equal(get(held), 4 * x + 1)
        saxpy[1, 8](2.0, tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(y))  # on the host
        np.testing.assert_array_equal(y, 2 * x + 1)
        with pytest.raises(dlaunch.TensorError, match=r"argument 2 \(y\): .*f64 given"):
            saxpy[1, 8](2.0, x, tvm_ffi.from_dlpack(y.astype("f8")))
