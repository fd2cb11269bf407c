"""Every framework's tensors, of every form, for every kind of kernel parameter.

The table is the product of table_frameworks, table_forms and table_parameters. What must come of a cell NumPy says:
the elements that the kernel sees, the memory afterwards, or which rules a refusal may go by. Both ways of launching,
the builtin and plain ctypes, must give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from swap import MOST_ELEMENTS, PTX
from table_forms import forms
from table_frameworks import FRAMEWORKS, Framework, Given
from table_parameters import WORDS, Parameter, broken_rules, parameters

import dlaunch
from dlaunch import _lib

PARAMETERS = list(parameters())


class Launchers:
    """The kernels by prototype, each with the builtin and with what stands in for it."""

    def __init__(self, library: dlaunch.Library) -> None:
        self._library, self._found = library, {}

    def __getitem__(self, prototype: str) -> tuple[Any, Any]:
        if prototype not in self._found:
            kernel = self._library.kernel(prototype)
            loaded = _lib.loaded()
            makes_builtins, loaded.makes_builtins = loaded.makes_builtins, False
            plain = kernel.configure(1, MOST_ELEMENTS)
            loaded.makes_builtins = makes_builtins
            self._found[prototype] = kernel, kernel.configure(1, MOST_ELEMENTS, empty_ok=True), plain
        return self._found[prototype][1:]

    def close(self) -> None:
        for kernel, *_ in self._found.values():
            kernel.close()


class Wrong(Exception):
    """What a cell's launch did not do."""


def swapped(memory: np.ndarray, given: Given, order: Any, new: bytes | None) -> tuple[bytes, bytes]:
    """Say what the kernel must have seen, and what must be in the memory afterwards."""
    raw = np.dtype(f"V{given.view.itemsize}")
    place = np.ndarray(given.view.shape, raw, memory.data, given.offset, given.view.strides)
    old = place.tobytes(order)
    if new is not None:
        place[...] = np.frombuffer(new, raw).reshape(place.shape, order=order)
    return old, memory.tobytes()


class Table:
    """Launches cells of the table, and knows how many were taken and refused."""

    def __init__(self, library: dlaunch.Library) -> None:
        self.launchers = Launchers(library)
        self.old, self.new = (dlaunch.empty(16 * MOST_ELEMENTS, "uint8") for _ in range(2))
        self.random = np.random.default_rng(3)

    def close(self) -> None:
        for opened in (self.launchers, self.old, self.new):
            opened.close()

    def launch(self, launch: Any, given: Given, parameter: Parameter) -> tuple[bytes, bytes | None]:
        """Launch one cell, and give what the kernel saw and what it was given to store."""
        size = given.view.nbytes if given.value is not None else 0
        new = self.random.bytes(self.new.size) if parameter.writes else None
        if new is not None:
            self.new.copy_from_host(new)
        arguments = [given.value, self.old, self.new if parameter.writes else None]
        if parameter.counts:
            arguments.append(size // given.view.itemsize)
        launch(*arguments)
        dlaunch.synchronize()
        return bytes(self.old.copy_to_host()[:size]), new and new[:size]

    def check(self, launch: Any, given: Given, parameter: Parameter, broken: set[str]) -> str | None:
        """Launch a cell: Wrong if NumPy knows better; what a refusal says, None where it was taken."""
        memory = given.contents()
        before = memory.tobytes()
        try:
            old, new = self.launch(launch, given, parameter)
        except dlaunch.Error as error:
            kind = dlaunch.ArgumentError if "null" in broken else dlaunch.TensorError
            if type(error) is not kind or error.argument != 0:
                raise Wrong(f"{type(error).__name__} of argument {error.argument}: {error}") from error
            if not any(word in str(error) for rule in broken for word in WORDS[rule]):
                raise Wrong(f"{broken or 'nothing'} is wrong with it, but: {error}") from error
            if given.contents().tobytes() != before:
                raise Wrong(f"memory changed by a launch that was refused: {error}") from error
            return str(error)
        if broken:
            raise Wrong(f"taken, though wrong in {broken}")
        if given.value is None:
            return None
        seen, afterwards = swapped(memory, given, "F" if parameter.layout == "@fortran" else "C", new)
        if old != seen:
            raise Wrong(f"the kernel saw {old.hex()}, not {seen.hex()}")
        if given.contents().tobytes() != afterwards:
            raise Wrong("the memory is not as it should be afterwards")
        return None


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with dlaunch.load(PTX) as library:
        made = Table(library)
        yield made
        made.close()


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_every_form_for_every_parameter(table: Table, framework: Framework) -> None:
    wrong, cells = [], 0
    for form in forms():
        given = framework.put(form)
        if given is None:
            continue
        for parameter in PARAMETERS:
            broken = broken_rules(parameter, given, form.name)
            answers = set()
            for way, launch in zip(("builtin", "ctypes"), table.launchers[parameter.prototype(form)], strict=True):
                try:
                    answers.add(table.check(launch, given, parameter, broken))
                except Wrong as what:
                    wrong.append(f"{form.id}, {parameter}, {way}: {what}")
            if len(answers) > 1:
                wrong.append(f"{form.id}, {parameter}: two answers: {answers}")
            cells += 1
    assert not wrong, f"{len(wrong)} cells, as\n" + "\n".join(wrong[:20])
    assert cells >= len(PARAMETERS)  # of one form at least
