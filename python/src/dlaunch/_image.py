"""One image as it was given: the path of a file, or the bytes themselves."""

from __future__ import annotations

import os
import pickle
from typing import Any

from dlaunch import _lib
from dlaunch._errors import ArgumentError, MissingFileError


class Image:
    """What load and link take. Of a file the contents are not kept: an image in memory twice may take too much.

    path: of a file, else None. data: the bytes, else empty. label: how messages call it.
    """

    __slots__ = ("_mark", "data", "label", "path")

    def __init__(self, what: str, given: Any) -> None:
        """Note which file it is, before that is loaded. what: the function that was called."""
        self.path: bytes | None = None
        self.data = b""
        self._mark: tuple[int, ...] | None = None
        if isinstance(given, str) and ("\n" in given or given.lstrip().startswith((".version", "//"))):
            self.data, self.label = given.encode("utf-8", "surrogatepass"), "PTX text"
        elif isinstance(given, str | os.PathLike):
            _lib.loaded()  # a library of ours that is missing is not the file that was asked for
            self.path, self.label = os.path.abspath(os.fsencode(given)), os.fsdecode(given)
            if b"\0" in self.path:
                raise ArgumentError(f"{what}: path {self.label!r} has a NUL in it")
            self._mark = self._look()
        else:
            try:
                self.data = bytes(memoryview(given))
            except (TypeError, ValueError):  # no buffer, or an array of dates
                kind = type(given).__name__
                raise ArgumentError(f"{what}: {kind} given; PTX text, a path, or bytes of an image is wanted") from None
            self.label = f"{len(self.data)} bytes"

    def read(self) -> bytes:
        """Give the contents: MissingFileError or ArgumentError for a file that cannot be read."""
        if self.path is None:
            return self.data
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except OSError as error:
            refusal = MissingFileError if isinstance(error, FileNotFoundError) else ArgumentError
            raise refusal(f"link: cannot read {self.label!r}: {error.strerror}") from error

    def loaded(self) -> Image:
        """Give what was loaded, as bytes, to be pickled; PicklingError if the file is not as it was then."""
        if self.path is None:
            return self
        if self._mark is not None and self._look() == self._mark:
            made = Image("load", self.read())
            if self._look() == self._mark:
                made.label = self.label
                return made
        raise pickle.PicklingError(
            f"{os.fsdecode(self.path)} has changed since it was loaded, and what is pickled is the image; "
            "load its bytes, dlaunch.load(open(path, 'rb').read()), where files do not stay"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bytes of one that loaded() gave."""
        return _of_bytes, (self.data, self.label)

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.path or b"")
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _of_bytes(data: bytes, label: str) -> Image:
    image = Image("load", data)
    image.label = label
    return image
