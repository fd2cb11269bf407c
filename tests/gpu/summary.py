"""Counts what run.sh left in a folder, writes it there as summary.json, and fails unless all ran well."""

import importlib
import json
import platform
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import dlaunch

FRAMEWORKS = ("torch", "cupy")  # without which nothing is tested on tensors that others made


def programs(results: Path) -> dict[str, list[str]]:
    """Sort the C programs by how they ended."""
    lines = [line.split() for line in (results / "programs.txt").read_text().splitlines()]
    return {
        "ran": [name for name, _ in lines],
        "failed": [name for name, code in lines if code != "0"],
        "skipped": [],
    }


def suite(results: Path) -> dict[str, list[str]]:
    """Sort the Python tests by how they ended."""
    found: dict[str, list[str]] = {"ran": [], "failed": [], "skipped": []}
    report = results / "pytest.xml"
    if not report.exists():
        return {**found, "failed": ["pytest did not report"]}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        found["ran"].append(name)
        if case.find("failure") is not None or case.find("error") is not None:
            found["failed"].append(name)
        if case.find("skipped") is not None:
            found["skipped"].append(name)
    well = [name for name in found["ran"] if name not in found["failed"] and name not in found["skipped"]]
    for framework in FRAMEWORKS:
        if not any(f"-{framework}-" in name for name in well):
            found["failed"].append(f"nothing ran with {framework}: is it installed, and does it see the GPU?")
    return found


def versions(driver: int) -> dict[str, str | None]:
    """Tell what the suites ran with; None is not there."""
    found: dict[str, str | None] = {
        "driver": f"{driver // 1000}.{driver % 1000 // 10}",
        "python": platform.python_version(),
    }
    for package in (*FRAMEWORKS, "numpy"):
        try:
            found[package] = importlib.import_module(package).__version__
        except ImportError:
            found[package] = None
    return found


def main() -> int:
    """Print one line for each suite."""
    results = Path(sys.argv[1])
    info = dlaunch.driver_info()
    suites = {"C": programs(results), "Python": suite(results)}
    for language, found in suites.items():
        print(f"{language}: " + ", ".join(f"{len(names)} {how}" for how, names in found.items()))
        for how in ("failed", "skipped"):
            for name in found[how]:
                print(f"  {how}: {name}")
    counts = {language: {how: len(names) for how, names in found.items()} for language, found in suites.items()}
    wrong = {language: found["failed"] + found["skipped"] for language, found in suites.items()}
    summary = {"driver": info.kind, "versions": versions(info.version), "counts": counts, "wrong": wrong}
    (results / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    well = info.kind == "cuda" and not any(wrong.values()) and all(found["ran"] for found in suites.values())
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
