"""The base of all objects that own a handle."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, ClassVar, NoReturn, TypeVar

from dlaunch import _lib
from dlaunch._errors import Error


def refuse_copy(self: object, memo: object = None) -> NoReturn:
    """Stand in for __copy__ and __deepcopy__ of what can be pickled: a copy beside it would load everything again."""
    raise TypeError(f"a dlaunch {type(self).__name__} cannot be copied; share it, or pickle it for another process")


_Self = TypeVar("_Self", bound="Managed")

_PACKAGE = str(Path(__file__).parent)


class Managed:
    """Owns one handle: closed by close, by the end of a `with`, or with the object.

    close() twice is fine; use after close is a HandleError. Things may be closed in any order.
    """

    __slots__ = ("__weakref__", "_handle", "_owned")

    _closer: ClassVar[str]
    _origins_traced: ClassVar[bool | None] = None  # by trace_origins; else as the library was loaded

    def __init__(self, handle: int) -> None:
        """Own a handle."""
        self._handle = handle
        self._owned = [handle]  # emptied by whoever closes: pop is atomic
        traced = Managed._origins_traced
        if _lib.loaded().traces_origins if traced is None else traced:
            _lib.call("dlaunch_annotate", handle, _origin().encode("utf-8", "backslashreplace"))

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
        """Close this without waiting; be silent in a forked child and at the interpreter's end.

        Then the library is only told, for DLAUNCH_LEAK, that the interpreter has let this go.
        """
        if sys is None or not getattr(self, "_owned", None):
            return
        try:
            if sys.is_finalizing() and not _lib.loaded().counts_leaks:
                return
            _lib.call("dlaunch_disown" if sys.is_finalizing() else "dlaunch_retire", self._owned.pop())
        except (AttributeError, IndexError, TypeError, Error):
            return

    def __reduce__(self) -> tuple[Any, ...]:
        """Refuse to be pickled or copied: a handle means nothing elsewhere."""
        raise TypeError(f"a dlaunch {type(self).__name__} cannot be pickled or copied; make it anew where it is needed")


def trace_origins(on: bool = True) -> None:
    """Keep where each object is made, the file and line outside this package, or stop that.

    report()["handles"][n]["origin"], the log and the report of leaks show it. It costs some microseconds an object; it
    is on from the start where DLAUNCH_LOG or DLAUNCH_LEAK is.
    """
    Managed._origins_traced = on


def _origin() -> str:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
