"""What a launch costs, every way side by side in one run.

Bursts of 100 launches of an empty kernel alternate between the ways, round after
round; the median over the rounds is compared with the driver's own call in C, and from
Python with a builtin that does nothing too. What it costs to load the library is
measured in processes of their own. Times are the machine's: quote differences and ratios. Prints a table; writes JSON
and a plot into the folder given by --out.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

import dlaunch
from ways import EMPTY, RAW, Bench, Burst, possible

TENSORS = (1, 3, 26)
LOADS = 21
LOAD = """
import ctypes, sys, time
begin = time.perf_counter_ns()
ctypes.CDLL(sys.argv[1])
print(time.perf_counter_ns() - begin, end="", flush=True)
"""


def measure(bench: Bench, rounds: int, launches: int) -> dict[str, dict[int, list[float]]]:
    """ns a launch: way -> tensors -> one figure a round."""
    ways = possible()
    bursts: dict[tuple[str, int], Burst] = {(w, n): make(bench, n) for w, make in ways.items() for n in TENSORS}
    times: dict[str, dict[int, list[float]]] = {w: {n: [] for n in TENSORS} for w in ways}
    for round_number in range(-2, rounds):  # two rounds to warm up
        for (way, tensors), burst in bursts.items():
            ns = burst(launches)
            if ns < 0:
                sys.exit(f"{way}: a launch failed")
            dlaunch.synchronize()
            if round_number >= 0:
                times[way][tensors].append(ns)
        if sys.stderr.isatty():
            print(f"\rround {round_number + 1} of {rounds}", end="", file=sys.stderr)
    return times


def summarize(times: dict[str, dict[int, list[float]]]) -> dict[str, dict[str, dict[str, float]]]:
    out: dict[str, dict[str, dict[str, float]]] = {}
    raw, empty = ({n: statistics.median(times[way][n]) for n in TENSORS} for way in (RAW, EMPTY))
    for way, by_count in times.items():
        out[way] = {}
        for n, figures in by_count.items():
            low, middle, high = statistics.quantiles(figures, n=4)
            out[way][str(n)] = {"median": middle, "q1": low, "q3": high, "over_raw": middle - raw[n]}
            if not way.startswith("C, "):
                out[way][str(n)]["over_empty"] = middle - empty[n]
    return out


def library_cost(path: str) -> dict[str, float]:
    """Size in bytes, and median ms of a dlopen in a fresh process."""
    loads = [int(subprocess.check_output([sys.executable, "-c", LOAD, path])) / 1e6 for _ in range(LOADS)]
    return {"bytes": os.stat(path).st_size, "load_ms": round(statistics.median(loads), 3)}


def table(summary: dict[str, dict[str, dict[str, float]]]) -> str:
    heads = f"   {'over the driver, in C':>21}   {'over an empty builtin':>21}"
    lines = [f"{'ns a launch, median':38}" + "".join(f"{n:>9} t" for n in TENSORS) + heads]
    for way, figures in summary.items():
        line = f"{way:38}" + "".join(f"{figures[str(n)]['median']:11.0f}" for n in TENSORS)
        for over in ("over_raw", "over_empty"):
            shown = [f"{figures[str(n)][over]:.0f}" for n in TENSORS if over in figures[str(n)]]
            line += f"   {' / '.join(shown):>21}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def plot(summary: dict[str, dict[str, dict[str, float]]], path: Path, title: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ways = [w for w in summary if w not in (RAW, EMPTY)]
    figure, axes = plt.subplots(figsize=(9, 0.5 * len(ways) + 1.6))
    height = 0.8 / len(TENSORS)
    for i, n in enumerate(TENSORS):
        values = [max(summary[w][str(n)]["over_raw"], 1) for w in ways]
        places = [k + (i - 1) * height for k in range(len(ways))]
        axes.barh(places, values, height, label=f"{n} tensor{'s' if n > 1 else ''}")
        for place, value in zip(places, values, strict=True):
            axes.text(value * 1.04, place, f"{value:.0f}", va="center", fontsize=7)
    axes.set_yticks(range(len(ways)), ways, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("ns a launch over cuLaunchKernelEx in C (median, logarithmic)")
    axes.set_title(title, fontsize=9)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--burst", required=True, help="path of libburst.so")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rounds", type=int, default=90)
    parser.add_argument("--launches", type=int, default=100)
    options = parser.parse_args()
    info = dlaunch.driver_info()
    driver = f"driver {info.version // 1000}.{info.version % 1000 // 10}"
    title = f"{driver}, {platform.machine()}, Python {platform.python_version()}"
    summary = summarize(measure(Bench(options.burst), options.rounds, options.launches))
    print(f"{title}: {options.rounds} rounds of {options.launches} launches, interleaved")
    print(table(summary))
    library = library_cost(os.environ["DLAUNCH_LIBRARY"])
    loaded = f"loaded in {library['load_ms']:.2f} ms, the median of {LOADS} processes"
    print(f"libdlaunch.so: {library['bytes']} bytes, {loaded}")
    options.out.mkdir(parents=True, exist_ok=True)
    result = {
        "title": title,
        "driver": info.path,
        "rounds": options.rounds,
        "launches": options.launches,
        "library": library,
        "ways": summary,
    }
    (options.out / "launch_cost.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(summary, options.out / "launch_cost.svg", title)


if __name__ == "__main__":
    main()
