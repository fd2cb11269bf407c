"""The file that a library was loaded from, for when the library is pickled."""

from __future__ import annotations

import os
import pickle


class ImageFile:
    """A file that is read again when its contents are wanted: an image in memory twice may take too much."""

    __slots__ = ("_mark", "path")

    def __init__(self, path: str) -> None:
        """Note which file it is, before it is loaded."""
        self.path = os.path.abspath(path)
        self._mark = self._look()

    def _look(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> bytes:
        """Give what was loaded; PicklingError if the file is not as it was then."""
        if self._mark is not None and self._look() == self._mark:
            with open(self.path, "rb") as file:
                data = file.read()
            if self._look() == self._mark:
                return data
        raise pickle.PicklingError(
            f"{self.path} has changed since it was loaded, and what is pickled is the image; "
            "load its bytes, dlaunch.load(open(path, 'rb').read()), where files do not stay"
        )
