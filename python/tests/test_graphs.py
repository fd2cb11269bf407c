"""What is captured into a CUDA graph, and closed before the graph runs. The graphs are the driver's own, or torch's."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import imported
from test_fast_path import left

import dlaunch

pytestmark = pytest.mark.gpu

torch: Any = imported("torch")
torch_on_gpu = torch is not None and os.environ.get("DLAUNCH_DRIVER") != "sim" and torch.cuda.is_available()

SAXPY = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"
N = 1 << 12
GRID, BLOCK = N // 256, 256
X = np.arange(N, dtype=np.float32)
GLOBAL = 0  # the strictest capture mode


class Driver:
    """libcuda's own functions, with the primary context current."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.former, context = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(self.former))
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *arguments: Any) -> None:
        assert getattr(self.library, name)(*arguments) == 0, name

    def begin(self, stream: dlaunch.Stream) -> None:
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream.native), GLOBAL)

    def end(self, stream: dlaunch.Stream) -> ctypes.c_void_p:
        """End a capture, and give what runs it; the graph itself is destroyed."""
        graph, run = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamEndCapture", ctypes.c_void_p(stream.native), ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(run), graph, ctypes.c_uint64(0))
        self.call("cuGraphDestroy", graph)
        return run

    def replay(self, run: ctypes.c_void_p, stream: dlaunch.Stream) -> None:
        self.call("cuGraphLaunch", run, ctypes.c_void_p(stream.native))
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream.native))

    def read(self, address: int) -> Any:
        """Read an array that dlaunch has closed."""
        data = np.empty(N, np.float32)
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), ctypes.c_uint64(address), data.nbytes)
        return data


@pytest.fixture
def driver() -> Iterator[Driver]:
    dlaunch.driver_info()
    found = Driver()
    yield found
    found.call("cuCtxSetCurrent", found.former)
    wait_for_graphs()
    assert dlaunch.report()["pending"] == 0


def wait_for_graphs() -> None:
    """Wait until the driver has said, on its own thread, that the graphs are gone."""
    for _ in range(1000):
        dlaunch.drain()
        if all(handle["kind"] != "captured launch" for handle in dlaunch.report()["handles"]):
            return
        time.sleep(0.01)
    pytest.fail(f"graphs still hold launches: {dlaunch.report()}")


def garbage() -> list[dlaunch.DeviceArray]:
    """Arrays that would be where freed ones were."""
    return [dlaunch.full(N, 99, "f32") for _ in range(8)]


def capture_and_close(
    kernels: Path, driver: Driver, stream: dlaunch.Stream, sliced: bool, hold_gil: bool
) -> tuple[ctypes.c_void_p, int]:
    """Launch once, and twice into a graph; close all. Gives what runs the graph, and where y was."""
    library = dlaunch.load(kernels / "saxpy.ptx")
    kernel = library.kernel(SAXPY)
    x, y = dlaunch.to_device(X), dlaunch.full(N, 1, "f32")
    launch = kernel.configure(GRID, BLOCK, stream=stream, hold_gil=hold_gil)
    arguments = (2.0, x[:], y[:]) if sliced else (2.0, x, y)
    launch(*arguments)
    stream.synchronize()
    address = y.ptr
    driver.begin(stream)
    assert left(lambda: [launch(*arguments) for _ in range(2)]) == {"graph capture": 2}
    for owned in (x, y, kernel, library):
        owned.close()
    return driver.end(stream), address


@pytest.mark.parametrize("sliced", [False, True])
@pytest.mark.parametrize("hold_gil", [False, True])
def test_replay_after_everything_is_closed(kernels: Path, driver: Driver, sliced: bool, hold_gil: bool) -> None:
    stream = dlaunch.Stream(non_blocking=True)
    run, address = capture_and_close(kernels, driver, stream, sliced, hold_gil)
    gc.collect()  # slices hold their arrays
    assert dlaunch.report()["pending"] == 2
    others = garbage()
    dlaunch.synchronize()
    dlaunch.drain()
    for times in (1, 2):
        driver.replay(run, stream)
        np.testing.assert_array_equal(driver.read(address), 1 + (1 + 2 * times) * 2 * X)
        dlaunch.drain()
    for other in others:
        np.testing.assert_array_equal(other.copy_to_host(), np.full(N, 99, "f4"))
        other.close()
    driver.call("cuGraphExecDestroy", run)
    stream.close()
    wait_for_graphs()
    report = dlaunch.report()
    assert (report["handles"], report["pending"], report["device_bytes"]) == ([], 0, 0)


