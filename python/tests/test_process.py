"""Import, fork, exit, garbage, and the command."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from process import output_of, run_python

import dlaunch

PTX = "//\\n.version 7.0\\n.target sm_70\\n.address_size 64\\n.visible .entry nothing(.param .u64 x) { ret; }\\n"


def test_import_loads_nothing() -> None:
    out = output_of(
        """
        import sys, dlaunch
        maps = open("/proc/self/maps").read()
        print("libdlaunch" in maps, "numpy" in sys.modules, "torch" in sys.modules, dlaunch.live_handles())
        """
    )
    assert out == "False False False 0\n"


def test_loading_opens_no_driver() -> None:
    out = output_of(
        "import dlaunch; print(dlaunch.report()['live']); print('libcuda' in open('/proc/self/maps').read())"
    )
    assert out == "{}\nFalse\n"


def test_fork_before_the_first_use() -> None:
    out = output_of(
        f"""
        import os, dlaunch
        child = os.fork()
        library = dlaunch.load("{PTX}")
        with dlaunch.zeros(1, "f32") as x:
            library["nothing"][1, 1](x)
        if not child:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert out == "7\n"


def test_a_child_forked_later_gets_an_error() -> None:
    out = output_of(
        f"""
        import gc, os, dlaunch
        library = dlaunch.load("{PTX}")
        kernel, x, stream = library["nothing"], dlaunch.zeros(1, "f32"), dlaunch.Stream()
        launch = kernel[1, 1]
        launch(x)
        child = os.fork()
        if child == 0:
            uses = [lambda: launch(x), lambda: launch([]), lambda: dlaunch.zeros(1, "f32"), lambda: library["nothing"],
                    lambda: dlaunch.load("{PTX}"), stream.synchronize, x.copy_to_host, x.close, dlaunch.synchronize,
                    dlaunch.live_handles, dlaunch.drain, dlaunch.driver_info]
            for use in uses:
                try:
                    use()
                    os.write(1, b"no error\\n")
                except dlaunch.ArgumentError:
                    pass  # a list is refused before the library is asked
                except dlaunch.ForkedError as error:
                    assert error.status == 11 and "spawn" in str(error)
            del library, kernel, x, stream, launch, uses, use
            gc.collect()
            os._exit(3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        launch(x)
        """
    )
    assert out == "3\n"


@pytest.mark.parametrize(
    "last", ["pass", "os._exit(0)", "sys.exit(0)", "threading.Thread(target=busy, daemon=True).start()"]
)
def test_exit_with_everything_open(last: str) -> None:
    output_of(
        f"""
        import atexit, os, sys, threading, dlaunch
        library = dlaunch.load("{PTX}")
        kernel, x, stream = library["nothing"], dlaunch.zeros(1, "f32"), dlaunch.Stream()
        view, capsule, launch = dlaunch.from_dlpack(x), x.__dlpack__(max_version=(1, 0)), kernel[1, 1]
        launch(x)
        class Last:
            def __del__(self):
                launch(x)
        cycle = [Last(), x, capsule]
        cycle.append(cycle)
        atexit.register(launch, x)
        def busy():
            while True:
                launch(x)
        {last}
        """
    )


def test_garbage_in_every_order() -> None:
    out = output_of(
        f"""
        import gc, itertools, dlaunch
        for order in itertools.permutations(range(5)):
            library = dlaunch.load("{PTX}")
            kernel, x = library["nothing"], dlaunch.zeros(1, "f32")
            launch, capsule = kernel[1, 1], x.__dlpack__()
            launch(x)
            things = [library, kernel, x, launch, capsule]
            del library, kernel, x, launch, capsule
            for at in order:
                things[at] = None
                gc.collect(0)
        dlaunch.drain()
        print(dlaunch.live_handles(), dlaunch.report()["live"], dlaunch.report()["device_bytes"])
        """
    )
    assert out == "0 {} 0\n"


