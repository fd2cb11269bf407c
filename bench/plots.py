"""Draws what the benchmarks wrote as JSON, each plot beside its file.

python bench/plots.py build/bench/launch_cost.json build/bench/growth.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OURS, OTHERS = ("#0b5394", "#3d85c6", "#9fc5e8"), ("#7f6000", "#bf9000", "#e6c878")


def draw(path: Path) -> None:
    """Draw one file; a line says so where Matplotlib is missing."""
    try:
        import matplotlib
    except ImportError as why:
        print(f"no plot of {path}: {why}")
        return
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "dlaunch"  # the same figures give the same file, and a short one
    matplotlib.rcParams["svg.fonttype"] = "none"
    import matplotlib.pyplot as plt

    found = json.loads(path.read_text())
    figure = ways(plt, found["ways"]) if "ways" in found else growth(plt, found["growth"])
    figure.suptitle(found["title"], fontsize=7)
    figure.tight_layout()
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def ways(plt: Any, summary: dict[str, Any]) -> Any:
    """Bars, one for each way and number of tensors: what it costs over the driver's own call."""
    shown = [way for way, of in summary.items() if of["1"]["over_raw"] != 0 and "empty builtin" not in way]
    counts = list(summary[shown[0]])
    figure, axes = plt.subplots(figsize=(10, 0.42 * len(shown) + 1.8))
    height = 0.8 / len(counts)
    for i, count in enumerate(counts):
        values = [max(summary[way][count]["over_raw"], 1) for way in shown]
        places = [k + (i - (len(counts) - 1) / 2) * height for k in range(len(shown))]
        axes.barh(places, values, height, color=[(OURS if "dlaunch" in way else OTHERS)[i] for way in shown])
        for place, value in zip(places, values, strict=True):
            axes.text(value * 1.04, place, f"{value:.0f}", va="center", fontsize=6)
    axes.set_yticks(range(len(shown)), shown, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"ns a launch over cuLaunchKernelEx in C, for {', '.join(counts)} tensors (median, logarithmic)")
    return figure


def growth(plt: Any, panels: list[dict[str, Any]]) -> Any:
    """One panel for each thing that grows: lines over its sizes."""
    figure, grid = plt.subplots(2, 2, figsize=(10, 7))
    for axes, panel in zip(grid.flat, panels, strict=True):
        for name, values in panel["lines"].items():
            axes.plot(panel["sizes"], values, marker=".", label=name)
        axes.set_xscale(panel["x_scale"])
        axes.set_yscale(panel["y_scale"])
        axes.set_xticks(panel["sizes"][-5:])  # more would overlap
        if panel["y_scale"] == "linear":
            axes.set_ylim(bottom=0)
        axes.set_xlabel(panel["x"], fontsize=8)
        axes.set_ylabel(panel["y"], fontsize=8)
        axes.legend(fontsize=7)
    return figure


if __name__ == "__main__":
    for name in sys.argv[1:]:
        draw(Path(name))
