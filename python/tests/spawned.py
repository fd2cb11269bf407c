"""What other processes run, and must therefore be able to import."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

import dlaunch


def add(kernel: dlaunch.Kernel, x: Any) -> tuple[int, Any]:
    """Launch a saxpy that takes what it was not bound to, and say in which process."""
    y = np.ones(len(x), "f4")
    given = [value for name, value in (("a", 2.0), ("x", x), ("y", y)) if name in unbound(kernel)]
    kernel[1, 128](*given)
    return os.getpid(), y


def unbound(kernel: dlaunch.Kernel) -> list[str]:
    """The names of what is passed."""
    return [p.name for p in kernel.parameters if not p.filled and not p.bound]


def describe(library: dlaunch.Library, kernels: list[dlaunch.Kernel]) -> tuple[list[str], int, int]:
    """Launch all, and give the library's kernels, how many libraries are open, and how many kernels there were."""
    y = np.ones(4, "f4")
    for kernel in kernels:
        kernel[1, 32](1.0, y.copy(), y)
    return library.kernels, libraries(), len(kernels)


def call(text: bytes) -> Any:
    """Call a pickled function."""
    return pickle.loads(text)()


def libraries() -> int:
    """How many libraries are open."""
    live: dict[str, int] = dlaunch.report()["live"]
    return live.get("library", 0)
