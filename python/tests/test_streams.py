"""Streams, and what is accepted as one."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlaunch


def test_a_stream(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.Stream() as stream, dlaunch.full(4, 1, "f32") as x, dlaunch.zeros(4, "f32") as y:
        assert stream.device == 0 and stream.native > 2 and stream.__cuda_stream__() == (0, stream.native)
        for given in (
            stream,
            stream.native,
            stream.handle,
            Protocol(stream.native),
            Torch(stream.native),
            CuPy(stream.native),
        ):
            saxpy[1, 4, given](2.0, x, y)
        stream.synchronize()
        np.testing.assert_array_equal(y.copy_to_host(stream), np.full(4, 12, "f4"))
        y.copy_from_host(np.zeros(4, "f4"), stream=stream)
        np.testing.assert_array_equal(y.copy_to_host(), np.zeros(4, "f4"))
    assert stream.closed and "closed" in repr(stream)


class Protocol:
    def __init__(self, native: int) -> None:
        self.native = native

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.native


class Torch:
    def __init__(self, native: int) -> None:
        self.cuda_stream = native


class CuPy:
    def __init__(self, native: int) -> None:
        self.ptr = native


def test_default_streams(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.full(4, 1, "f32") as x, dlaunch.zeros(4, "f32") as y:
        for given in (None, 0, 1, 2):
            saxpy[1, 4, given](2.0, x, y)
        dlaunch.synchronize()
        np.testing.assert_array_equal(y.copy_to_host(), np.full(4, 8, "f4"))


def test_closed(saxpy: dlaunch.Kernel) -> None:
    stream = dlaunch.Stream(non_blocking=True)
    launch = saxpy[1, 4, stream]
    stream.close()
    stream.close()
    with dlaunch.zeros(4, "f32") as x:
        uses: list[Any] = [
            lambda: launch(1.0, x, x),
            lambda: launch(1.0, np.zeros(4, "f4"), np.zeros(4, "f4")),
            stream.synchronize,
            lambda: stream.native,
            lambda: x.copy_to_host(stream),
        ]
        for use in uses:
            with pytest.raises(dlaunch.HandleError, match="closed"):
                use()


def test_devices_that_are_none() -> None:
    with pytest.raises(dlaunch.ArgumentError, match=r"device 99\b"):
        dlaunch.Stream(99)
    with pytest.raises(dlaunch.ArgumentError, match="device is 'x'"):
        dlaunch.Stream("x")  # type: ignore[arg-type]


def test_a_wait_for_what_is_no_event() -> None:
    with dlaunch.Stream() as stream:
        for given in ("x", None, stream):
            with pytest.raises(dlaunch.ArgumentError, match="wait_event: event is .*; a dlaunch.Event is wanted"):
                stream.wait_event(given)  # type: ignore[arg-type]


def test_a_launcher_keeps_its_stream(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel, dlaunch.zeros(1, "f32") as x:
        kernel[1, 1, dlaunch.Stream()](1.0, x, x, 1)
        launch = kernel.configure(1, 1, stream=dlaunch.Stream())
        gc.collect()
        launch(1.0, x, x, 1)