def test_cycles_are_garbage() -> None:
    out = output_of(
        f"""
        import gc, dlaunch
        x = dlaunch.zeros(1, "f32")
        kernel = dlaunch.load("{PTX}")["nothing"]
        kernel.launcher, kernel.itself = kernel[1, 1], kernel
        kernel[1, 1](x)
        del kernel, x
        gc.collect()
        dlaunch.drain()
        print(dlaunch.live_handles())
        """
    )
    assert out == "0\n"


def test_the_library_is_not_found() -> None:
    done = run_python("import dlaunch; dlaunch.devices()", DLAUNCH_LIBRARY="/nowhere/libdlaunch.so")
    assert done.returncode == 1 and "/nowhere/libdlaunch.so" in done.stderr and "DLAUNCH_LIBRARY" in done.stderr
    code = """
        import dlaunch
        try:
            dlaunch.devices()
        except FileNotFoundError as error:
            print(isinstance(error, dlaunch.NotFoundError), error.status)
        """
    assert output_of(code, DLAUNCH_LIBRARY="/nowhere/libdlaunch.so") == "True 6\n"


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    path = tmp_path / "libdlaunch.so"
    path.write_text("no ELF")
    done = run_python("import dlaunch; dlaunch.devices()", DLAUNCH_LIBRARY=str(path))
    assert done.returncode == 1 and "UnsupportedError" in done.stderr and "cannot be loaded" in done.stderr


@pytest.mark.parametrize(
    ("driver", "said"),
    [
        ("vulkan", 'DLAUNCH_DRIVER is "vulkan"; cuda, sim or auto is wanted'),
        ("cuda", "cannot be loaded"),
        ("auto", "DLAUNCH_DRIVER=sim takes the simulator"),
    ],
)
def test_no_driver(tmp_path: Path, driver: str, said: str) -> None:
    (tmp_path / "libcuda.so.1").write_text("no ELF")
    code = """
        import dlaunch
        for use in (dlaunch.devices, dlaunch.driver_info, lambda: dlaunch.zeros(1, "f32")):
            try:
                use()
            except dlaunch.NoDriverError as error:
                print(error.status, error.driver_code, error.argument, error)
        """
    search = f"{tmp_path}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    out = output_of(code, DLAUNCH_DRIVER=driver, LD_LIBRARY_PATH=search).splitlines()
    assert len(out) == 3 and all(line.startswith("8 0 -1 dlaunch_") and said in line for line in out)


def test_the_simulator_is_told_of_once() -> None:
    code = f"""
        import os, warnings, dlaunch
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library = dlaunch.load("{PTX}")
            dlaunch.devices()
            dlaunch.zeros(1, "f32")
        kind = dlaunch.driver_info().kind
        told = [w for w in caught if w.category is dlaunch.SimulatorWarning]
        wanted = kind == "sim" and os.environ["DLAUNCH_DRIVER"] == "auto"
        print(len(told) == wanted, all(w.filename == "<string>" for w in told))
        """
    for driver in ("auto", "sim"):
        assert output_of(code, DLAUNCH_DRIVER=driver) == "True True\n"


def test_info() -> None:
    done = run_python(
        "import runpy, sys; sys.argv = ['dlaunch', 'info']; runpy.run_module('dlaunch', run_name='__main__')"
    )
    assert done.returncode == 0, done.stderr
    kind = dlaunch.driver_info().kind
    for text in (
        f"dlaunch   {dlaunch.__version__}",
        f"driver    {kind} ",
        "because   ",
        "device 0  compute capability ",
    ):
        assert text in done.stdout
    assert str(Path(os.environ.get("DLAUNCH_LIBRARY", "libdlaunch")).resolve()).rpartition(".so")[0] in done.stdout


def test_versions_agree() -> None:
    import dlaunch._lib

    assert dlaunch._lib.loaded().c.dlaunch_version().decode() == dlaunch.__version__
