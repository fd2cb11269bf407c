"""Batches: many launches in one call, and CUDA graphs of them."""

from __future__ import annotations

import ctypes
import functools
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import imported
from exchange import ByCapsule
from process import output_of
from test_fast_path import left
from test_graphs import wait_for_graphs

import dlaunch

torch: Any = imported("torch")
torch_on_gpu = torch is not None and os.environ.get("DLAUNCH_DRIVER") != "sim" and torch.cuda.is_available()

N = 1 << 12
GRID, BLOCK = N // 256, 256
X = np.arange(N, dtype=np.float32)
ONES = np.ones(N, np.float32)


@pytest.fixture
def arrays() -> Iterator[tuple[dlaunch.DeviceArray, dlaunch.DeviceArray]]:
    with dlaunch.to_device(X) as x, dlaunch.full(N, 1, "f32") as y:
        yield x, y


def follow(x: Any, y: Any) -> tuple[Any, Any]:
    """What there_and_back does, with small numbers."""
    y = y + 2 * x
    return x + np.float32(0.5) * y, y


def there_and_back(saxpy: dlaunch.Kernel, x: Any, y: Any) -> dlaunch.Batch:
    launch = saxpy[GRID, BLOCK]
    return dlaunch.batch([(launch, 2.0, x, y), (launch, 0.5, y, x)])


