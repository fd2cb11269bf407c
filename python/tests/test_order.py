"""Whose work comes before whose: what producers are asked with sync=True, and what consumers of arrays get."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import imported
from exchange import ByCapsule

import dlaunch
from dlaunch import _abi, _arguments, _array, _stream
from dlaunch._arguments import Arguments

torch: Any = imported("torch")
cupy: Any = imported("cupy")
on_gpu = os.environ.get("DLAUNCH_DRIVER") != "sim"
SLEEP = 100_000_000  # cycles: some 50 ms


class Producer:
    """A tensor that says it is of CUDA device 0, and remembers for which streams it was asked."""

    def __init__(self, inner: dlaunch.DeviceArray) -> None:
        self.inner, self.streams = inner, []  # type: ignore[var-annotated]

    def __dlpack_device__(self) -> tuple[int, int]:
        return _abi.kDLCUDA, 0

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        self.streams.append(stream)
        capsule = self.inner.__dlpack__(stream=-1, max_version=max_version)
        pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
        address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(capsule, b"dltensor_versioned")
        _abi.DLManagedTensorVersioned.from_address(address).dl_tensor.device.device_type = _abi.kDLCUDA
        return capsule


class Failing(Producer):
    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> Any:
        raise RuntimeError(f"no order with {stream}")


class Interface:
    """What has the CUDA Array Interface alone, with a stream."""

    def __init__(self, inner: dlaunch.DeviceArray, stream: int | None) -> None:
        self.__cuda_array_interface__ = {
            "shape": inner.shape, "typestr": "<f4", "data": (inner.ptr, False), "version": 3, "stream": stream,
        }  # fmt: skip


@pytest.fixture
def array() -> Iterator[dlaunch.DeviceArray]:
    with dlaunch.zeros(4, "f32") as made:
        yield made


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The orders that are asked of the driver by event, as (before, after), or of an array, as (array, after)."""
    found: list[Any] = []
    monkeypatch.setattr(_arguments, "order", lambda before, after, device: found.append((before, after)))
    monkeypatch.setattr(_array, "order", lambda before, after, device: found.append((before, after)))
    monkeypatch.setattr(dlaunch.DeviceArray, "_order", lambda self, after: found.append((self, after)))
    return found


def converted(values: list[Any], stream: int | None, ordered: bool = True) -> Arguments:
    return Arguments(values, (), "kernel", stream, ordered)


@pytest.mark.parametrize("ordered", [False, True])
def test_producers_are_asked_for_the_launch_stream(array: dlaunch.DeviceArray, ordered: bool) -> None:
    first, second = Producer(array), Producer(array)
    assert converted([first, second], None, ordered).stream == 0
    with dlaunch.Stream() as stream:
        converted([1.0, first], stream.handle, ordered)
        converted([second], 0x7000, ordered)
        assert (first.streams, second.streams) == ([1, stream.native], [1, 0x7000])


def test_a_producer_whose_stream_is_known_is_asked_with_sync_only(
    array: dlaunch.DeviceArray, monkeypatch: pytest.MonkeyPatch, orders: list[Any]
) -> None:
    monkeypatch.setattr(dlaunch._tensor, "_producer_stream", lambda value, device: 0x6000)
    first, second = Producer(array), Producer(array)
    assert converted([first, second], None, ordered=False).stream == 0x6000
    assert (first.streams, second.streams) == ([-1], [-1])
    assert converted([first, second], None).stream == 0x6000  # where the first one works
    assert (first.streams[1:], second.streams[1:]) == ([0x6000], [0x6000])
    assert converted([first], 0).stream == 0
    assert first.streams[2:] == [1] and orders == []


def test_what_has_a_stream_is_ordered_by_event(array: dlaunch.DeviceArray, orders: list[Any]) -> None:
    for ordered in (False, True):
        assert converted([Interface(array, 0x6000)], None, ordered).stream == 0x6000
        assert orders == []
        converted([Interface(array, 0x6000), Interface(array, None)], 0x7000, ordered)
        assert orders.pop() == (0x6000, 0x7000) and orders == []


def test_what_has_the_exchange_api_alone_is_ordered_by_event(array: dlaunch.DeviceArray, orders: list[Any]) -> None:
    tensor = ByCapsule(array)  # whose package works on the legacy default stream
    tensor.tensor.device_type = _abi.kDLCUDA
    converted([tensor], 0x7000, ordered=False)
    assert orders == []
    converted([tensor], 0x7000)
    assert orders == [(0, 0x7000)]
    assert converted([tensor], None).stream == 0


def test_device_arrays_wait_when_the_stream_is_known(array: dlaunch.DeviceArray, orders: list[Any]) -> None:
    view = array[::2]
    found = converted([array, view, Interface(array, 0x6000), 1.0], None)
    assert found.stream == 0x6000 and orders == [(array, 0x6000), (view, 0x6000)]
    orders.clear()
    converted([array], None)
    assert orders == [(array, 0)]
    converted([array], None, ordered=False)
    assert orders == [(array, 0)]


