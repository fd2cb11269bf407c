"""What a launch costs, every way side by side in one run.

Bursts of 100 launches of an empty kernel alternate between the ways, round after
round; the median over the rounds is compared with the driver's own call in C.
Times are the machine's: quote differences and ratios. Prints a table; writes
JSON and a plot into the folder given by --out.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
from pathlib import Path

import dlaunch
from ways import RAW, Bench, Burst, possible

TENSORS = (1, 3, 26)


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
    base = {n: statistics.median(times[RAW][n]) for n in TENSORS}
    for way, by_count in times.items():
        out[way] = {}
        for n, figures in by_count.items():
            low, middle, high = statistics.quantiles(figures, n=4)
            out[way][str(n)] = {"median": middle, "q1": low, "q3": high, "over_raw": middle - base[n]}
    return out


def table(summary: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = [f"{'ns a launch, median':38}" + "".join(f"{n:>9} t" for n in TENSORS) + "   over the driver's own call"]
    for way, figures in summary.items():
        medians = "".join(f"{figures[str(n)]['median']:11.0f}" for n in TENSORS)
        over = " / ".join(f"{figures[str(n)]['over_raw']:.0f}" for n in TENSORS)
        lines.append(f"{way:38}{medians}   {over}")
    return "\n".join(lines)


def plot(summary: dict[str, dict[str, dict[str, float]]], path: Path, title: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    ways = [w for w in summary if w != RAW]
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
    options.out.mkdir(parents=True, exist_ok=True)
    result = {
        "title": title,
        "driver": info.path,
        "rounds": options.rounds,
        "launches": options.launches,
        "ways": summary,
    }
    (options.out / "launch_cost.json").write_text(json.dumps(result, indent=1) + "\n")
    plot(summary, options.out / "launch_cost.svg", title)


if __name__ == "__main__":
    main()
