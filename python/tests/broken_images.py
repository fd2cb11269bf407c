"""Loads images that are cut or have a flipped bit, and prints what came of each: a program, since drivers may crash.

    broken_images.py FIRST FILE...

Each line is a number, from FIRST on, and `refused`, `loaded`, or an error that is neither. A crash leaves the number of
the image that was tried.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import dlaunch

CUT_EVERY, FLIP_EVERY = 64, 23  # odd, so that flips reach every field of tables with entries of 8, 24 and 64 bytes


def broken(files: list[str]) -> Iterator[tuple[str, bytes]]:
    """Give every broken image, and whether it is 'cut' or 'flipped'."""
    for file in files:
        whole = Path(file).read_bytes()
        for end in range(0, len(whole), CUT_EVERY):
            yield "cut", whole[:end]
        for number, at in enumerate(range(0, len(whole), FLIP_EVERY)):
            flipped = bytearray(whole)
            flipped[at] ^= 1 << number % 8
            yield "flipped", bytes(flipped)


def outcome(image: bytes) -> str:
    """Load an image: what has it, or refuses it in words, is as it should be."""
    try:
        with dlaunch.load(image) as library:
            return f"loaded {len(library.kernels)}"
    except (dlaunch.ImageError, dlaunch.UnsupportedError, dlaunch.OutOfMemoryError) as error:
        return "refused" if str(error) else "refused without a word"
    except dlaunch.Error as error:
        return f"{type(error).__name__}: {error}".replace("\n", " ")


if __name__ == "__main__":
    first = int(sys.argv[1])
    for number, (how, image) in enumerate(broken(sys.argv[2:])):
        if number >= first:
            print(number, how, end=" ", flush=True)
            print(outcome(image), flush=True)
