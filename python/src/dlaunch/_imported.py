"""Tensors of others that dlaunch has taken over: their memory stays as long as something of dlaunch's needs it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from dlaunch import _export, _lib, _tensor
from dlaunch._capsule import capsule_pointer
from dlaunch._managed import Managed

_NAME, _USED = b"dltensor_versioned", b"used_dltensor_versioned"  # of a capsule, before and after it is consumed


class ImportedTensor(Managed):
    """A dlaunch_tensor: what was read is let go when this is closed, and no launch or graph needs it any more."""

    __slots__ = ()

    _closer = "dlaunch_tensor_close"

    def __init__(self, borrowed: _tensor.BorrowedTensor) -> None:
        """Take over the description of a tensor, and what it keeps alive."""
        capsule, out = _export.capsule_of_view(None, borrowed, True), ctypes.c_uint64()
        address = capsule_pointer(capsule, _NAME)
        _set_name()(capsule, _USED)
        _lib.call("dlaunch_tensor_import_versioned", address, ctypes.byref(out))  # consumes it, whatever comes of it
        super().__init__(out.value)


@functools.cache
def _set_name() -> Callable[[object, bytes], int]:
    # The capsule keeps the address of the name, which is there for ever.
    function = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
    return function(("PyCapsule_SetName", ctypes.pythonapi))
