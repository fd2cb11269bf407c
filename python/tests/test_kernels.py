"""Kernels: what they tell of themselves, and every way to launch them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlaunch

PROTOTYPE = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"


def test_described(saxpy: dlaunch.Kernel) -> None:
    assert (saxpy.name, saxpy.prototype, repr(saxpy)) == ("saxpy", PROTOTYPE, f"<dlaunch.Kernel {PROTOTYPE}>")
    assert [p.name for p in saxpy.parameters] == ["a", "x", "y", "n"]
    assert [p.type for p in saxpy.parameters] == ["f32", "f32[n]", "f32[n]", "i32"]
    assert [(p.offset, p.size) for p in saxpy.parameters] == [(0, 4), (8, 8), (16, 8), (24, 4)]
    assert [p.mode for p in saxpy.parameters] == ["in", "in", "inout", "in"]
    assert [p.filled for p in saxpy.parameters] == [False, False, False, True]
    assert [p.index for p in saxpy.parameters] == [0, 1, 2, 3]


def test_without_a_prototype(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel:
        assert kernel.prototype is None and kernel.name == "saxpy"
        assert [p.size for p in kernel.parameters] == [4, 8, 8, 4] and not any(p.filled for p in kernel.parameters)
        assert {p.mode for p in kernel.parameters} == {""}
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        with library.kernel("(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)") as unnamed:
            assert unnamed.name == "saxpy"


def ways(kernel: dlaunch.Kernel) -> dict[str, Any]:
    return {
        "index": kernel[4, 32],
        "tuples": kernel[(4, 1, 1), (32,)],
        "stream": kernel[4, 32, 0],
        "shared": kernel[4, 32, None, 1024],
        "numpy sizes": kernel[np.int64(4), np.uint8(32)],
        "configure": kernel.configure(4, 32),
        "held": kernel.configure(4, 32, hold_gil=True),
        "waiting": kernel.configure(4, 32, sync=True),
        "launch": lambda *a: kernel.launch(*a, grid=4, block=32),
        "all keywords": lambda *a: kernel.launch(
            *a, grid=4, block=32, stream=None, shared=0, cluster=None, cooperative=False, hold_gil=False, sync=True,
            check=None, empty_ok=True,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("way", ["index", "tuples", "stream", "shared", "numpy sizes", "configure", "held", "waiting",
                                 "launch", "all keywords"])  # fmt: skip
def test_ways_to_launch(saxpy: dlaunch.Kernel, way: str) -> None:
    x, y = np.arange(100, dtype="f4"), np.ones(100, "f4")
    with dlaunch.to_device(x) as dx, dlaunch.to_device(y) as dy:
        assert ways(saxpy)[way](2.0, dx, dy) is None
        np.testing.assert_array_equal(dy.copy_to_host(), 2 * x + 1)


def test_a_call_without_a_grid(saxpy: dlaunch.Kernel) -> None:
    with pytest.raises(dlaunch.ConfigError, match=r"saxpy\(\.\.\.\): no grid and block given; kernel\[grid, block\]"):
        saxpy(1.0, n=1)


@pytest.mark.parametrize(("grid", "block"), [(0, 32), ((1, 0), 32), ((1, 1, 0), 1), (1, 0), (1, (32, 0))])
def test_an_empty_launch_does_nothing_but_check(saxpy: dlaunch.Kernel, grid: Any, block: Any) -> None:
    with dlaunch.zeros(4, "f32") as x, dlaunch.full(4, 3, "f32") as y, dlaunch.zeros(4, "f64") as wrong:
        saxpy.launch(2.0, x, y, grid=grid, block=block, empty_ok=True)
        np.testing.assert_array_equal(y.copy_to_host(), np.full(4, 3, "f4"))
        with pytest.raises(dlaunch.TensorError):
            saxpy.launch(2.0, wrong, y, grid=grid, block=block, empty_ok=True)


def test_configurations_are_remembered_by_value(saxpy: dlaunch.Kernel) -> None:
    assert saxpy[1, 32] is saxpy[1, 32] and saxpy[(1,), 32] is saxpy.configure(1, (32, 1, 1))
    assert saxpy[1, 32] is not saxpy[1, 64] and saxpy[1, 32] is not saxpy[1, 32, 0]
    for sizes in range(1, 200):  # more than it remembers
        saxpy[sizes, 32]
    assert saxpy[(1, 1), (32,), 0, 0] is saxpy[(1, 1), (32,), 0, 0]
    for key in ((1.0, 32), (True, 32), ((1.0, 1), (32,), 0, 0), ((1, 1), (32,), 0, False)):
        with pytest.raises(dlaunch.ConfigError):
            saxpy[key]  # equal to what is remembered, and no ints
    for key in ([1, 32], "ab", b"ab", {1: 2, 3: 4}, (1,), 1, None, ([], 32), (1, 32, None, 0, 0)):
        with pytest.raises(dlaunch.ConfigError):
            saxpy[key]


def test_a_launcher_keeps_the_kernel(kernels: Path) -> None:
    launch = dlaunch.load(kernels / "saxpy.ptx").kernel(PROTOTYPE)[1, 32]
    y = np.ones(4, "f4")
    launch(1.0, y.copy(), y)
    np.testing.assert_array_equal(y, np.full(4, 2, "f4"))


def test_each_get_is_a_handle_of_its_own(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        first, second = library["saxpy"], library["saxpy"]
        assert first.handle != second.handle
        first.close()
        second[1, 1](1.0, dlaunch.In(np.ones(1, "f4")), dlaunch.InOut(np.ones(1, "f4")), 1)
        second.close()


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("saxpy", None),
        ("f(float*)", None),
        ("f(ns::type)", None),
        ("f<float, 3>", None),
        ("", None),
        ("f()", [False]),
        ("f(a: f32)", [False]),
        (" f ( a: f32, n: i64 = n ) ", [False, True]),
        (
            "f<g(int)>(a: f32[n, m] @align(16), n: i64 = n*m, s: i32 = stride(a, 0), b: bytes(8, 8))",
            [False, True, True, False],
        ),
        ("(n$: ptr = 0)", [True]),
    ],
)
def test_which_parameters_are_filled_in(text: str, filled: list[bool] | None) -> None:
    from dlaunch import _parameter

    assert _parameter.is_prototype(text) is (filled is not None)
    if filled is not None:
        assert _parameter._filled(text) == filled