def test_what_a_producer_raises_is_the_cause(array: dlaunch.DeviceArray) -> None:
    with pytest.raises(dlaunch.TensorError, match="argument 1: Failing: .*no order with 28672") as caught:
        converted([1.0, Failing(array)], 0x7000)
    assert isinstance(caught.value.__cause__, RuntimeError)
    array.close()
    with pytest.raises(dlaunch.HandleError, match="argument 0: .*closed"):
        converted([array], 0x7000)


@pytest.mark.parametrize(("given", "asked"), [(None, 1), (0, 1), (1, 1), (2, 2), (0x7000, 0x7000), (-1, -1)])
def test_views_are_ordered_for_their_stream(
    array: dlaunch.DeviceArray, orders: list[Any], given: int | None, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dlaunch._memory, "is_device", lambda borrowed: True)
    producer = Producer(array)
    dlaunch.from_dlpack(producer, stream=given)
    assert producer.streams == [asked]
    dlaunch.from_dlpack(Interface(array, 0x6000), stream=given)
    assert orders == ([(0x6000, asked)] if asked != -1 else [])


def test_a_copy_is_ordered_for_its_stream(array: dlaunch.DeviceArray, orders: list[Any]) -> None:
    with dlaunch.Stream() as stream:
        dlaunch.from_dlpack(array, stream=stream)
        assert orders == [(array, stream.handle)]
        dlaunch.from_dlpack(array)
        dlaunch.from_dlpack(array, stream=-1)
        assert len(orders) == 1


def test_consumers_are_ordered(array: dlaunch.DeviceArray, orders: list[Any]) -> None:
    for stream, asked in ((None, 1), (1, 1), (2, 2), (0x7000, 0x7000)):
        array.__dlpack__(stream=stream)
        assert orders.pop() == (array, asked)
    array.__dlpack__(stream=-1)
    assert orders == []
    view = array[1:]
    view.__dlpack__(stream=0x7000, max_version=(1, 0))
    assert orders == [(view, 0x7000)]
    for refused in (0, -2, True, 1.0, "1", 1 << 60):
        with pytest.raises(dlaunch.ArgumentError, match="__dlpack__: stream is"):
            array.__dlpack__(stream=refused)  # type: ignore[arg-type]


def test_orders_by_event() -> None:
    with dlaunch.Stream() as first, dlaunch.Stream() as second:
        before = dlaunch.live_handles()
        _stream.order(first.native, second.handle, 0)
        _stream.order(0, 1, 0)
        assert dlaunch.live_handles() == before
        with pytest.raises(dlaunch.HandleError):
            _stream.order(first.native, second.handle + (1 << 24), 0)
        assert dlaunch.live_handles() == before


def test_sync_takes_everything_that_a_launch_does(saxpy: dlaunch.Kernel, device_array: Any) -> None:
    put, get = device_array
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    held = put(y)
    for stream in (None, dlaunch.Stream()):
        saxpy.launch(2.0, put(x), held, grid=4, block=32, sync=True, stream=stream)
        saxpy.launch(2.0, x, y, grid=4, block=32, sync=True, stream=stream)
    dlaunch.synchronize()
    np.testing.assert_array_equal(y, 4 * x + 1)
    np.testing.assert_array_equal(get(held), y)


