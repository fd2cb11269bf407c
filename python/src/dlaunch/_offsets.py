"""Where objects keep what they show: found by trying, for C to read."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_Word = type[ctypes.c_uint64] | type[ctypes.c_uint32]


def offset_of(objects: Sequence[Any], wanted: Callable[[Any], int], word: _Word = ctypes.c_uint64) -> int:
    """Find the one offset at which each of several objects of a class has a word of that value; -1 if there is none."""
    size = ctypes.sizeof(word)
    blocks = [ctypes.string_at(id(o), type(o).__basicsize__) for o in objects]
    return offset_in(blocks, [wanted(o).to_bytes(size, sys.byteorder) for o in objects], size)


def offset_in(blocks: Sequence[bytes], values: Sequence[bytes], step: int = 8) -> int:
    """Find the one multiple of step at which each block of memory has its value; -1."""
    found = []
    for block, value in zip(blocks, values, strict=True):
        found.append({at for at in range(0, len(block) - len(value) + 1, step) if block.startswith(value, at)})
    return _only(found)


def span_offset_of(objects: Sequence[Any], wanted: Callable[[Any], tuple[int, ...]]) -> int:
    """Find the one offset at which each object has the two ends of an array of those 64-bit integers; -1."""
    # Only what looks like the two addresses in every object is followed.
    alike = set.intersection(*(_spans(_words(o), 8 * len(wanted(o))) for o in objects))
    found = []
    for o in objects:
        words, values = _words(o), wanted(o)
        found.append({at for at in alike if _integers(words[at // 8], len(values)) == values})
    return _only(found)


def _words(o: Any) -> Any:
    return (ctypes.c_uint64 * (type(o).__basicsize__ // 8)).from_address(id(o))


def _spans(words: Any, size: int) -> set[int]:
    addresses = range(len(words) - 1)
    return {8 * at for at in addresses if words[at] > 4096 and words[at] % 8 == 0 and words[at + 1] - words[at] == size}


def _integers(address: int, length: int) -> tuple[int, ...]:
    return tuple((ctypes.c_int64 * length).from_address(address))


def _only(found: Iterable[set[int]]) -> int:
    common = set.intersection(*found)
    return common.pop() if len(common) == 1 else -1
