"""Libraries: the options that they are loaded with, and what they tell of themselves."""

from __future__ import annotations

import runpy
import sys
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlaunch

SIMULATED = dlaunch.driver_info().kind == "sim"

OPTIONS: dict[str, Any] = {
    "max_registers": 32,
    "optimization_level": 2,
    "debug": False,
    "verbose": True,
    "lineinfo": True,
    "cache_mode": "cg",
}


@pytest.mark.parametrize("name", [*OPTIONS, "all"])
def test_options_by_name(kernels: Path, name: str) -> None:
    given = OPTIONS if name == "all" else {name: OPTIONS[name]}
    text = (kernels / "saxpy.ptx").read_text() + f"// {uuid.uuid4()}\n"  # the driver's cache has no log
    for lazy in (False, True):
        with dlaunch.load(text, lazy=lazy, **given) as library:
            x, y = np.arange(4, dtype="f4"), np.ones(4, "f4")
            library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")[1, 32](2.0, x, y)
            np.testing.assert_array_equal(y, 2 * x + 1)
            if not SIMULATED and not lazy and given.get("verbose"):
                assert "registers" in library.log
            if SIMULATED:
                assert library.log == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_regsiters": 32}, "no option max_regsiters; the nearest is max_registers"),
        ({"line_info": True}, "the nearest is lineinfo"),
        ({"zzz": 1}, "there are max_registers, optimization_level"),
        ({"max_registers": 0}, "max_registers is 0; 1 to 255 is wanted"),
        ({"max_registers": True}, "1 to 255 is wanted"),
        ({"max_registers": 1 << 40}, "1 to 255 is wanted"),
        ({"optimization_level": 5}, "0 to 4 is wanted"),
        ({"optimization_level": 2.0}, "0 to 4 is wanted"),
        ({"lineinfo": 1}, "True or False is wanted"),
        ({"cache_mode": "all"}, "'none', 'cg' or 'ca' is wanted"),
        ({"target": "90"}, "'sm_90a' is wanted"),
        ({"target": 90}, "'sm_90a' is wanted"),
    ],
)
def test_options_that_are_refused(kernels: Path, given: dict[str, Any], said: str) -> None:
    for load in (lambda: dlaunch.load(kernels / "saxpy.ptx", **given), lambda: dlaunch.link([], **given)):
        with pytest.raises(dlaunch.ArgumentError, match=said):
            load()


def test_a_target_is_a_number() -> None:
    from dlaunch._options import _target

    assert [_target(t) for t in ("sm_90", "sm_90a", "sm_100f", "compute_75")] == [90, 65626, 131172, 75]


def test_what_they_have(kernels: Path) -> None:
    with dlaunch.load(kernels / "global_counter.ptx") as library:
        assert library.architectures == ["compute_75"]
        assert list(library.globals) == ["hits", "threshold"] and len(library.globals) == 2
        assert {name: symbol.nbytes for name, symbol in library.globals.items()} == {"hits": 4, "threshold": 4}
        assert "hits" in library.globals and "nothing" not in library.globals
        np.testing.assert_array_equal(library.globals["threshold"].copy_to_host().view("f4"), [0.5])
        symbols = library.globals
    for ask in (lambda: library.architectures, lambda: library.kernels, lambda: list(symbols)):
        with pytest.raises(dlaunch.HandleError):
            ask()


def test_names_in_a_library(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        assert list(library) == ["saxpy"] and "saxpy" in library
        assert "daxpy" not in library and 1 not in library


def test_symbols_of_a_library_without_any(saxpy: dlaunch.Kernel, kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        assert list(library.globals) == []
        with pytest.raises(dlaunch.NotFoundError, match='no variable "hits".*the image has no variable'):
            library.globals["hits"]


def test_text_that_is_no_utf8(saxpy: dlaunch.Kernel, kernels: Path) -> None:
    lone = "\udcff\ud800"
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        for use in (
            lambda: library[lone],
            lambda: library.kernel(f"{lone}(a: f32)"),
            lambda: library.globals[lone],
            lambda: library.bind(**{lone: None}),
            lambda: dlaunch.load(kernels / "saxpy.ptx", names={lone: "saxpy"}),
            lambda: dlaunch.load(kernels / "saxpy.ptx", names={"f": lone}),
            lambda: dlaunch.load(kernels / "saxpy.ptx", names={"f": b"\xff"}),
            lambda: dlaunch.Kernel.from_driver(saxpy.driver_handle, f"{lone}()"),
        ):
            with pytest.raises(dlaunch.ArgumentError, match="has no UTF-8"):
                use()
        assert lone not in library.globals and "\0" not in library.globals
    with pytest.raises(dlaunch.ImageError, match="begins with"):
        dlaunch.load(f"// {lone}\n")
    with pytest.raises(dlaunch.ImageError, match=r"(?i)line 1\b"):
        dlaunch.load(f"// {lone}\n" + (kernels / "saxpy.ptx").read_text())


def test_errors_quote_the_line(kernels: Path) -> None:
    text = (kernels / "saxpy.ptx").read_text()
    with pytest.raises(dlaunch.ImageError, match=r"(?s)is for sm_75.*line 46.*frob\.rn\.f32"):
        dlaunch.load(text.replace("fma.rn.f32", "frob.rn.f32"))
    with pytest.raises(dlaunch.ImageError, match=r"PTX has a NUL in line 12"):
        lines = text.splitlines(keepends=True)
        dlaunch.load("".join(lines[:11] + ["\0"] + lines[11:]))


def test_inspect(kernels: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def inspect(path: Path) -> str:
        monkeypatch.setattr(sys, "argv", ["dlaunch", "inspect", str(path)])
        with pytest.raises(SystemExit) as done:
            runpy.run_module("dlaunch", run_name="__main__")
        said = capsys.readouterr()
        return f"{done.value.code} {said.out}{said.err}"

    said = inspect(kernels / "saxpy_carried.ptx")
    assert said.startswith(
        "0 code      compute_75\nkernel    saxpy_carried(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)\n"
    )
    assert "   24     4 bytes  n: i32\n" in said
    assert "variable  hits: 4 bytes\nvariable  threshold: 4 bytes\n" in inspect(kernels / "global_counter.ptx")
    assert inspect(kernels / "none.ptx").startswith("1 dlaunch: ")


@pytest.mark.gpu
def test_a_cubin_tells_what_it_has(kernels: Path) -> None:
    if dlaunch.devices()[0].compute_capability == (9, 0):
        with dlaunch.load(kernels / "saxpy_carried.cubin") as library:
            assert library.architectures == ["sm_90"] and list(library.globals) == []
