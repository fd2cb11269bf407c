"""Images that are cut or have a flipped bit, real ones of every kind: never a crash, always a status."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

TEXTS = ["kernels/saxpy_carried.ptx", "kernels/global_counter.ptx", "kernels/template_scale.ptx", "linking/caller.ptx"]
BINARIES = [
    "kernels/saxpy_carried.cubin",
    "linking/caller.cubin",
    "linking/whole.fatbin",
    "linking/callee.o",
    "linking/whole.o",
    "linking/libcallee.a",
]


def outcomes(files: list[str]) -> list[list[str]]:
    """Run broken_images.py until it has tried all: after a crash, from the next one on."""
    paths = [str(ROOT / "testdata" / file) for file in files]
    found: list[list[str]] = []
    while True:
        program = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("broken_images.py")), str(len(found))]
        done = subprocess.run([*program, *paths], capture_output=True, text=True, timeout=600, check=False)
        found += [line.split(" ", 2)[1:] for line in done.stdout.splitlines()]
        if done.returncode == 0:
            return found
        assert found, done.stderr
        found[-1] = [found[-1][0], f"crashed {done.returncode}: {done.stderr.strip()[-200:]}"]


@pytest.mark.parametrize("files", [TEXTS, BINARIES], ids=["texts", "binaries"])
def test_broken_images(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    found = outcomes(files)
    counts = Counter(f"{how} and {what.partition(' ')[0]}" for how, what in found)
    with capsys.disabled():
        print(f"\n{len(found)} images: " + ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    assert [(i, what) for i, (_, what) in enumerate(found) if not what.startswith(("refused", "loaded"))] == []
    assert not any(what == "refused without a word" for _, what in found)
    assert counts["cut and refused"] > 100 and counts["flipped and refused"] > 10
    if files is BINARIES:
        assert counts["cut and loaded"] == 0
