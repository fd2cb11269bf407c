"""What a launch costs, every way side by side in one run.

Bursts of launches of an empty kernel alternate between the ways, round after round; the median over the rounds is
compared with the driver's own call in C, and with the best of the others that takes the same kind of arguments. Times
are the machine's: quote differences and ratios. Prints tables; writes JSON and a plot into the folder given by --out.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import measuring
from bursts import Bench, Burst
from ways import RAW_WAY, WAYS, Way

TENSORS = (1, 3, 26)
COPIES = 3  # of each burst, with kernels and arrays of their own

Summary = dict[str, dict[str, dict[str, Any]]]  # way -> tensors -> figures


def prepare(bench: Bench) -> tuple[dict[tuple[Way, int], list[Burst]], dict[str, str]]:
    """The bursts, and why some are missing."""
    bursts: dict[tuple[Way, int], list[Burst]] = {}
    absent = {}
    for way in WAYS:
        why = way.lacks()
        if why is None:
            try:
                made = {(way, n): [way.make(bench, n) for _ in range(COPIES)] for n in TENSORS}
                for copies in made.values():
                    copies[0](1)  # some compile then
                bursts.update(made)
            except Exception as error:  # of whatever kind: the others are measured
                if way.is_ours:
                    raise
                why = f"{type(error).__name__}: {error}"
        if why is not None:
            absent[way.name] = why.splitlines()[0]
            print(f"left out: {way.name} ({absent[way.name]})", flush=True)
    return bursts, absent


def summarize(times: dict[tuple[Way, int], list[float]]) -> Summary:
    """Quartiles, the cost over the driver, and for ours its share of the best other's of the same kind.

    The cost over the driver is the median of the differences within each round: what slows the machine for a while
    slows both.
    """
    figures: dict[tuple[Way, int], dict[str, Any]] = {key: measuring.quartiles(ns) for key, ns in times.items()}
    for key, of in figures.items():
        raw = times[RAW_WAY, key[1]]
        differences = [ns - driver for ns, driver in zip(times[key], raw, strict=True)]
        of["over_raw"] = round(statistics.median(differences), 1)
        of["times_raw"] = round(of["median"] / statistics.median(raw), 3)
    summary: Summary = {}
    for (way, n), of in figures.items():
        others = [f["over_raw"] for (w, m), f in figures.items() if m == n and w.kind == way.kind and not w.is_ours]
        best = min(others, default=0)
        if way.is_ours and best > 0:
            of["of_best_other"] = round(of["over_raw"] / best, 3)
        summary.setdefault(way.name, {})[str(n)] = of
    return summary


def table(summary: Summary) -> str:
    """Two lines of heads, and one for each way."""

    parts = (
        ("ns a launch: median", "median", "{median:.0f}", 8),
        ("1st to 3rd quartile", "q1", "{q1:.0f}-{q3:.0f}", 14),
        ("over the driver", "over_raw", "{over_raw:.0f}", 8),
        ("times the driver", "times_raw", "{times_raw:.2f}", 8),
        ("of the best other's", "of_best_other", "{of_best_other:.2f}", 8),
    )
    lines = [" " * 40 + " ".join(f"{head:>{width * len(TENSORS)}}" for head, *_, width in parts)]
    lines.append(f"{'tensors':40}" + " ".join("".join(f"{n:>{width}}" for n in TENSORS) for *_, width in parts))
    for way, by_count in summary.items():
        columns = []
        for _, needed, form, width in parts:
            cells = (form.format(**of) if needed in of else "" for of in by_count.values())
            columns.append("".join(f"{cell:>{width}}" for cell in cells))
        lines.append(f"{way:40}" + " ".join(columns))
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", required=True, help="folder of libburst.so")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rounds", type=int, default=240)
    parser.add_argument("--launches", type=int, default=100)
    options = parser.parse_args()
    bursts, absent = prepare(Bench(options.libraries))
    summary = summarize(measuring.measure(bursts, options.rounds, options.launches))
    about = measuring.about()
    print(about["title"])
    print(f"{options.rounds} rounds of at most {options.launches} launches each, interleaved")
    print(table(summary))
    settings = {"rounds": options.rounds, "launches": options.launches, "left_out": absent}
    measuring.write(options.out / "launch_cost.json", {**about, **settings, "ways": summary})


if __name__ == "__main__":
    main()
