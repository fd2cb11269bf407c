"""Events, streams and the current device; what is made where; what is left at exit."""

from __future__ import annotations

import ctypes
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from process import output_of, run_python

import dlaunch

ROOT = Path(__file__).resolve().parents[2]
SAXPY = str(ROOT / "testdata" / "kernels" / "saxpy.ptx")


def test_events(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.Stream(non_blocking=True) as first, dlaunch.Stream(non_blocking=True) as second:
        with dlaunch.Event() as start, dlaunch.Event(blocking=True) as end, dlaunch.zeros(4, "f32") as x:
            assert start.query() and start.device == 0
            with pytest.raises(dlaunch.ArgumentError, match="start was never recorded"):
                start.elapsed(end)
            start.record(first)
            saxpy[1, 4, first](1.0, x, x)
            assert first.record_event(end) is end
            second.wait_event(end)
            end.wait()
            second.synchronize()
            assert end.query()
            end.synchronize()
            assert 0 < start.elapsed(end) < 60000
            with pytest.raises(dlaunch.ArgumentError, match="end is 7"):
                start.elapsed(7)  # type: ignore[arg-type]
            with first.record_event() as made, dlaunch.Event(timing=False) as timeless:
                timeless.record(first)
                first.synchronize()
                assert made.query() and start.elapsed(made) > 0
                with pytest.raises(dlaunch.ArgumentError, match="NO_TIMING"):
                    start.elapsed(timeless)
    assert start.closed and "closed" in repr(start)
    with pytest.raises(dlaunch.HandleError, match="closed"):
        start.synchronize()


def test_priorities() -> None:
    least, greatest = dlaunch.Stream.priorities()
    assert greatest <= 0 <= least
    with dlaunch.Stream(priority=greatest) as stream:
        assert stream.priority == greatest and stream.query()
    for outside in (greatest - 1, least + 1):
        with pytest.raises(dlaunch.ArgumentError, match=rf"priority is {outside}; .* {least} .*least.* {greatest} "):
            dlaunch.Stream(priority=outside)
    with pytest.raises(dlaunch.ArgumentError, match="priority is 'high'"):
        dlaunch.Stream(priority="high")  # type: ignore[arg-type]


def test_foreign_streams(saxpy: dlaunch.Kernel) -> None:
    class Protocol:
        def __init__(self, native: int) -> None:
            self.native = native

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self.native

    with dlaunch.Stream() as owned, dlaunch.full(4, 1, "f32") as x, dlaunch.zeros(4, "f32") as y:
        for given in (owned.native, Protocol(owned.native)):
            stream = dlaunch.Stream.from_handle(given)
            assert stream == owned and hash(stream) == hash(owned) and stream.native == owned.native
            assert stream.device is None and stream.priority is None
            saxpy[1, 4, stream](1.0, x, y)
            stream.synchronize()
            stream.close()
            assert not stream.closed and stream.query()
        assert dlaunch.Stream.from_handle(owned) is owned
        with pytest.raises(dlaunch.ArgumentError, match="no CUstream"):
            dlaunch.Stream.from_handle(owned.handle)
        np.testing.assert_array_equal(y.copy_to_host(), np.full(4, 2, "f4"))
    assert owned != stream and owned == owned
    with pytest.raises(dlaunch.ArgumentError, match="stream is 'x'"):
        dlaunch.Stream.from_handle("x")


def test_the_default_streams(saxpy: dlaunch.Kernel) -> None:
    legacy, per_thread = dlaunch.Stream.legacy, dlaunch.Stream.per_thread
    assert (legacy.native, per_thread.native) == (1, 2) and legacy != per_thread
    assert legacy == dlaunch.Stream.from_handle(0) and hash(legacy) == hash(dlaunch.Stream.from_handle(0))
    assert "legacy" in repr(legacy) and "per-thread" in repr(per_thread)
    with dlaunch.zeros(4, "f32") as x:
        for stream in (legacy, per_thread):
            saxpy[1, 4, stream](1.0, x, x)
            stream.synchronize()
            assert stream.query() and not stream.closed


def test_the_current_device() -> None:
    with dlaunch.device(0) as outer:
        assert outer.index == 0
        with pytest.raises(ZeroDivisionError), outer, dlaunch.device(0):
            raise ZeroDivisionError
    with pytest.raises(dlaunch.ArgumentError, match="device 99 does not exist"), dlaunch.device(99):
        pass
    with pytest.raises(dlaunch.ArgumentError, match="device is -1"):
        dlaunch.device(-1)


def test_threads_share_a_device_object(tmp_path: Path) -> None:
    """Each leaves for what was current on its own thread, also if another one entered last."""
    log = tmp_path / "log"
    output_of(
        f"""
        import threading
        import dlaunch
        with dlaunch.load({SAXPY!r}) as library, library["saxpy"] as kernel:
            shared, entered, left = dlaunch.device(1), threading.Event(), threading.Event()

            def other():
                with dlaunch.device(2):
                    with shared:
                        entered.set()
                        left.wait()
                    kernel[1, 1](1.0, 0, 0, 0)

            with dlaunch.device(0):
                thread = threading.Thread(target=other)
                with shared:
                    thread.start()
                    entered.wait()
                left.set()
                thread.join()
                kernel[1, 1](1.0, 0, 0, 0)
        """,
        DLAUNCH_DRIVER="sim",
        DLAUNCH_SIM_DEVICES="3",
        DLAUNCH_LOG=f"launch:json:{log}",
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["device"] for line in lines if line["event"] == "launch"] == [2, 0]


def test_launches_on_the_current_device(tmp_path: Path) -> None:
    log = tmp_path / "log"
    output_of(
        f"""
        import dlaunch
        with dlaunch.load({SAXPY!r}) as library, library["saxpy"] as kernel, dlaunch.device(1):
            kernel[1, 1](1.0, 0, 0, 0)
            with dlaunch.device(0):
                kernel[1, 1](1.0, 0, 0, 0)
            kernel[1, 1](1.0, 0, 0, 0)
            with dlaunch.Stream(2) as stream:
                kernel[1, 1, stream](1.0, 0, 0, 0)
            try:
                with dlaunch.device(2):
                    raise KeyError
            except KeyError:
                kernel[1, 1](1.0, 0, 0, 0)
        """,
        DLAUNCH_DRIVER="sim",
        DLAUNCH_SIM_DEVICES="3",
        DLAUNCH_LOG=f"launch:json:{log}",
    )
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["device"] for line in lines if line["event"] == "launch"] == [1, 0, 1, 2, 1]


