"""Launches that wait for room in the driver's queue let Python run: what the GPU waits for may be Python's."""

from __future__ import annotations

from pathlib import Path

import pytest
from process import output_of

pytestmark = pytest.mark.gpu

PROGRAM = """
import ctypes
import threading
import time
import dlaunch

library = dlaunch.load({image!r})
kernel = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
x, y, stream = dlaunch.zeros(32, "f32"), dlaunch.zeros(32, "f32"), dlaunch.Stream()
launch = kernel.configure(1, 32, stream)
launch(1.0, x, y)
dlaunch.synchronize()
launched, at_callback = [0] * {threads}, []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def callback(_):
    time.sleep(1)  # the queue is full long before
    at_callback.append(sum(launched))

def work(number):
    for _ in range({each}):
        launch(1.0, x, y)
        launched[number] += 1

def be_busy():
    while not at_callback:
        sum(range(100))

queue = ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc
assert queue(ctypes.c_void_p(stream.native), callback, None) == 0
started = [threading.Thread(target=work, args=(i,)) for i in range({threads})]
for _ in range({busy}):
    threading.Thread(target=be_busy, daemon=True).start()
for thread in started:
    thread.start()
for thread in started:
    thread.join()
stream.synchronize()
print(*at_callback, sum(launched))
"""


@pytest.mark.parametrize("busy", [0, 2])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_python_callback_is_pending(kernels: Path, threads: int, busy: int) -> None:
    each = 3000 // threads
    said = output_of(PROGRAM.format(image=str(kernels / "saxpy.ptx"), threads=threads, busy=busy, each=each))
    when_called, launched = (int(word) for word in said.split())
    assert 500 < when_called < launched == each * threads, "the queue was not full: nothing was tested"
