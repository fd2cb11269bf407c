"""Many threads that launch, while what they launch with is closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import dlaunch

THREADS, SECONDS = 4, 0.4


def hammer(launching: Callable[[int], None], closing: Callable[[], None]) -> None:
    """Runs launching in many threads, over and over, and closing in this one; what any raises is raised."""
    stop, errors = threading.Event(), []

    def work(number: int) -> None:
        try:
            while not stop.is_set():
                launching(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end and not errors:
            closing()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("hold_gil", [False, True])
def test_closing_kernels_under_launches(kernels: Path, hold_gil: bool) -> None:
    library = dlaunch.load(kernels / "saxpy.ptx")
    x, y = dlaunch.zeros(32, "f32"), dlaunch.zeros(32, "f32")
    current = [library["saxpy"]]
    outcomes = {True: 0, False: 0}

    def launching(_: int) -> None:
        kernel = current[0]
        try:
            kernel.launch(1.0, x, y, 32, grid=1, block=32, hold_gil=hold_gil)
            outcomes[True] += 1
        except dlaunch.HandleError:
            outcomes[False] += 1

    def closing() -> None:
        former, current[0] = current[0], library["saxpy"]
        former.close()

    hammer(launching, closing)
    assert outcomes[True] > 0
    for thing in (current[0], library, x, y):
        thing.close()


def test_closing_arrays_under_launches(saxpy: dlaunch.Kernel) -> None:
    current = [dlaunch.zeros(32, "f32")]
    ys = [dlaunch.zeros(32, "f32") for _ in range(THREADS)]
    launch = saxpy[1, 32]

    def launching(number: int) -> None:
        try:
            launch(1.0, current[0], ys[number])
        except dlaunch.HandleError as error:
            assert error.argument == 1

    def closing() -> None:
        former, current[0] = current[0], dlaunch.full(32, 1, "f32")
        former.close()

    hammer(launching, closing)
    current[0].close()
    for y in ys:
        values = y.copy_to_host()
        assert (values == values[0]).all() and values[0] >= 0  # an array that is freed is never read
        y.close()


def test_all_threads_launch_right(saxpy: dlaunch.Kernel) -> None:
    x = dlaunch.full(64, 1, "f32")
    ys = [dlaunch.zeros(64, "f32") for _ in range(THREADS)]
    counts = [0] * THREADS

    def launching(number: int) -> None:
        saxpy[2, 32](1.0, x, ys[number])
        counts[number] += 1

    hammer(launching, lambda: time.sleep(0.01))
    dlaunch.synchronize()
    for y, count in zip(ys, counts, strict=True):
        np.testing.assert_array_equal(y.copy_to_host(), np.full(64, count, "f4"))
        y.close()
    x.close()


def test_new_types_in_many_threads(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.zeros(1, "f32") as x, dlaunch.zeros(1, "f32") as y:
        launch = saxpy[1, 1]
        launch(1.0, x, y)
        hammer(lambda _: launch(type("Float", (float,), {})(1.0), x, y), lambda: time.sleep(0.01))
