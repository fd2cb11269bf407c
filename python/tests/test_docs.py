"""The pages of docs/ are true: their programs run, one after the other, and each refusal is worded as it says."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import dlaunch

ROOT = Path(__file__).resolve().parents[2]
KERNEL = 'dlaunch_launch: kernel "saxpy", '


def blocks(page: str) -> list[tuple[str, str]]:
    """Give the page's blocks of code with the word after their backquotes."""
    parts = page.split("```")
    assert len(parts) % 2 == 1, "a block is not closed"
    return [(kind, body) for kind, _, body in (part.partition("\n") for part in parts[1::2])]


@pytest.mark.parametrize(
    ("page", "programs", "refusals"),
    [
        ("arguments.md", 4, 15),
        ("batches.md", 4, 0),
        ("binding.md", 3, 4),
        ("kernels.md", 6, 0),
        ("libraries.md", 3, 5),
        ("lifecycle.md", 1, 0),
        ("streams.md", 3, 0),
    ],
)
def test_page(page: str, programs: int, refusals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    ran = refused = 0
    for kind, body in blocks((ROOT / "docs" / page).read_text()):
        if kind == "python":
            exec(compile(body, f"docs/{page}", "exec"), names)
            ran += 1
            continue
        assert kind == "refused"
        for example in body.strip().split("\n\n"):
            code, _, wanted = example.partition("\n")
            with pytest.raises((dlaunch.Error, pickle.PicklingError)) as caught:
                eval(code, names)
            assert f"{caught.type.__name__}: {str(caught.value).removeprefix(KERNEL)}" == wanted, code
            refused += 1
    assert ran >= programs and refused >= refusals