def test_origins() -> None:
    here = f"{__file__}:"
    dlaunch.trace_origins()
    try:
        line = _line() + 1
        traced = dlaunch.zeros(4, "f32")
    finally:
        dlaunch.trace_origins(False)
    with traced, dlaunch.Stream() as plain:
        found = {h["handle"]: h for h in dlaunch.report()["handles"]}
        assert found[traced.handle]["origin"] == f"{here}{line}" and found[traced.handle]["bytes"] == 16
        assert "origin" not in found[plain.handle] and "bytes" not in found[plain.handle]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{15}Z", found[plain.handle]["created"])


def _line() -> int:
    frame = __import__("inspect").currentframe()
    return int(frame.f_back.f_lineno)


# What the interpreter frees by itself is no leak; what outlives it is.
KEPT = f"""
    import ctypes, dlaunch
    library = dlaunch.load({SAXPY!r})
    kernel, x, stream, event = library["saxpy"], dlaunch.zeros(4, "f32"), dlaunch.Stream(), dlaunch.Event()
    kernel.itself, kernel.launch_it = kernel, kernel[1, 4, stream]
    kernel.launch_it(1.0, x, x, 4)
    class Holder:
        held = [dlaunch.zeros(1, "f32")]
    def closure(kept=dlaunch.zeros(2, "f32")):
        return kept
"""


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(0)", "import atexit; atexit.register(print, x)"])
def test_globals_are_no_leaks(end: str) -> None:
    done = run_python(KEPT + f"    {end}\n", DLAUNCH_LEAK="error")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("mode", "code"), [("report", 0), ("error", 23)])
