"""Finds the library, and checks after each module that nothing was left open."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "libdlaunch.so"

if "DLAUNCH_LIBRARY" not in os.environ and BUILT.exists():
    os.environ["DLAUNCH_LIBRARY"] = str(BUILT)  # before anything loads it; without it, the installed package's own

import dlaunch  # noqa: E402

# The same examples each time; --hypothesis-profile=search looks for new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, database=None, deadline=None, max_examples=100)
hypothesis.settings.register_profile("search", database=None, deadline=None, max_examples=5000)
hypothesis.settings.load_profile("repeat")


@pytest.fixture(autouse=True, scope="module")
def nothing_stays_open() -> Iterator[None]:
    yield
    gc.collect()
    dlaunch.drain()
    left = [h for h in dlaunch.report()["handles"] if h["open"]]
    assert dlaunch.live_handles() == 0, left


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is about builtins where there are to be none; see test_interpreters."""
    if os.environ.get("DLAUNCH_FASTCALL") == "0" or "t" in sys.abiflags:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("builtin")])
        items[:] = [item for item in items if not item.get_closest_marker("builtin")]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which rows test_framework_table had, and which it lacked since a package or a GPU is not here."""
    table = sys.modules.get("table_frameworks")
    if table is not None:
        there = ", ".join(row.name for row in table.FRAMEWORKS)
        terminalreporter.write_line(f"frameworks: {there}; absent: {', '.join(table.ABSENT) or 'none'}")


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder of the images to test with."""
    return ROOT / "testdata" / "kernels"


@pytest.fixture
def saxpy(kernels: Path) -> Iterator[dlaunch.Kernel]:
    """y = a * x + y, with its prototype."""
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        kernel = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
    with kernel:
        yield kernel


def imported(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def device_kinds() -> list[Any]:
    """The kinds of device arrays that this machine has: dlaunch's own, and those of what is installed."""
    found = [pytest.param((dlaunch.to_device, lambda a: a.copy_to_host()), id="dlaunch")]
    torch, cupy = imported("torch"), imported("cupy")
    simulated = os.environ.get("DLAUNCH_DRIVER") == "sim"
    if torch and torch.cuda.is_available() and not simulated:
        found.append(pytest.param((lambda a: torch.from_numpy(a).cuda(), lambda a: a.cpu().numpy()), id="torch"))
    if cupy and cupy.is_available() and not simulated:
        found.append(pytest.param((cupy.asarray, cupy.asnumpy), id="cupy"))
    return found


@pytest.fixture(params=device_kinds())
def device_array(request: pytest.FixtureRequest) -> Any:
    """(put, get): how to make a device array of an ndarray, and an ndarray of it again."""
    return request.param
