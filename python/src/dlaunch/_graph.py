"""CUDA graphs of launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dlaunch import _lib
from dlaunch._managed import Managed
from dlaunch._stream import stream_number

StreamSource = Callable[[], "int | None"]


def current(source: StreamSource | None) -> int:
    """Give the stream for what names none: the current one that source tells, else the legacy default stream."""
    return (source() or 0) if source is not None else 0


class Graph(Managed):
    """Launches that the driver does in one call: what Batch.graph() gives.

    Numbers, addresses and shapes are those of that time. It holds the kernels and the memory, which may be closed and
    collected before, until it is closed itself and has run.
    """

    __slots__ = ("_keep", "_source")

    _closer = "dlaunch_graph_close"

    def __init__(self, handle: int, source: StreamSource | None, keep: object) -> None:
        """Own a handle; source tells the stream of launches that name none. keep is kept."""
        super().__init__(handle)
        self._source, self._keep = source, keep

    def launch(self, stream: Any = None) -> None:
        """Launch it on a stream of its device; None as in Batch.

        One graph runs once at a time: later launches wait on the GPU. UnsupportedError on a stream that is being
        captured; FaultError for what went wrong earlier, or, on the simulator, in this launch.
        """
        number = current(self._source) if stream is None else stream_number(stream)
        _lib.call("dlaunch_graph_launch", self._handle, number)

    __call__ = launch

    def __repr__(self) -> str:
        """Show whether this is closed."""
        return f"<dlaunch.Graph{', closed' if self.closed else ''}>"