def test_what_outlives_the_interpreter_leaks(mode: str, code: int) -> None:
    lost = """
    lost = dlaunch.zeros(64, "f32")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
    print("said")
"""
    done = run_python(KEPT + lost, DLAUNCH_LEAK=mode)
    assert done.returncode == code and done.stdout == "said\n"
    first, second = done.stderr.splitlines()
    assert first == "dlaunch: 1 handle is open at exit, with 256 bytes of device memory (DLAUNCH_LEAK):"
    assert re.fullmatch(r'  array \d+ "f32\[64\] on device 0", 256 bytes, made at "<string>:\d+"', second)


def test_settings_made_before_the_first_use() -> None:
    first = "import os, dlaunch; os.environ['DLAUNCH_LEAK'] = 'error'\n"
    done = run_python(first + "x = dlaunch.zeros(1, 'f32')", DLAUNCH_LEAK="off")
    assert (done.returncode, done.stderr) == (0, "")
    done = run_python(
        first + "import ctypes; x = dlaunch.zeros(1, 'f32'); ctypes.pythonapi.Py_IncRef(ctypes.py_object(x))"
    )
    assert done.returncode == 23 and 'made at "<string>:2"' in done.stderr
    out = output_of(
        "import os, dlaunch; os.environ['DLAUNCH_DRIVER'] = 'sim'; print(dlaunch.driver_info().reason)",
        DLAUNCH_DRIVER="auto",
    )
    assert out == "DLAUNCH_DRIVER is sim\n"


def test_an_exit_status_stays() -> None:
    done = run_python("import dlaunch, sys; x = dlaunch.zeros(1, 'f32'); sys.exit(3)", DLAUNCH_LEAK="error")
    assert (done.returncode, done.stderr) == (3, "")