def test_what_is_open_stays_open(saxpy: dlaunch.Kernel, driver: Driver) -> None:
    with dlaunch.Stream() as stream, dlaunch.to_device(X) as x, dlaunch.zeros(N, "f32") as y:
        driver.begin(stream)
        saxpy[GRID, BLOCK, stream](1.0, x, y)
        run = driver.end(stream)
        assert [h["kind"] for h in dlaunch.report()["handles"] if not h["open"]].count("captured launch") == 1
        driver.replay(run, stream)
        driver.call("cuGraphExecDestroy", run)
        wait_for_graphs()
        assert left(lambda: saxpy[GRID, BLOCK, stream](1.0, x, y)) == {}
        np.testing.assert_array_equal(y.copy_to_host(stream), 2 * X)


def test_scratch_memory_belongs_to_the_graph(kernels: Path, driver: Driver) -> None:
    # The kernel writes to scratch memory: four bytes a thread.
    text = "saxpy(a: f32, x: inout f32[n], y: ptr = scratch(1024, 16), n: i32 = n)"
    with dlaunch.load(kernels / "saxpy.ptx") as library, library.kernel(text) as kernel, dlaunch.Stream() as stream:
        x = dlaunch.to_device(X)
        address = x.ptr
        driver.begin(stream)
        kernel[GRID, BLOCK, stream](0.0, x)
        x.close()
        run = driver.end(stream)
        others = garbage()
        for _ in range(2):
            driver.replay(run, stream)
        np.testing.assert_array_equal(driver.read(address), X)
        for other in others:  # which the kernel, writing to scratch memory, must not have met
            np.testing.assert_array_equal(other.copy_to_host(), np.full(N, 99, "f4"))
            other.close()
        driver.call("cuGraphExecDestroy", run)


def test_host_arrays_are_refused_and_the_capture_goes_on(saxpy: dlaunch.Kernel, driver: Driver) -> None:
    with dlaunch.Stream() as stream, dlaunch.to_device(X) as x, dlaunch.zeros(N, "f32") as y:
        driver.begin(stream)
        with pytest.raises(dlaunch.TensorError, match=r"argument 2 \(y\) is a host tensor.*captured"):
            saxpy[GRID, BLOCK, stream](1.0, x, np.zeros(N, "f4"))
        saxpy[GRID, BLOCK, stream](1.0, x, y)
        run = driver.end(stream)
        driver.replay(run, stream)
        np.testing.assert_array_equal(y.copy_to_host(), X)
        driver.call("cuGraphExecDestroy", run)


if torch_on_gpu:

    def test_torch_graphs_hold_device_arrays(kernels: Path, driver: Driver) -> None:
        library = dlaunch.load(kernels / "saxpy.ptx")
        kernel, y = library.kernel(SAXPY), dlaunch.full(N, 1, "f32")
        x, address = torch.arange(N, dtype=torch.float32, device="cuda"), y.ptr
        kernel[GRID, BLOCK](0.0, x, y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            assert left(lambda: kernel[GRID, BLOCK](2.0, x, y)) == {"graph capture": 1}
            for owned in (y, kernel, library):
                owned.close()
        others = garbage()
        for times in (1, 2):
            graph.replay()
            torch.cuda.synchronize()
            np.testing.assert_array_equal(driver.read(address), 1 + times * 2 * X)
        for other in others:
            np.testing.assert_array_equal(other.copy_to_host(), np.full(N, 99, "f4"))
            other.close()
        graph.reset()
        del graph
        wait_for_graphs()
        assert dlaunch.report()["device_bytes"] == 0
