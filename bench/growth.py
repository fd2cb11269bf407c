"""How the cost of a launch grows with arguments, threads, kernels and busy Python threads, and what comes first.

Prints tables; writes JSON and a plot into the folder given by --out.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import os
import random
import statistics
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dlaunch
import measuring
from bursts import HANDLE, RAW, Bench, CBurst, uint64s
from empty import empty_prototype, empty_ptx
from ways import c_handles, c_tensors, configured, own_arrays, raw

QUEUED = 900  # launches that a GPU takes before one waits
PROCESSES = 21

Panel = dict[str, Any]  # what plots.py draws


def panel(x: str, y: str, sizes: Sequence[int], lines: dict[str, list[float]], **scales: str) -> Panel:
    rounded = {name: [round(value, 3) for value in values] for name, values in lines.items()}
    return {"x": x, "y": y, "sizes": sizes, "lines": rounded, "x_scale": "linear", "y_scale": "linear", **scales}


def table(of: Panel) -> str:
    lines = [of["y"], f"{of['x']:44}" + "".join(f"{size:>9}" for size in of["sizes"])]
    lines += [f"  {name:42}" + "".join(f"{value:>9.2f}" for value in values) for name, values in of["lines"].items()]
    return "\n".join(lines)


def arguments(bench: Bench) -> Panel:
    """From 31 on CPython itself packs the arguments of such a call in a list and a tuple."""
    sizes = (0, 1, 2, 4, 8, 16, 26, 32, 48, 64)
    ways = {
        "C: dlaunch, tensors": c_tensors,
        "C: dlaunch, handles of arrays": c_handles,
        "Python: dlaunch, its arrays": configured(own_arrays),
    }
    bursts = {(name, n): [make(bench, n)] for name, make in {"raw": raw, **ways}.items() for n in sizes}
    ns = {key: statistics.median(times) for key, times in measuring.measure(bursts, 60, 100).items()}
    lines = {name: [ns[name, n] - ns["raw", n] for n in sizes] for name in ways}
    return panel("arguments", "ns a launch over cuLaunchKernelEx", sizes, lines)


def threads(bench: Bench, rounds: int = 60) -> Panel:
    """Each thread launches a kernel of its own on its own arrays. The best round: in others threads wait for a core."""
    sizes, tensors, queue = (1, 2, 4, 8, 16), 3, 60_000 if measuring.device_name() == measuring.STUB else QUEUED
    kernels = [bench.kernel(tensors) for _ in range(max(sizes))]
    arrays = [bench.arrays(tensors) for _ in kernels]
    natives = [bench.driver_kernels(tensors) for _ in kernels]
    ways: dict[str, list[CBurst]] = {
        "cuLaunchKernelEx": [bench.c_burst(RAW, k, [x.ptr for x in a]) for k, a in zip(natives, arrays, strict=True)],
        "dlaunch": [
            bench.c_burst(HANDLE, uint64s([k.handle]), [x.handle for x in a])
            for k, a in zip(kernels, arrays, strict=True)
        ],
    }
    rates: dict[tuple[str, int], list[float]] = {(way, n): [] for way in ways for n in sizes}
    for _ in range(rounds):
        for (way, n), found in rates.items():
            found.append(bench.c.burst_rate((CBurst * n)(*ways[way][:n]), n, queue // n))
            dlaunch.synchronize()
    if min(map(min, rates.values())) < 0:
        sys.exit("threads: a launch failed")
    lines = {way: [max(rates[way, n]) for n in sizes] for way in ways}
    two, one = lines["dlaunch"][1], lines["dlaunch"][0]
    print(f"two threads launch {two / one:.2f} times as much as one")
    return panel("C threads", "launches a microsecond, all threads, best round", sizes, lines)


def kernels(bench: Bench) -> Panel:
    """Launches of one kernel after the other, in an order that no prefetcher guesses; libraries of 500 kernels each."""
    sizes, most, each = (1, 10, 100, 1000, 10_000), 10_000, 500
    address = bench.arrays(1)[0]

    def launched_once(kind: int, all_kernels: Sequence[int], value: int, *keep: object) -> int:
        """Resident bytes with every kernel's code loaded: the driver does that at the first launch."""
        every = uint64s(all_kernels)
        bench.time(bench.c_burst(kind, every, [value]), address, keep)(len(every))
        dlaunch.synchronize()
        return _resident_bytes()

    resident = [_resident_bytes()]
    natives = [kernel for _ in range(most // each) for kernel in bench.driver_kernels(1, each)]
    resident.append(launched_once(RAW, natives, address.ptr))
    libraries = [dlaunch.load(empty_ptx(1, each)) for _ in range(most // each)]
    handles = [_handle(library, empty_prototype(1, i)) for library in libraries for i in range(each)]
    resident.append(launched_once(HANDLE, handles, address.handle, libraries))
    drivers, both = ((after - before) / most for before, after in itertools.pairwise(resident))
    print(f"bytes a kernel, with its share of a library of {each}: {both:.0f}, of which the driver takes {drivers:.0f}")
    order = random.Random(1).sample(range(most), most)
    bursts = {}
    for n in sizes:
        chosen = [i for i in order if i < n]
        for way, kind, all_kernels, value in (
            ("cuLaunchKernelEx", RAW, natives, address.ptr),
            ("dlaunch", HANDLE, handles, address.handle),
        ):
            picked = uint64s([all_kernels[i] for i in chosen])
            bursts[way, n] = [bench.time(bench.c_burst(kind, picked, [value]), address, libraries)]
    ns = {key: statistics.median(times) for key, times in measuring.measure(bursts, 100, 100).items()}
    lines = {way: [ns[way, n] for n in sizes] for way in ("cuLaunchKernelEx", "dlaunch")}
    return panel("kernels launched in turn", "ns a launch", sizes, lines, x_scale="log")


def _handle(library: dlaunch.Library, prototype: str) -> int:
    """A kernel without a Python object, which would be memory of Python's."""
    out = ctypes.c_uint64()
    get = ctypes.CDLL(os.environ["DLAUNCH_LIBRARY"]).dlaunch_kernel_get
    if get(ctypes.c_uint64(library.handle), prototype.encode(), ctypes.byref(out), None) != 0:
        sys.exit(f"{prototype}: not found")
    return out.value


def busy(bench: Bench) -> Panel:
    sizes = (0, 1, 2, 3, 4)
    ways = {
        "by the rule (default)": [configured(own_arrays)(bench, 3)],
        "lock held (hold_gil)": [configured(own_arrays, hold_gil=True)(bench, 3)],
    }
    lines: dict[str, list[float]] = {name: [] for name in ways}
    for n in sizes:
        with busy_threads(n):
            for bursts in ways.values():
                bursts[0](50)  # the rule has to see them
            for name, ns in measuring.measure(ways, 9, 100).items():
                lines[name].append(statistics.median(ns) / 1e3)
    return panel("busy Python threads beside it", "µs a launch", sizes, lines, y_scale="log")


@contextlib.contextmanager
def busy_threads(count: int) -> Iterator[None]:
    """Threads that never wait."""
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            sum(range(100))

    started = [threading.Thread(target=work) for _ in range(count)]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        done.set()
        for thread in started:
            thread.join()


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- before the first launch, each in processes of its own

IMPORT = """
import time
begin = time.perf_counter_ns()
import dlaunch
print((time.perf_counter_ns() - begin) / 1e6)
assert not any(name in open("/proc/self/maps").read() for name in ("libcuda", "libdlaunch")), "loaded by an import"
"""
LOAD = """
import ctypes, os, time
path, begin = os.environ["DLAUNCH_LIBRARY"], time.perf_counter_ns()
ctypes.CDLL(path)
print((time.perf_counter_ns() - begin) / 1e6)
"""
FIRST = """
import ctypes, sys
path, function, *texts = sys.argv[1:]
ms = (ctypes.c_double * 2)()
if getattr(ctypes.CDLL(path), function)(*[text.encode() for text in texts], ms) != 0:
    sys.exit(function + " failed")
print(*ms)
"""


def cold(bench: Bench) -> dict[str, float]:
    """Medians in ms."""
    programs = {
        "import dlaunch": [IMPORT],
        "dlopen libdlaunch.so": [LOAD],
        "driver": [FIRST, bench.path, "burst_cold_driver", bench.libcuda, empty_ptx(1)],
        "dlaunch": [FIRST, bench.path, "burst_cold_dlaunch", empty_ptx(1), empty_prototype(1)],
    }
    # Python's own cache as if dlaunch were installed, and none of the driver's.
    cached = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bench.scratch.name}
    environment = {**os.environ, **cached, "CUDA_CACHE_DISABLE": "1"}
    found: dict[str, list[list[float]]] = {name: [] for name in programs}
    for i in range(PROCESSES):
        for name, program in programs.items():
            if i % 3 == 0 or program[0] is not FIRST:  # which takes a GPU a second
                said = subprocess.check_output([sys.executable, "-c", *program], env=environment, text=True)
                found[name].append([float(word) for word in said.split()])
    medians = {
        name: [round(statistics.median(of), 3) for of in zip(*runs, strict=True)] for name, runs in found.items()
    }
    named = {name: medians[name][0] for name in ("import dlaunch", "dlopen libdlaunch.so")}
    for name in ("driver", "dlaunch"):
        named[f"{name}: open, with a context"], named[f"{name}: load, get and first launch"] = medians[name]
    return named


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", required=True, help="folder of libburst.so")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    options = parser.parse_args()
    bench, about = Bench(options.libraries), measuring.about()
    print(about["title"])
    before = cold(bench)
    print("ms before the first launch, medians of fresh processes")
    print("\n".join(f"  {name:42}{ms:>9.3f}" for name, ms in before.items()))
    panels = []
    for measure in (arguments, threads, kernels, busy):
        panels.append(measure(bench))
        print(table(panels[-1]), flush=True)
    measuring.write(options.out / "growth.json", {**about, "cold_ms": before, "growth": panels})


if __name__ == "__main__":
    main()
