"""What differs between Pythons: builds without a lock, without builtins, and several interpreters in one process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from process import output_of

import dlaunch
from dlaunch import _lib
from dlaunch._sizes import is_truth

HAS_LOCK = "t" not in sys.abiflags

USE = """
import gc, dlaunch
text = "//\\n.version 7.0\\n.target sm_70\\n.address_size 64\\n.visible .entry nothing(.param .u64 x) { ret; }\\n"
with dlaunch.load(text) as library, library["nothing"] as kernel, dlaunch.zeros(4, "f32") as x:
    for _ in range(200):
        kernel[1, 1](x)
    kernel[1, 1](dlaunch.from_dlpack(x))
    batch = dlaunch.batch([(kernel[1, 1], x)] * 2)
    batch()
    view = dlaunch.from_dlpack(x)
    del batch, view
try:
    kernel[1, 1](x)
    raise SystemExit("a closed kernel was launched")
except dlaunch.HandleError:
    gc.collect()
"""

# By what the standard library has for its own tests.
HELP = """
import sys, threading
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create(isolated):
    if sys.version_info < (3, 13):
        return interpreters.create(isolated=isolated)
    return interpreters.create("isolated" if isolated else "legacy")

def run(code, isolated=False):
    number = create(isolated)
    try:
        failed = interpreters.run_string(number, code)  # raises, before Python 3.13
        if failed is not None:
            raise RuntimeError(failed)
    finally:
        interpreters.destroy(number)
"""


def test_one_interpreter_after_the_other() -> None:
    """The first can go on, although ctypes forgot its pointer types when the second imported it."""
    out = output_of(
        f"{HELP}\ncode = {USE!r}\nexec(code)\nfor _ in range(3):\n    run(code)\n    exec(code)\nprint('done')"
    )
    assert out == "done\n"


def test_interpreters_at_once() -> None:
    out = output_of(
        f"""{HELP}
code = {USE!r}
errors = []
def work():
    try:
        for _ in range(3):
            run(code)
    except BaseException as error:
        errors.append(error)
exec(code)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(5):
    exec(code)
for thread in threads:
    thread.join()
print(errors)
"""
    )
    assert out == "[]\n"


def test_interpreters_with_locks_of_their_own() -> None:
    """Which Python 3.12's ctypes refuses; before, there was no such thing."""
    out = output_of(
        f"""{HELP}
code = {USE!r}
try:
    threads = [threading.Thread(target=run, args=(code, True)) for _ in range(2)]
    exec(code)
    run(code, isolated=True)
    [thread.start() for thread in threads]
    exec(code)
    [thread.join() for thread in threads]
    print("done")
except interpreters.RunFailedError as error:
    print("ImportError" in str(error) and "_ctypes" in str(error))
"""
    )
    assert out == ("True\n" if sys.version_info[:2] == (3, 12) else "done\n")


@pytest.mark.builtin
def test_another_class_of_another_version_does_without(saxpy: dlaunch.Kernel) -> None:
    """Interpreters share the builtin behind kernel[grid, block], and so where a Kernel keeps its launchers."""
    python = _lib.loaded().python
    assert python is not None and type(type(saxpy).__getitem__).__name__ == "method_descriptor"
    assert python.dlaunch_python_subscript(dlaunch.Kernel, 4096) is None
    assert python.dlaunch_python_subscript(dlaunch.Kernel, -1) is None


def test_builtins_are_made_where_they_can_be() -> None:
    library = _lib.loaded()
    assert library.makes_builtins == (HAS_LOCK and os.environ.get("DLAUNCH_FASTCALL") != "0")
    assert library.python is not None  # capsules need no builtin


def ways(saxpy: dlaunch.Kernel, x: dlaunch.DeviceArray, y: dlaunch.DeviceArray) -> dict[str, Callable[[], Any]]:
    launch, held = saxpy[1, 8], saxpy.configure(1, 8, hold_gil=True)

    def wrong() -> None:
        with pytest.raises(dlaunch.ArgumentError):
            launch(object(), x, y)

    def few() -> None:
        with pytest.raises(dlaunch.ArgumentError):
            launch(1.0, x)

    return {
        "lock released": lambda: launch(12345.0, x, y),
        "lock held": lambda: held(12345.0, x, y),
        "subscript": lambda: saxpy[1, 8](7, x, y),
        "longer subscript": lambda: saxpy[1, 8, None](7, x, y),
        "large int": lambda: launch(1 << 62, x, y),
        "bool": lambda: launch(True, x, y),
        "bytes": lambda: launch(b"\0\0\0\x40", x, y),
        "NumPy's": lambda: launch(np.int32(3), x, y),
        "view": lambda: launch(1.0, dlaunch.from_dlpack(x), y),
        "capsule": x.__dlpack__,
        "batch": dlaunch.batch([(launch, 1.0, x, y)]),
        "wrong type": wrong,
        "wrong count": few,
    }


def test_nothing_is_left_of_launches(saxpy: dlaunch.Kernel) -> None:
    """Neither references nor memory of Python's; None and others are counted up to Python 3.11."""
    with dlaunch.zeros(8, "f32") as x, dlaunch.zeros(8, "f32") as y:
        things = [None, True, False, (), 0, 7, x, y, saxpy, float, int, tuple, dlaunch.DeviceArray, dlaunch.Kernel]

        def count() -> list[int]:
            gc.collect()
            blocks = sys.getallocatedblocks() if HAS_LOCK else 0  # without, memory is given back late
            return [*map(sys.getrefcount, things), blocks]

        left = {}
        for name, way in ways(saxpy, x, y).items():
            for rounds in (300, 1000):  # the first are not counted
                before = count()
                for _ in range(rounds):
                    way()
                after = count()
            left[name] = max(abs(a - b) for a, b in zip(after, before, strict=True))
        assert max(left.values()) < 200, left


@pytest.mark.parametrize("value", [True, np.True_, np.False_])
def test_truths_are_no_numbers(saxpy: dlaunch.Kernel, value: Any) -> None:
    """Before NumPy 2.4, those of NumPy's pass for integers."""
    assert is_truth(value) and not is_truth(1) and not is_truth(np.int8(1))
    with pytest.raises(dlaunch.ConfigError, match=r"grid\.x is"):
        saxpy.configure(value, 32)
    with pytest.raises(dlaunch.ArgumentError, match="device is"):
        dlaunch.synchronize(value)
