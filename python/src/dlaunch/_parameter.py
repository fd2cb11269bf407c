"""What a kernel takes."""

from __future__ import annotations

import ctypes
import dataclasses

from dlaunch import _abi, _lib
from dlaunch._errors import NotFoundError

_MODES = {0: "", _abi.DLAUNCH_IN: "in", _abi.DLAUNCH_OUT: "out", _abi.DLAUNCH_IN | _abi.DLAUNCH_OUT: "inout"}


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    name and type are the prototype's, else what the PTX says, else ''. offset and size are in bytes, in the parameter
    buffer. mode is 'in', 'out', 'inout', or '' where no prototype says. filled: a prototype's `=` gives it, so that it
    is never passed. bound: Kernel.bind has fixed it, so that it is passed no more.
    """

    index: int
    name: str
    type: str
    offset: int
    size: int
    mode: str
    filled: bool
    bound: bool = False


def read_parameters(kernel: int, prototype: str | None) -> tuple[Parameter, ...]:
    """Ask the library for all parameters of a kernel."""
    filled = _filled(prototype) if prototype is not None else []
    found: list[Parameter] = []
    while True:
        p = _abi.dlaunch_parameter(ctypes.sizeof(_abi.dlaunch_parameter))
        index = len(found)
        try:
            _lib.call("dlaunch_kernel_parameter", kernel, index, ctypes.byref(p))
        except NotFoundError:
            return tuple(found)
        is_filled = index < len(filled) and filled[index]
        mode = _MODES.get(p.mode & (_abi.DLAUNCH_IN | _abi.DLAUNCH_OUT), "")
        is_bound = bool(p.mode & _abi.DLAUNCH_BOUND)
        found.append(Parameter(index, p.name.decode(), p.type.decode(), p.offset, p.size, mode, is_filled, is_bound))


def _filled(prototype: str) -> list[bool]:
    """Say of each parameter of a prototype, which the library has found to be right, whether it has a `=`."""
    text = prototype.rstrip()
    start = _opening(text)
    filled, depth = [False], 0
    for letter in text[start + 1 : -1]:
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "," and depth == 0:
            filled.append(False)
        elif letter == "=":
            filled[-1] = True
    return filled


def is_prototype(text: str) -> bool:
    """Tell a prototype from a name that ends in a parenthesis: its list is empty, or begins with `ident :`."""
    text = text.rstrip()
    if not text.endswith(")"):
        return False
    inside = text[_opening(text) + 1 : -1].strip()
    name, colon, rest = inside.partition(":")
    return not inside or (bool(colon) and not rest.startswith(":") and name.strip().replace("$", "_").isidentifier())


def _opening(text: str) -> int:
    """Find the parenthesis that the last one closes."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return 0
