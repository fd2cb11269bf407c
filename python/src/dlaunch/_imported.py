"""Tensors of others that dlaunch has taken over: their memory stays as long as something of dlaunch's needs it."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from dlaunch import _lib, _tensor
from dlaunch._errors import TensorError
from dlaunch._managed import Managed

# The names of capsules, what they are called once somebody has taken what is in them, and who takes it here.
_KINDS = (
    (b"dltensor_versioned", b"used_dltensor_versioned", "dlaunch_tensor_import_versioned"),
    (b"dltensor", b"used_dltensor", "dlaunch_tensor_import"),
)


class ImportedTensor(Managed):
    """A dlaunch_tensor: closing it lets the memory go when the launches and graphs that use it are done."""

    __slots__ = ()

    _closer = "dlaunch_tensor_close"

    def __init__(self, capsule: object) -> None:
        """Take over what is in a capsule of DLPack."""
        for name, used, function in _KINDS:
            address = _tensor.capsule_pointer(capsule, name)
            if address:
                out = ctypes.c_uint64()
                _set_name()(capsule, used)  # it is consumed, whatever comes of it
                _lib.call(function, address, ctypes.byref(out))
                super().__init__(out.value)
                return
        raise TensorError("what is in its capsule was taken by somebody else")


@functools.cache
def _set_name() -> Callable[[object, bytes], int]:
    # The capsule keeps the address of the name: those above are there for ever.
    found = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
    function: Callable[[object, bytes], int] = found(("PyCapsule_SetName", ctypes.pythonapi))
    return function
