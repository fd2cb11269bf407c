"""Who makes the driver's call beside a busy Python thread, and with whose lock. One function a process: lock.py NAME."""

import contextlib
import ctypes
import faulthandler
import sys
import threading
import time

import dlaunch

IMAGE = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry args_2(.param .u64 a, .param .u64 b) { ret; }
"""

faulthandler.dump_traceback_later(60, exit=True)  # a dead-lock fails
driver = ctypes.CDLL("libcuda.so.1")
waits, takes, code, launches, elsewhere = (
    ctypes.c_int.in_dll(driver, f"stub_{name}") for name in ("waits", "takes", "code", "launches", "elsewhere")
)
kernel = dlaunch.load(IMAGE).kernel("args_2(a: f32[n], b: f32[n])")
arrays = dlaunch.empty(8, "f32"), dlaunch.empty(8, "f32")


@contextlib.contextmanager
def busy_thread():
    done = threading.Event()

    def work():
        while not done.is_set():
            sum(range(100))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


FOUND = 18  # launches that it takes to find a busy thread: the first, which is another way's, two that are late ...


def find_busy(launch):
    """Launch so slowly that a busy thread has the lock meanwhile."""
    takes.value = 5000
    for _ in range(FOUND):
        launch(*arrays)
    takes.value = 0


def keeps():
    launch = kernel.configure(1, 32)
    with busy_thread():
        find_busy(launch)
        before = elsewhere.value
        for _ in range(900):
            launch(*arrays)
        assert elsewhere.value - before == 900
        for _ in range(200):
            launch(*arrays)
    assert launches.value == FOUND + 1100 and elsewhere.value >= 1000
    assert launches.value - elsewhere.value >= 4, "the first, two that were late, and one that is timed after 1000"


def waits_for_python():
    launch = kernel.configure(1, 32)
    with busy_thread():
        find_busy(launch)
        for _ in range(20):
            waits.value, before = 1, elsewhere.value
            threading.Timer(0.02, setattr, (waits, "value", 0)).start()
            launch(*arrays)
            assert waits.value == 0 and elsewhere.value == before + 1


def fails():
    launch = kernel.configure(1, 32)
    with busy_thread():
        find_busy(launch)
        before, code.value = elsewhere.value, 701  # CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
        try:
            launch(*arrays)
        except dlaunch.DriverError as error:
            assert error.driver_code == 701 and "args_2" in str(error), error
        else:
            raise AssertionError("no error")
        assert elsewhere.value == before + 1


def per_thread():
    launch = kernel.configure(1, 32, stream=2)
    with busy_thread():
        find_busy(launch)
        for _ in range(100):
            launch(*arrays)
    assert elsewhere.value == 0, "CU_STREAM_PER_THREAD is the calling thread's"


def held():
    launch = kernel.configure(1, 32, hold_gil=True)
    with busy_thread():
        find_busy(launch)
    assert elsewhere.value == 0


def four_threads():
    launch, each = kernel.configure(1, 32), 2000
    found = threading.Barrier(4, lambda: setattr(takes, "value", 0))
    takes.value = 5000

    def work():
        for _ in range(FOUND):
            launch(*arrays)
        found.wait()
        for _ in range(each):
            launch(*arrays)

    with busy_thread():
        started = [threading.Thread(target=work) for _ in range(4)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()
    assert launches.value == 4 * (each + FOUND)
    assert elsewhere.value > 0


begin = time.monotonic()
{"keeps": keeps, "waits": waits_for_python, "fails": fails, "per_thread": per_thread, "held": held,
 "threads": four_threads}[sys.argv[1]]()
print(f"{sys.argv[1]}: {elsewhere.value} of {launches.value} elsewhere, {time.monotonic() - begin:.2f} s", file=sys.stderr)
