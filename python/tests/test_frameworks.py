"""Tensors of torch, CuPy and JAX where they are installed: streams, layouts, and which way they are read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from conftest import imported
from process import output_of
from test_fast_path import left

import dlaunch

torch: Any = imported("torch")
cupy: Any = imported("cupy")
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

    def test_torch_lazy_conjugates_are_refused() -> None:
        z = torch.tensor([1 + 2j]).conj()
        with pytest.raises(dlaunch.TensorError, match=r"resolve_conj\(\)"):
            dlaunch.to_device(z)


if torch_on_gpu:

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

    def test_cupy_current_stream(saxpy: dlaunch.Kernel) -> None:
        stream = cupy.cuda.Stream(non_blocking=True)
        x, y = cupy.zeros(1 << 20, "f4"), cupy.zeros(1 << 20, "f4")
        cupy.cuda.Device().synchronize()
        with stream:
            for _ in range(20):
                x.sort()
            x.fill(3)
            saxpy[1 << 12, 256](1.0, x, y)
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
