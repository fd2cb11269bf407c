"""Every corpus kernel, at every size, on every kind of array that this machine has, against NumPy."""

from __future__ import annotations

import ctypes
import dataclasses
import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from corpus import KERNELS
from corpus_case import FOLDER, Argument, Case, CorpusKernel, Size

import dlaunch


@dataclasses.dataclass(frozen=True)
class ArrayKind:
    """How to make an array of this kind of a NumPy array, and a NumPy array of it again."""

    name: str
    put: Callable[[np.ndarray], Any]
    get: Callable[[Any], np.ndarray]
    on_host: bool


def array_kinds() -> list[ArrayKind]:
    """Those that can be made here: a package that is missing, or has no device, gives no tests, not skipped ones."""
    kinds = [
        ArrayKind("numpy", np.copy, lambda a: a, on_host=True),
        ArrayKind("dlaunch", lambda a: dlaunch.to_device(a), lambda a: a.copy_to_host(), on_host=False),
    ]
    torch, cupy = imported("torch"), imported("cupy")
    simulated = os.environ.get("DLAUNCH_DRIVER") == "sim"  # which refuses arrays of a real device
    if torch:
        kinds.append(ArrayKind("torch_host", lambda a: torch.from_numpy(a.copy()), lambda a: a.numpy(), on_host=True))
    if torch and torch.cuda.is_available() and not simulated:
        kinds.append(
            ArrayKind("torch", lambda a: torch.from_numpy(a.copy()).cuda(), lambda a: a.cpu().numpy(), on_host=False)
        )
    if cupy and cupy.is_available() and not simulated:
        kinds.append(ArrayKind("cupy", cupy.asarray, cupy.asnumpy, on_host=False))
    return kinds


def imported(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


KINDS = array_kinds()


def launches() -> list[Any]:
    """With the prototype at every size; without one, where the kernel allows it, and bound, at the greatest."""
    found = []
    for kernel in KERNELS:
        for kind in (k for k in KINDS if k.name not in kernel.without):
            for size in kernel.sizes:
                found.append((kernel, kind, size, True, False))
            found.append((kernel, kind, kernel.sizes[-1], True, True))
            if kernel.raw:
                found.append((kernel, kind, kernel.sizes[-1], False, False))
                found.append((kernel, kind, kernel.sizes[-1], False, True))
    words = ("", "-untyped"), ("", "-bound")
    return [
        pytest.param(*f, id=f"{f[0].name}-{f[1].name}-{'x'.join(map(str, f[2]))}{words[0][not f[3]]}{words[1][f[4]]}")
        for f in found
    ]


MARKS = {"in": dlaunch.In, "out": dlaunch.Out, "inout": dlaunch.InOut}


def passed(argument: Argument, held: Any, kind: ArrayKind, typed: bool) -> Any:
    """The object to launch with. Without a prototype a host array needs a mark, what has no plain type its bytes."""
    if not argument.is_array:
        return argument.value if typed or argument.raw is None else argument.raw
    seen = held if argument.view is None else held[argument.view]
    return MARKS[argument.mode](seen) if kind.on_host and not typed else seen


def launch(kernel: dlaunch.Kernel, case: Case, kind: ArrayKind, typed: bool, bound: bool) -> list[Any]:
    """Launches, waits, and gives back what holds the arrays, by parameter.

    Bound are all arguments, but for the host arrays that the kernel writes: by name, or without a prototype as many as
    lead.
    """
    held = [kind.put(a.value) if a.is_array else None for a in case.arguments]
    given = [
        (a, passed(a, h, kind, typed)) for a, h in zip(case.arguments, held, strict=True) if not (typed and a.filled)
    ]
    fixed: dict[str, Any] = {}
    leading: list[Any] = []
    rest = [value for _, value in given]
    if bound:
        stays = [a.is_array and a.mode != "in" and kind.on_host for a, _ in given]
        first = (*stays, True).index(True)
        leading, rest, stays = rest[:first], rest[first:], stays[first:]
        if typed:
            names = [p.name for p in kernel.parameters if not p.filled][first:]
            fixed = {n: value for n, value, is_passed in zip(names, rest, stays, strict=True) if not is_passed}
            rest = [value for value, is_passed in zip(rest, stays, strict=True) if is_passed]
    launched = kernel.bind(*leading, **fixed) if leading or fixed else kernel
    with launched:
        launched[case.grid, case.block, None, case.shared](*rest)
    dlaunch.synchronize()
    return held


@pytest.mark.parametrize(("kernel", "kind", "size", "typed", "bound"), launches())
def test_kernel_gives_what_numpy_gives(
    kernel: CorpusKernel, kind: ArrayKind, size: Size, typed: bool, bound: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    case = kernel.case(size)
    with dlaunch.load(kernel.path) as library:
        name = kernel.prototype if typed else kernel.entry
        for symbol in case.symbols:
            library.globals[symbol.name].copy_from_host(symbol.before.view(np.uint8))
        loaded = library.kernel(name)
        held = launch(loaded, case, kind, typed, bound)
        loaded.close()
        for position, (argument, array) in enumerate(zip(case.arguments, held, strict=True)):
            if argument.is_array:
                argument.check(kind.get(array), f"{kernel.name}: parameter {position}")
        for symbol in case.symbols:
            actual = library.globals[symbol.name].copy_to_host().view(symbol.after.dtype)
            np.testing.assert_array_equal(actual, symbol.after, err_msg=symbol.name)
    if case.lines is not None:
        ctypes.CDLL(None).fflush(None)  # a driver prints through C's own buffer
        assert sorted(capfd.readouterr().out.splitlines()) == sorted(case.lines)


def test_every_image_is_in_the_corpus() -> None:
    assert {p.name for p in FOLDER.glob("*.ptx")} == {k.file for k in KERNELS}


@pytest.mark.parametrize("file", sorted({k.file for k in KERNELS}))
def test_library_names_its_kernels(file: str) -> None:
    with dlaunch.load(FOLDER / file) as library:
        assert sorted(library.kernels) == sorted({k.entry for k in KERNELS if k.file == file})