def test_launches_in_order(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    batch, expected = there_and_back(saxpy, *arrays), (X, ONES)
    assert len(batch) == 2 and repr(batch) == "<dlaunch.Batch of 2 launches>"
    for _ in range(3):
        batch()
        expected = follow(*expected)
    for array, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(array.copy_to_host(), wanted)


@pytest.mark.parametrize("none", [None, 1, print, bytearray(1), memoryview(bytearray(1)), [], np.zeros(2)], ids=repr)
def test_what_does_not_launch(saxpy: dlaunch.Kernel, none: Any) -> None:
    for launch in (none, saxpy):
        with pytest.raises(dlaunch.ArgumentError, match=r"what kernel\[grid, block\] or"):
            dlaunch.batch().add(launch)


def test_adding_after_a_call(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    batch = dlaunch.batch()
    batch()
    batch.add(saxpy[GRID, BLOCK], 1.0, x, y)
    batch()
    batch.add(saxpy.configure(GRID, BLOCK), 10.0, x, y)
    batch()
    np.testing.assert_array_equal(y.copy_to_host(), 1 + 12 * X)


def test_any_device_arrays(saxpy: dlaunch.Kernel, device_array: Any) -> None:
    put, get = device_array
    x, y = put(X), put(ONES)
    batch = there_and_back(saxpy, x, y)
    batch()
    for array, wanted in zip((x, y), follow(X, ONES), strict=True):
        np.testing.assert_array_equal(get(array), wanted)


def test_a_call_needs_no_python(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    batch = there_and_back(saxpy, *arrays)
    batch()
    fast = dlaunch.report()["launches"]["fast"]
    assert left(batch) == {}
    assert dlaunch.report()["launches"]["fast"] - fast == 2


def test_without_the_builtin(kernels: Path) -> None:
    code = f"""
        import dlaunch, numpy as np
        library = dlaunch.load({str(kernels / "saxpy.ptx")!r})
        kernel = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
        with dlaunch.full(8, 3, "f32") as x, dlaunch.zeros(8, "f32") as y:
            batch = dlaunch.batch([(kernel[1, 8], 1.0, x, y), (kernel[1, 8], 1.0, x, y)])
            batch()
            x.close()
            try:
                batch()
            except dlaunch.HandleError as error:
                print(y.copy_to_host().tolist(), 'call 0: kernel "saxpy", argument 1 (x): array handle' in str(error))
    """
    assert output_of(code, DLAUNCH_FASTCALL="0") == "[6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0] True\n"


# ---- what is fixed, and what is kept


def test_slices_are_kept(saxpy: dlaunch.Kernel) -> None:
    x, y = dlaunch.to_device(X), dlaunch.full(2 * N, 1, "f32")
    half = y[N:]
    batch = dlaunch.batch([(saxpy[GRID, BLOCK], 2.0, x[:], half)])
    result = y[:]
    for array in (x, y):
        array.close()
    del half
    gc.collect()
    others = [dlaunch.full(N, 99, "f32") for _ in range(4)]
    batch()
    np.testing.assert_array_equal(result.copy_to_host(), np.concatenate([ONES, 1 + 2 * X]))
    for other in others:
        np.testing.assert_array_equal(other.copy_to_host(), 99 * ONES)
        other.close()
    result.close()


def test_numbers_are_those_of_adding(kernels: Path) -> None:
    text = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32)"
    with dlaunch.load(kernels / "saxpy.ptx") as library, library.kernel(text) as kernel, dlaunch.zeros(8, "f32") as y:
        factor, ones = np.array(2, np.float32), dlaunch.full(8, 1, "f32")
        batch = dlaunch.batch([(kernel[1, 8], factor, ones, y, 8), (kernel[1, 8], b"\0\0\x80?", ones, y, np.int64(4))])
        factor[...] = 100
        batch()
        np.testing.assert_array_equal(y.copy_to_host(), [3, 3, 3, 3, 2, 2, 2, 2])
        ones.close()


def test_bound_kernels(saxpy: dlaunch.Kernel) -> None:
    x, y = dlaunch.to_device(X), dlaunch.full(N, 1, "f32")
    with saxpy.bind(x=x) as bound:
        batch = dlaunch.batch([(bound[GRID, BLOCK], 2.0, y)])
        graph = batch.graph()
        x.close()
        batch()
    with pytest.raises(dlaunch.HandleError, match="call 0: kernel handle"):
        batch()
    graph()
    np.testing.assert_array_equal(y.copy_to_host(), 1 + 4 * X)
    y.close(), graph.close()
    wait_for_graphs()


class Owner:
    """Device memory with DLPack's capsule, or only the exchange API, that says when it is let go."""

    def __init__(self, array: dlaunch.DeviceArray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        self.keywords = keywords
        return self.array.__dlpack__(max_version=keywords["max_version"])

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [Owner, ByCapsule])
def test_foreign_memory_is_kept(saxpy: dlaunch.Kernel, kind: Any) -> None:
    x, y = dlaunch.to_device(X), dlaunch.full(N, 1, "f32")
    before = dlaunch.live_handles()
    batch = dlaunch.batch([(saxpy[GRID, BLOCK], 2.0, kind(x), kind(y))])
    assert dlaunch.live_handles() == before + 2
    batch()
    np.testing.assert_array_equal(y.copy_to_host(), 1 + 2 * X)
    del batch
    assert dlaunch.live_handles() == before
    dlaunch.synchronize()
    x.close(), y.close()
    dlaunch.drain()
    assert dlaunch.report()["device_bytes"] == 0


def test_foreign_objects_go_with_the_batch(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    foreign = ByCapsule(y)
    gone = weakref.ref(foreign)
    batch = dlaunch.batch([(saxpy[GRID, BLOCK], 2.0, x, foreign)])
    del foreign
    gc.collect()
    assert gone() is not None
    batch()
    del batch
    dlaunch.synchronize()
    assert gone() is None


# ---- streams


def test_streams(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    z = dlaunch.zeros(N, "f32")
    with dlaunch.Stream(non_blocking=True) as mine, dlaunch.Stream(non_blocking=True) as theirs:
        batch = dlaunch.batch([(saxpy[GRID, BLOCK], 1.0, x, y), (saxpy[GRID, BLOCK, mine], 1.0, x, z)])
        for stream in (None, theirs, theirs.native, mine):
            batch(stream)
            dlaunch.synchronize()
        np.testing.assert_array_equal(y.copy_to_host(), 1 + 4 * X)
        np.testing.assert_array_equal(z.copy_to_host(), 4 * X)
        theirs.close()
        with pytest.raises(dlaunch.HandleError, match="call 0: stream handle"):
            batch(theirs)
        mine.close()
        with pytest.raises(dlaunch.HandleError, match="call 1: stream handle"):
            batch()
        with pytest.raises(dlaunch.ArgumentError, match="stream is 'no'"):
            batch("no")
    dlaunch.synchronize()
    z.close()


# ---- what is refused


def test_what_cannot_be_added(kernels: Path, saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    batch = dlaunch.batch()
    launch = saxpy[GRID, BLOCK]
    for wrong in (saxpy, print, [], None, lambda *a: None):
        with pytest.raises(dlaunch.ArgumentError, match=r"what kernel\[grid, block\]"):
            batch.add(wrong, 1.0, x, y)  # type: ignore[arg-type]
    for item in (launch, (), 1):
        with pytest.raises(dlaunch.ArgumentError, match="a tuple of"):
            dlaunch.batch([item])  # type: ignore[list-item]
    with pytest.raises(dlaunch.ArgumentError, match="synchronize after the batch"):
        batch.add(saxpy.configure(GRID, BLOCK, sync=True), 1.0, x, y)
    for host in (X, dlaunch.In(X)):
        with pytest.raises(dlaunch.TensorError, match=r"argument 1 \(x\): ndarray is in host memory.*to_device"):
            batch.add(launch, 1.0, host, y)
    with pytest.raises(dlaunch.ArgumentError, match="argument 0"):
        batch.add(launch, [1.0], x, y)
    closed, view = dlaunch.zeros(N, "f32"), dlaunch.zeros(N, "f32")[:]
    closed.close(), view.close()
    for array in (closed, view):
        with pytest.raises(dlaunch.HandleError, match=r"argument 1 \(x\): .*closed"):
            batch.add(launch, 1.0, array, y)
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        other = library["saxpy"]
    gone = other[1, 1]
    other.close()
    with pytest.raises(dlaunch.HandleError, match='batch: kernel "saxpy" is closed'):
        batch.add(gone, 1.0, x, y, 1)
    assert len(batch) == 0
    batch()


class Copies(Owner):
    """Whose __dlpack__ gives a copy, and says so."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = super().__dlpack__(**keywords)
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, b"dltensor_versioned")
        ctypes.c_uint64.from_address(address + 24).value |= 2  # DLPACK_FLAG_BITMASK_IS_COPIED
        return capsule


def test_copies_are_refused(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    with pytest.raises(dlaunch.TensorError, match=r"argument 1 \(x\): Copies: its __dlpack__ gave a copy"):
        dlaunch.batch([(saxpy[GRID, BLOCK], 1.0, Copies(x), y)])


def test_the_first_failure_is_the_last_launch(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    z = dlaunch.zeros(N, "f32")
    launch = saxpy[GRID, BLOCK]
    batch = dlaunch.batch([(launch, 1.0, x, y), (launch, 1.0, z, y), (launch, 1.0, x, y)])
    z.close()
    with pytest.raises(dlaunch.HandleError, match=r'call 1: kernel "saxpy", argument 1 \(x\): .*closed') as caught:
        batch()
    assert caught.value.argument == 1
    np.testing.assert_array_equal(y.copy_to_host(), 1 + X)
    with pytest.raises(dlaunch.ArgumentError, match='call 1: kernel "saxpy" takes 3 arguments, 2 given'):
        dlaunch.batch([(launch, 1.0, x, y), (launch, 1.0, x)])()
    np.testing.assert_array_equal(y.copy_to_host(), 1 + 2 * X)


def test_a_closed_kernel(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    batch = there_and_back(saxpy, *arrays)
    saxpy.close()
    with pytest.raises(dlaunch.HandleError, match="call 0: kernel handle .*closed"):
        batch()


# ---- threads


def test_other_threads_run_meanwhile(saxpy: dlaunch.Kernel, arrays: Any, request: pytest.FixtureRequest) -> None:
    """With this interval a thread runs when another lets the lock go of itself, and not before."""
    request.addfinalizer(functools.partial(sys.setswitchinterval, sys.getswitchinterval()))
    sys.setswitchinterval(1000)
    x, y = arrays
    launch, counted, stop = saxpy[1, 1], [0], threading.Event()
    batch = dlaunch.batch((launch, 0.0, x, y) for _ in range(5000))

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    for _ in range(1000):  # a busy machine may not run it each time
        batch()
        if counted[0] != before:
            break
    after = counted[0]
    stop.set()
    thread.join()
    assert after > before
    dlaunch.synchronize()


def test_one_batch_in_many_threads(kernels: Path) -> None:
    threads, rounds = 4, 25
    prototype = "histogram(x: i32[n], n: i32 = n, bins: i32 = b, counts: inout i32[b])"  # which adds atomically
    with dlaunch.load(kernels / "histogram.ptx") as library, library.kernel(prototype) as kernel:
        x, counts = dlaunch.to_device(np.arange(N, dtype=np.int32) % 7), dlaunch.zeros(7, "i32")
        batch = dlaunch.batch([(kernel[2, 64], x, counts), (kernel[GRID, BLOCK], x, counts)])

        def work() -> None:
            with dlaunch.Stream() as stream:
                for _ in range(rounds):
                    batch(stream)

        running = [threading.Thread(target=work) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        dlaunch.synchronize()
        once = np.bincount(np.arange(N) % 7)
        np.testing.assert_array_equal(counts.copy_to_host(), 2 * threads * rounds * once)
        x.close(), counts.close()


# ---- graphs


def test_a_graph_replays(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    graph, expected = there_and_back(saxpy, x, y).graph(), (X, ONES)
    assert repr(graph) == "<dlaunch.Graph>"
    np.testing.assert_array_equal(y.copy_to_host(), ONES)
    saxpy.close()
    with graph, dlaunch.Stream(non_blocking=True) as stream:
        for where in (None, stream, stream.native):
            graph(where)
            dlaunch.synchronize()
            expected = follow(*expected)
        for array, wanted in zip((x, y), expected, strict=True):
            np.testing.assert_array_equal(array.copy_to_host(), wanted)
    assert graph.closed and repr(graph) == "<dlaunch.Graph, closed>"
    with pytest.raises(dlaunch.HandleError, match="graph handle .*closed"):
        graph.launch()
    graph.close()
    wait_for_graphs()


def test_a_graph_holds_what_it_needs(saxpy: dlaunch.Kernel) -> None:
    x, y, foreign = dlaunch.to_device(X), dlaunch.full(N, 1, "f32"), dlaunch.full(N, 3, "f32")
    launch, result = saxpy[GRID, BLOCK], y[:]
    graph = dlaunch.batch([(launch, 2.0, x, y), (launch, 1.0, Owner(foreign), result)]).graph()
    del launch
    for owned in (x, y, foreign, saxpy):
        owned.close()
    gc.collect()
    others = [dlaunch.full(N, 99, "f32") for _ in range(8)]
    for _ in range(2):
        graph()
    np.testing.assert_array_equal(result.copy_to_host(), 1 + 2 * (3 + 2 * X))
    for other in others:
        np.testing.assert_array_equal(other.copy_to_host(), 99 * ONES)
        other.close()
    for _ in range(10):
        graph()
    graph.close()  # while it runs
    result.close()
    del result
    wait_for_graphs()
    dlaunch.synchronize()
    dlaunch.drain()
    assert dlaunch.report()["device_bytes"] == 0


def test_graphs_that_cannot_be_made(saxpy: dlaunch.Kernel, arrays: Any) -> None:
    x, y = arrays
    launch = saxpy[GRID, BLOCK]
    with pytest.raises(dlaunch.ArgumentError, match="one launch or more"):
        dlaunch.batch().graph()
    with pytest.raises(dlaunch.ArgumentError, match='call 1: kernel "saxpy" takes 3 arguments, 2 given'):
        dlaunch.batch([(launch, 1.0, x, y), (launch, 1.0, x)]).graph()
    with pytest.raises(dlaunch.TensorError, match=r'call 1: kernel "saxpy", argument 2 \(y\)'):
        dlaunch.batch([(launch, 1.0, x, y), (launch, 1.0, x, y[:5])]).graph()
    np.testing.assert_array_equal(y.copy_to_host(), ONES)
    batch = there_and_back(saxpy, x, y)
    graph = batch.graph()
    with pytest.raises(dlaunch.ArgumentError, match="stream is 'no'"):
        graph("no")
    del graph
    gc.collect()
    wait_for_graphs()


def test_faults_in_a_simulated_graph(kernels: Path) -> None:
    code = f"""
        import dlaunch, numpy as np
        with dlaunch.load({str(kernels / "saxpy.ptx")!r}) as library:
            x, y = dlaunch.zeros(8, "f32"), dlaunch.zeros(4, "f32")
            kernel = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[m], n: i32 = n)")
            with dlaunch.batch([(kernel[1, 8], 1.0, x, y)]).graph() as graph:
                for _ in range(2):
                    try:
                        graph()
                    except dlaunch.FaultError as error:
                        print(str(error).partition(":")[0], "thread (4,0,0)" in str(error), "y[4]" in str(error))
    """
    assert output_of(code, DLAUNCH_DRIVER="sim") == "dlaunch_graph_launch True True\n" * 2


if torch_on_gpu:

    def test_torch_tensors_on_the_current_stream(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.from_numpy(X).cuda(), torch.ones(N, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        batch = there_and_back(saxpy, x, y)
        expected = follow(X, ONES)
        saxpy.load()  # which may wait for the GPU
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            batch()
            assert not stream.query()  # the launches are behind the sleep
        stream.synchronize()
        np.testing.assert_array_equal(x.cpu().numpy(), expected[0])
        np.testing.assert_array_equal(y.cpu().numpy(), expected[1])

    def test_torch_memory_is_kept(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.from_numpy(X).cuda(), torch.ones(N, device="cuda")
        result = y.view(-1)
        batch = dlaunch.batch([(saxpy[GRID, BLOCK], 2.0, x, y)])
        graph = batch.graph()
        del x, y
        others = [torch.full((N,), 99.0, device="cuda") for _ in range(8)]
        batch()
        del batch
        graph()
        torch.cuda.synchronize()
        np.testing.assert_array_equal(result.cpu().numpy(), 1 + 4 * X)
        assert all((other == 99).all() for other in others)
        graph.close()
        wait_for_graphs()

    def test_a_graph_on_a_torch_stream(saxpy: dlaunch.Kernel) -> None:
        x, y = torch.from_numpy(X).cuda(), torch.ones(N, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with there_and_back(saxpy, x, y).graph() as graph:
            expected = (X, ONES)
            for current in (True, False):
                if current:
                    with torch.cuda.stream(stream):
                        graph()
                else:
                    graph(stream)
                expected = follow(*expected)
            stream.synchronize()
            np.testing.assert_array_equal(x.cpu().numpy(), expected[0])
            np.testing.assert_array_equal(y.cpu().numpy(), expected[1])
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured):
                y.add_(0)  # torch warns of graphs that are empty
                with pytest.raises(dlaunch.UnsupportedError, match="captured"):
                    graph()
            captured = torch.cuda.CUDAGraph()
            batch = there_and_back(saxpy, x, y)
            with torch.cuda.graph(captured):
                batch()
            captured.replay()
            torch.cuda.synchronize()
            np.testing.assert_array_equal(y.cpu().numpy(), follow(*expected)[1])
        del captured
        wait_for_graphs()

    def test_torch_parameters(saxpy: dlaunch.Kernel) -> None:
        weight = torch.nn.Parameter(torch.ones(N, device="cuda"))
        y = torch.ones(N, device="cuda")
        dlaunch.batch([(saxpy[GRID, BLOCK], 1.0, weight, y)])()
        torch.cuda.synchronize()
        assert (y == 2).all()
