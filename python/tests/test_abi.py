"""_abi.py against the header: the layout of every struct, as a C program prints it, and every function."""

from __future__ import annotations

import ctypes
import re

import pytest
from conftest import ROOT

from dlaunch import _abi

LAYOUT = ROOT / "testdata" / "layout.txt"
HEADER = ROOT / "include" / "dlaunch.h"

STRUCTS = vars(_abi)

SIZES = {
    _abi.DLTensor: 48,
    _abi.DLManagedTensor: 64,
    _abi.DLManagedTensorVersioned: 80,
    _abi.dlaunch_error: 1024,
    _abi.dlaunch_arg: 16,
    _abi.dlaunch_attribute: 72,
    _abi.dlaunch_config: 72,
    _abi.dlaunch_driver_info_t: 788,
}


@pytest.mark.parametrize(("struct", "size"), SIZES.items(), ids=lambda v: getattr(v, "__name__", None))
def test_sizes_that_the_contract_gives(struct: type[ctypes.Structure], size: int) -> None:
    assert ctypes.sizeof(struct) == size


def test_layout() -> None:
    lines = [line.split() for line in LAYOUT.read_text().splitlines() if line and not line.startswith("#")]
    found = {}
    for name in {line[0].partition(".")[0] for line in lines}:
        struct = STRUCTS.get(name)
        if struct is not None:
            for field in struct._fields_:
                place = getattr(struct, field[0])
                found[f"{name}.{field[0]}"] = (place.offset, place.size)
    wanted = {line[0]: (int(line[1]), int(line[2])) for line in lines if len(line) == 3}
    assert len(wanted) > 50 and found == wanted
    sizes = {line[0]: int(line[1]) for line in lines if len(line) == 2}
    assert {name: ctypes.sizeof(STRUCTS[name]) for name in sizes} == sizes


def test_functions() -> None:
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)
    declared = {}
    for name, parameters in re.findall(r"^dlaunch_status (dlaunch_\w+)\(([^)]*)\)", text, re.M):
        declared[name] = parameters.count(",")  # without err
    assert {name: len(parameters) for name, parameters in _abi.STATUS_FUNCTIONS.items()} == {
        name: count for name, count in declared.items()
    }


def test_constants() -> None:
    defined = dict(re.findall(r"^#define (DLAUNCH_\w+) (\d+)u?\b", HEADER.read_text(), re.M))
    known = {name: str(value) for name, value in vars(_abi).items() if name.startswith("DLAUNCH_")}
    assert known == {n: v for n, v in defined.items() if n not in ("DLAUNCH_OWN_DLPACK",)}
