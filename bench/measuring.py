"""Measures bursts that alternate, and says on what machine."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import platform
import random
import re
import statistics
import sys
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import dlaunch
import plots
from bursts import Burst

Key = TypeVar("Key", bound=Hashable)

PACKAGES = ("numpy", "torch", "cupy", "tvm_ffi", "cuda.core", "triton", "numba_cuda")
STUB = "Stub H200"  # what bench/stub calls its device
SLOW = 5e6  # ns: a burst that would take longer is shortened, but not below 5 launches


def measure(bursts: Mapping[Key, Sequence[Burst]], rounds: int, launches: int) -> dict[Key, list[float]]:
    """ns a launch, one figure a round. Bursts alternate, so that what changes on the machine changes for all.

    Each round has an order of its own, since a burst leaves the processor as it likes, and the next one pays. The
    bursts of a key take turns: they differ in where their kernels and arrays lie, which is luck.
    """
    lengths = {}
    for key, copies in bursts.items():
        for burst in copies:
            _run(key, burst, 1)
        lengths[key] = max(5, min(launches, int(SLOW / _run(key, copies[0], 5))))
    times: dict[Key, list[float]] = {key: [] for key in bursts}
    chance = random.Random(1)
    for number in range(rounds):
        for key in chance.sample(list(bursts), len(bursts)):
            copies = bursts[key]
            times[key].append(_run(key, copies[number % len(copies)], lengths[key]))
    return times


def _run(key: Hashable, burst: Burst, launches: int) -> float:
    """One burst, and the GPU idle afterwards: its queue must not fill."""
    ns = burst(launches)
    if ns < 0:
        sys.exit(f"{key}: a launch failed")
    dlaunch.synchronize()
    return ns


def quartiles(figures: list[float]) -> dict[str, float]:
    low, middle, high = statistics.quantiles(figures, n=4)
    return {"median": round(middle, 1), "q1": round(low, 1), "q3": round(high, 1)}


def about() -> dict[str, Any]:
    """On what machine, with what driver and packages; None for what is not there."""
    info = dlaunch.driver_info()
    machine: dict[str, Any] = {
        "cpu": _found("/proc/cpuinfo", r"model name\s*: (.*)") or platform.machine(),
        "cores": os.cpu_count(),
        "gpu": device_name(),
        "driver": _found("/proc/driver/nvidia/version", r"Kernel Module(?:.* for \S+)?\s+([\d.]+)"),
        "cuda": f"{info.version // 1000}.{info.version % 1000 // 10}",
        "libcuda": info.path,
        "python": platform.python_version(),
        "dlaunch": dlaunch.__version__,
        "packages": {package: _version(package) for package in PACKAGES},
    }
    driver = f"driver {machine['driver'] or 'of unknown number'}, CUDA {machine['cuda']}"
    gpu = "a driver that does nothing" if machine["gpu"] == STUB else f"{machine['gpu']} · {driver}"
    packages = [f"{name} {version}" for name, version in machine["packages"].items() if version]
    title = f"{gpu} · {machine['cores']} × {machine['cpu']}\n" + " · ".join(
        [f"dlaunch {machine['dlaunch']}", f"Python {machine['python']}", *packages]
    )
    return {"title": title, "machine": machine}


def write(path: Path, found: dict[str, Any]) -> None:
    """Write JSON, and draw it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    plots.draw(path)


def _found(path: str, pattern: str) -> str | None:
    try:
        found = re.search(pattern, Path(path).read_text())
    except OSError:
        return None
    return found and found[1].strip()


def device_name() -> str:
    """The name of the first device."""
    name = ctypes.create_string_buffer(100)
    ctypes.CDLL(dlaunch.driver_info().path).cuDeviceGetName(name, len(name), 0)
    return name.value.decode()


def _version(package: str) -> str | None:
    try:
        return str(importlib.import_module(package).__version__)
    except ImportError:
        return None