if on_gpu and torch is not None and torch.cuda.is_available():
    N = 1 << 20
    LAUNCH = {"grid": 1 << 12, "block": 256}

    def sleep(stream: Any) -> None:
        """Make a stream busy, by whoever's name."""
        with torch.cuda.stream(
            torch.cuda.ExternalStream(stream.native) if isinstance(stream, dlaunch.Stream) else stream
        ):
            torch.cuda._sleep(SLEEP)

    @pytest.fixture
    def ready(saxpy: dlaunch.Kernel) -> Iterator[tuple[dlaunch.DeviceArray, dlaunch.DeviceArray]]:
        """x of 3 and y of 0, with all loaded that loads, and waits for that, at its first use."""
        x, y = dlaunch.full(N, 3, "f32"), dlaunch.zeros(N, "f32")
        for sync in (False, True):
            saxpy.launch(0.0, torch.from_dlpack(x), y, sync=sync, **LAUNCH)
        torch.zeros(8, device="cuda").fill_(3)
        for part in (torch.from_dlpack(y).clone(), torch.from_dlpack(y)[1::2].clone()):
            assert not bool((part == 3).any()) or bool((part == 3).all())
        dlaunch.synchronize()
        with x, dlaunch.zeros(N, "f32") as fresh:
            yield x, fresh
            dlaunch.synchronize()

    @pytest.mark.parametrize("part", [slice(None), slice(1, None, 2)])
    def test_a_torch_stream_sees_what_a_launch_wrote(saxpy: dlaunch.Kernel, ready: Any, part: slice) -> None:
        (x, y), side = ready, torch.cuda.Stream()
        with torch.cuda.stream(side):  # for torch to have memory there: getting it would wait
            warm = [torch.empty(N, device="cuda") for _ in range(3)]
            del warm
        with dlaunch.Stream(non_blocking=True) as stream:
            sleep(stream)
            saxpy.launch(1.0, x, y, stream=stream, **LAUNCH)
            with torch.cuda.stream(side):
                too_early = torch.utils.dlpack.from_dlpack(y[part].__dlpack__(stream=-1)).clone()
                side.synchronize()
                assert not bool((too_early == 3).any()), "the launch was not slow"
                ordered = torch.from_dlpack(y[part]).clone()
            assert not side.query(), "the host has waited"
            side.synchronize()
            assert bool((ordered == 3).all())

    def test_the_legacy_stream_sees_what_a_launch_wrote(saxpy: dlaunch.Kernel, ready: Any) -> None:
        x, y = ready
        with dlaunch.Stream(non_blocking=True) as stream:
            sleep(stream)
            saxpy.launch(1.0, x, y, stream=stream, **LAUNCH)
            assert y.__cuda_array_interface__["stream"] == 1
            assert (y.copy().copy_to_host() == 3).all()

    def test_a_foreign_stream_is_waited_for(saxpy: dlaunch.Kernel, ready: Any) -> None:
        (x, y), side = ready, torch.cuda.Stream()
        sleep(side)
        saxpy.launch(1.0, x, y, stream=side, **LAUNCH)
        assert bool((torch.from_dlpack(y) == 3).all())

    def test_sync_orders_torch(saxpy: dlaunch.Kernel, ready: Any) -> None:
        (_, y), side, x = ready, torch.cuda.Stream(), torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        with torch.cuda.stream(side), dlaunch.Stream(non_blocking=True) as stream:  # a closed one would be waited for
            for given in (x, torch.nn.Parameter(x)):
                y.fill(0, stream)
                sleep(side)
                x.fill_(3)
                saxpy.launch(1.0, given, y, stream=stream, sync=True, **LAUNCH)
                assert not side.query(), "the host has waited"
                assert (y.copy_to_host(stream) == 3).all()
                x.fill_(0)

    def test_sync_orders_device_arrays(saxpy: dlaunch.Kernel, ready: Any) -> None:
        x, y = ready
        with dlaunch.Stream(non_blocking=True) as side, dlaunch.Stream(non_blocking=True) as stream:
            sleep(side)
            x.fill(4, side)
            saxpy.launch(1.0, x[...], y, stream=stream, sync=True, **LAUNCH)
            assert not torch.cuda.ExternalStream(side.native).query(), "the host has waited"
            assert (y.copy_to_host(stream) == 4).all()

    if cupy is not None:

        def test_sync_orders_cupy(saxpy: dlaunch.Kernel, ready: Any) -> None:
            (_, y), side, x = ready, torch.cuda.Stream(), cupy.zeros(N, "f4")
            x.fill(1)  # which compiles, at first
            cupy.cuda.Device().synchronize()
            with cupy.cuda.Stream.from_external(side), dlaunch.Stream(non_blocking=True) as stream:
                sleep(side)
                x.fill(3)
                saxpy.launch(1.0, x, y, stream=stream, sync=True, **LAUNCH)
                assert not side.query(), "the host has waited"
                assert (y.copy_to_host(stream) == 3).all()

    def test_views_and_copies_of_torch_tensors_are_ordered(ready: Any) -> None:
        x, side = torch.zeros(N, device="cuda"), torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side), dlaunch.Stream(non_blocking=True) as stream:
            sleep(side)
            x.fill_(3)
            view = dlaunch.from_dlpack(x, stream=stream)
            assert not side.query(), "the host has waited"
            assert (view[::2].copy_to_host(stream) == 3).all()
            sleep(side)
            x.fill_(4)
            assert (dlaunch.to_device(x[::3]).copy_to_host() == 4).all()
            sleep(side)
            x.fill_(5)
            with dlaunch.zeros((2, N), "f32") as y:
                y[1] = x
                assert (y.copy_to_host() == [[0], [5]]).all()

    def test_a_capture_is_left_alone(saxpy: dlaunch.Kernel, ready: Any) -> None:
        (x, y), z, graph = ready, torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
        fresh = dlaunch.zeros(8, "f32")
        with dlaunch.Stream(non_blocking=True) as stream:
            saxpy.launch(1.0, x, y, stream=stream, **LAUNCH)
            with torch.cuda.graph(graph):
                z += torch.from_dlpack(fresh)  # never launched: there is nothing to wait for
                z += 1
                with pytest.raises(dlaunch.DriverError, match="before the capture begins"):
                    torch.from_dlpack(y)
                y.fill(5, torch.cuda.current_stream())
            graph.replay()
            torch.cuda.synchronize()
            assert bool((z == 1).all()) and (y.copy_to_host() == 5).all()
