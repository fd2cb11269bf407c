"""Sizes and counts of a launch, checked before they go into C's narrower ones."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from dlaunch._errors import ArgumentError, ConfigError


def whole(item: Any) -> int | None:
    """Give an int; None for what is none, as a bool, which NumPy takes for a mask."""
    if is_truth(item):
        return None
    try:
        return operator.index(item)
    except TypeError:
        return None


def wholes(what: str, given: Any) -> list[int]:
    """Give the ints of a shape, which is an int or several: ArgumentError for anything else."""
    items = [given] if whole(given) is not None or not isinstance(given, Iterable) else list(given)
    found = [number for number in map(whole, items) if number is not None]
    if len(found) < len(items):
        raise ArgumentError(f"{what} is {given!r}; an int or a sequence of ints is wanted")
    return found


def is_truth(value: Any) -> bool:
    """Tell a bool, Python's or NumPy's: before NumPy 2.4 both pass for ints."""
    return type(value).__name__ in ("bool", "bool_")


def count(what: str, value: Any) -> int:
    """Check a number that the C struct has 32 bits for."""
    try:
        number = -1 if is_truth(value) else operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise ConfigError(f"{what} is {value!r}; an int from 0 is wanted")
    if number >= 1 << 32:
        raise ConfigError(f"{what} is {number}; it must be below 2**32")
    return number


def sizes(what: str, value: Any, empty_ok: bool = False) -> tuple[int, int, int]:
    """Check a grid, block or cluster, and give all three sizes."""
    items = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not 1 <= len(items) <= 3:
        raise ConfigError(f"{what} is {value!r}; an int or a tuple of one to three is wanted")
    found = []
    for axis, item in zip("xyz", items, strict=False):
        number = count(f"{what}.{axis}", item)
        if number == 0 and not empty_ok:
            raise ConfigError(
                f"{what}.{axis} is 0; 1 or more is wanted (or empty_ok=True, for a launch that does nothing)"
            )
        found.append(number)
    x, y, z = (*found, 1, 1)[:3]
    return x, y, z
