"""The base of all objects that own a handle."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, ClassVar, NoReturn, TypeVar

from dlaunch import _lib
from dlaunch._errors import Error


def refuse_copy(self: object, memo: object = None) -> NoReturn:
    """Stand in for __copy__ and __deepcopy__ of what can be pickled: a copy beside it would load everything again."""
    raise TypeError(f"a dlaunch {type(self).__name__} cannot be copied; share it, or pickle it for another process")


_Self = TypeVar("_Self", bound="Managed")


class Managed:
    """Owns one handle: closed by close, by the end of a `with`, or with the object.

    close() twice is fine; use after close is a HandleError. Things may be closed in any order.
    """

    __slots__ = ("__weakref__", "_handle", "_owned")

    _closer: ClassVar[str]

    def __init__(self, handle: int) -> None:
        """Own a handle."""
        self._handle = handle
        self._owned = [handle]  # emptied by whoever closes: pop is atomic

    @property
    def handle(self) -> int:
        """The number that the C interface knows this by; it stays when this is closed, and is then stale."""
        return self._handle

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return not self._owned

    def close(self) -> None:
        """Close this. What still uses it, a launch or something made of it, is not harmed."""
        try:
            handle = self._owned.pop()
        except IndexError:
            return
        _lib.call(self._closer, handle)

    def __enter__(self: _Self) -> _Self:
        """Give this object."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close this."""
        self.close()

    def __del__(self) -> None:
        """Close this without waiting; be silent in a forked child and at the interpreter's end."""
        if sys is None or sys.is_finalizing():
            return
        try:
            _lib.call("dlaunch_retire", self._owned.pop())
        except (AttributeError, IndexError, Error):
            return

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to be pickled or copied: a handle means nothing elsewhere."""
        raise TypeError(f"a dlaunch {type(self).__name__} cannot be pickled or copied; make it anew where it is needed")
