"""check="pointers": tensors whose memory is not what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from claims import Claims
from process import output_of

import dlaunch

on_gpu = dlaunch.driver_info().kind == "cuda"


@pytest.fixture
def memory() -> Iterator[dlaunch.DeviceArray]:
    with dlaunch.zeros(100, "f32") as array:
        yield array


def test_good_memory(saxpy: dlaunch.Kernel, memory: dlaunch.DeviceArray) -> None:
    checked = saxpy.configure(1, 128, check="pointers")
    with dlaunch.full(100, 3, "f32") as x:
        checked(2.0, x, memory)
        checked(2.0, x[10:20], memory[90:])
    np.testing.assert_array_equal(memory.copy_to_host(), np.repeat(np.float32([6, 12]), [90, 10]))


def test_past_the_end(saxpy: dlaunch.Kernel, memory: dlaunch.DeviceArray) -> None:
    long = Claims(memory.ptr + 4, 100, memory.__dlpack_device__())
    message = "reaches 4 bytes past the end of its allocation of 400 bytes"
    with dlaunch.zeros(100, "f32") as y, pytest.raises(dlaunch.TensorError, match=message) as caught:
        saxpy.launch(2.0, long, y, grid=1, block=128, check="pointers")
    assert caught.value.argument == 1


def test_freed_memory(saxpy: dlaunch.Kernel, memory: dlaunch.DeviceArray) -> None:
    other = dlaunch.empty(100, "f32")
    gone = Claims(other.ptr, 100, other.__dlpack_device__())
    other.close()
    for _ in range(2):
        with pytest.raises(dlaunch.TensorError, match="knows no memory at 0x[0-9a-f]+, .*: it was freed"):
            saxpy.launch(2.0, gone, memory, grid=1, block=128, check="pointers")


def test_no_elements(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.empty(0, "f32") as x, dlaunch.empty(0, "f32") as y:
        saxpy.launch(2.0, x, y, grid=1, block=32, check="pointers")


def test_host_arrays_are_copied_all_the_same(saxpy: dlaunch.Kernel) -> None:
    x, y = np.arange(8, dtype="f4"), np.ones(8, "f4")
    saxpy.launch(2.0, x, y, grid=1, block=8, check="pointers")
    np.testing.assert_array_equal(y, 2 * np.arange(8) + 1)


def test_symbols_of_a_library(saxpy: dlaunch.Kernel, memory: dlaunch.DeviceArray) -> None:
    text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 4 .b8 table[400];\n"
    with dlaunch.load(text) as library:
        table = library.globals["table"].view("f32")
        saxpy.launch(2.0, table, memory, grid=1, block=128, check="pointers")
        long = Claims(table.ptr, 101, table.__dlpack_device__())
        with dlaunch.zeros(101, "f32") as y, pytest.raises(dlaunch.TensorError, match="4 bytes past the end"):
            saxpy.launch(2.0, long, y, grid=1, block=128, check="pointers")


if on_gpu:

    def test_host_memory_in_a_device_tensor(saxpy: dlaunch.Kernel, memory: dlaunch.DeviceArray) -> None:
        host = np.zeros(100, "f4")
        with pytest.raises(dlaunch.TensorError, match="it was freed, or is the host's"):
            saxpy.launch(2.0, Claims(host.ctypes.data, 100, (2, 0)), memory, grid=1, block=128, check="pointers")


SCRIPT = """
    import sys
    sys.path.insert(0, {tests!r})
    import dlaunch
    from claims import Claims
    with dlaunch.load({image!r}) as library, dlaunch.zeros(8, "f32") as x, dlaunch.zeros(9, "f32") as y:
        saxpy = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
        saxpy[1, 32](1.0, x, y[:8])
        try:
            saxpy[1, 32](1.0, Claims(x.ptr, 9, x.__dlpack_device__()), y)
        except dlaunch.TensorError as error:
            print(error)
"""


def test_for_all_launches(kernels: Path) -> None:
    script = SCRIPT.format(tests=str(Path(__file__).parent), image=str(kernels / "saxpy.ptx"))
    assert "argument 1 (x): it reaches 4 bytes past the end" in output_of(script, DLAUNCH_CHECK="pointers")
    wrong = "try: dlaunch.synchronize()\nexcept dlaunch.NoDriverError as error: print(error)"
    assert 'DLAUNCH_CHECK is "bounds"; pointers' in output_of("import dlaunch\n" + wrong, DLAUNCH_CHECK="bounds")