def test_a_poisoned_context(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.ptx"
    wrong.write_text(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry wrong(.param .u64 p) { .reg .u64 %r;\n"
        "mov.u64 %r, 8; st.global.u64 [%r], %r; ret; }\n"
    )
    out = output_of(
        f"""
        import dlaunch, gc
        library = dlaunch.load({str(wrong)!r})
        kernel, x, stream, event = library["wrong"], dlaunch.zeros(4, "f32"), dlaunch.Stream(), dlaunch.Event()
        try:
            kernel[1, 1](0)
        except dlaunch.FaultError as error:
            first = str(error)
        for use in (lambda: kernel[1, 1](0), lambda: dlaunch.zeros(1, "f32"), x.copy_to_host, stream.synchronize,
                    event.record, dlaunch.synchronize, dlaunch.Stream, lambda: dlaunch.load({SAXPY!r})):
            try:
                use()
                print("no error")
            except dlaunch.FaultError as error:
                assert "the context is poisoned since" in str(error) and first.partition(": ")[2] in str(error), error
        del kernel, library, x, stream, event, use
        gc.collect()
        dlaunch.drain()
        report = dlaunch.report()
        print(report["live"], report["leaked_bytes"], report["pending"])
        """,
        DLAUNCH_DRIVER="sim",
        DLAUNCH_SIM_POISON="1",
    )
    assert out == "{} 16 0\n"


class Contexts:
    """The driver's contexts, without dlaunch."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.ok(self.cuda.cuInit(0))
        self.primary, self.other = ctypes.c_void_p(), ctypes.c_void_p()
        before = self.current()
        self.ok(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.primary), 0))
        self.ok(self.cuda.cuCtxCreate_v2(ctypes.byref(self.other), 0, 0))
        self.enter(before)

    def ok(self, code: int) -> None:
        assert code == 0

    def current(self) -> int:
        found = ctypes.c_void_p()
        self.ok(self.cuda.cuCtxGetCurrent(ctypes.byref(found)))
        return found.value or 0

    def enter(self, context: int | None) -> None:
        self.ok(self.cuda.cuCtxSetCurrent(ctypes.c_void_p(context)))


def uses() -> Iterator[Callable[[], Any]]:
    """Every public thing that asks the driver, once; each closes what it makes."""
    library = dlaunch.load(SAXPY)
    kernel = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
    x, y, host = dlaunch.full(4, 1, "f32"), dlaunch.zeros(4, "f32"), np.ones(4, "f4")
    stream, event = dlaunch.Stream(priority=dlaunch.Stream.priorities()[1]), dlaunch.Event()
    yield from (
        lambda: dlaunch.load(SAXPY).close(),
        lambda: library["saxpy"].close(),
        lambda: library.kernels,
        lambda: kernel[1, 4](1.0, x, y),
        lambda: kernel[1, 4, stream](1.0, x, y),
        lambda: kernel[1, 4, stream.native](1.0, x, y),
        lambda: kernel[1, 4, 2](1.0, x, y),
        lambda: kernel[1, 4](1.0, host, host),
        lambda: kernel[1, 4, stream](1.0, x, host),
        lambda: dlaunch.zeros(4, "f32").close(),
        lambda: dlaunch.to_device(host).close(),
        lambda: x.copy_to_host(),
        lambda: x.copy_to_host(stream),
        lambda: y.copy_from_host(host),
        lambda: y.fill(2),
        lambda: dlaunch.from_dlpack(x).close(),
        lambda: dlaunch.Stream().close(),
        lambda: dlaunch.Event().close(),
        lambda: event.record(stream),
        lambda: event.wait(),
        lambda: event.wait(stream),
        lambda: event.query(),
        lambda: event.synchronize(),
        lambda: stream.query(),
        lambda: stream.synchronize(),
        lambda: dlaunch.Stream.legacy.synchronize(),
        lambda: dlaunch.Stream.per_thread.query(),
        lambda: dlaunch.devices()[0].memory(),
        lambda: dlaunch.synchronize(),
        lambda: dlaunch.drain(),
        lambda: dlaunch.report(),
        lambda: dlaunch.device(0).__enter__().__exit__(),
    )
    for thing in (library, kernel, x, y, stream, event):
        thing.close()
        yield dlaunch.drain


def stays_current(where: str) -> None:
    contexts = Contexts()
    before = {"none": 0, "primary": contexts.primary.value, "other": contexts.other.value}[where]
    contexts.enter(before)
    for number, use in enumerate(uses()):
        use()
        assert contexts.current() == before, f"use {number}"


def works_in_another_context() -> None:
    contexts = Contexts()
    saxpy = dlaunch.load(SAXPY).kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")
    contexts.enter(contexts.other.value)
    with dlaunch.device(0):
        assert contexts.current() == contexts.primary.value
    assert contexts.current() == contexts.other.value
    x, total = np.arange(1 << 20, dtype="f4"), np.zeros(1 << 20, "f4")
    for stream in (None, 1, 2):
        for _ in range(5):
            saxpy[4096, 256, stream](1.0, x, total)
    np.testing.assert_array_equal(total, 15 * x)
    event = dlaunch.Event()
    with event, pytest.raises(dlaunch.ArgumentError, match="not the primary one"):
        event.record()
    dlaunch.synchronize()
    assert contexts.current() == contexts.other.value


def in_a_process(call: str) -> None:
    """Run one of the functions above where a context that it breaks harms no other test."""
    output_of(f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_lifecycle as t; t.{call}")


@pytest.mark.gpu
@pytest.mark.parametrize("where", ["none", "primary", "other"])
def test_the_current_context_is_what_it_was(where: str) -> None:
    in_a_process(f"stays_current({where!r})")


@pytest.mark.gpu
def test_a_context_that_is_not_the_primary_one() -> None:
    """Host arrays are copied on the default stream that the launch is on: the other context's."""
    in_a_process("works_in_another_context()")


def test_every_use_works() -> None:
    """The uses above, where there is no context to look at."""
    for use in uses():
        use()
