"""What a corpus kernel is: its file, its prototype, and what makes a launch and says what must come of it."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parents[2] / "testdata" / "kernels"
SENTINEL = 0x5A  # fills the bytes of an output before the launch: what a kernel forgets to write shows


@dataclasses.dataclass(frozen=True)
class Argument:
    """One kernel parameter. `expected` is the whole of `value` after the launch; `view` picks what is passed of it."""

    value: Any
    mode: str = "in"
    expected: np.ndarray | None = None
    rtol: float = 0.0
    atol: float = 0.0
    view: slice | None = None
    filled: bool = False  # the prototype fills it in, so that it is passed only without one
    raw: Any = None  # what stands for it without a prototype, if not `value`

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, np.ndarray)

    def check(self, actual: np.ndarray, what: str) -> None:
        expected = self.value if self.expected is None else self.expected
        assert actual.dtype == expected.dtype and actual.shape == expected.shape, (
            f"{what}: {actual.dtype}{actual.shape}"
        )
        if self.rtol or self.atol:
            np.testing.assert_allclose(actual, expected, self.rtol, self.atol, err_msg=what)
        else:
            np.testing.assert_array_equal(actual, expected, err_msg=what)


def given(value: Any, view: slice | None = None, raw: Any = None) -> Argument:
    return Argument(value, view=view, raw=raw)


def filled(value: int) -> Argument:
    return Argument(value, filled=True)


def out(expected: np.ndarray, rtol: float = 0.0, atol: float = 0.0) -> Argument:
    before = np.frombuffer(bytes([SENTINEL]) * expected.nbytes, expected.dtype).reshape(expected.shape).copy()
    return Argument(before, "out", expected, rtol, atol)


def inout(
    before: np.ndarray, after: np.ndarray, rtol: float = 0.0, atol: float = 0.0, view: slice | None = None
) -> Argument:
    return Argument(before, "inout", after, rtol, atol, view)


@dataclasses.dataclass(frozen=True)
class Symbol:
    """A variable of the module: what to write before the launch, what to read after it."""

    name: str
    before: np.ndarray
    after: np.ndarray


@dataclasses.dataclass(frozen=True)
class Case:
    arguments: Sequence[Argument]
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    shared: int = 0
    symbols: Sequence[Symbol] = ()
    lines: Sequence[str] | None = None  # what the kernel prints, in any order


Size = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class CorpusKernel:
    name: str
    file: str
    prototype: str
    sizes: Sequence[Size]
    build: Callable[..., Case]
    raw: bool = True  # it can also be launched without a prototype
    without: Sequence[str] = ()  # kinds of array that cannot hold its arguments

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @property
    def entry(self) -> str:
        """The name in the PTX: the prototype's, or that of the only entry."""
        name = self.prototype[: self.prototype.index("(")]
        if name:
            return name
        (only,) = re.findall(r"\.entry\s+([\w$]+)", self.path.read_text())
        return str(only)

    def case(self, size: Size) -> Case:
        """The same inputs at every call."""
        seed = zlib.crc32(f"{self.name}{size}".encode())
        return self.build(np.random.default_rng(seed), *size)


def kernel(
    file: str, prototype: str, sizes: Sequence[int | Size], raw: bool = True, without: Sequence[str] = ()
) -> Callable[[Callable[..., Case]], CorpusKernel]:
    as_tuples = [s if isinstance(s, tuple) else (s,) for s in sizes]
    return lambda build: CorpusKernel(build.__name__, file, prototype, as_tuples, build, raw, without)


def blocks(n: int, block: int) -> int:
    """Enough blocks for n elements; never none, since an empty grid is an error."""
    return max(1, -(-n // block))


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def ints(rng: np.random.Generator, low: int, high: int, *shape: int, dtype: Any = np.int32) -> np.ndarray:
    return rng.integers(low, high, shape).astype(dtype)
