"""Each class of error: its status, its built-ins, its words."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import dlaunch

CLASSES = [
    (1, dlaunch.ArgumentError, (TypeError, ValueError)),
    (2, dlaunch.HandleError, ()),
    (3, dlaunch.TensorError, (ValueError,)),
    (4, dlaunch.ConfigError, (ValueError,)),
    (5, dlaunch.ImageError, ()),
    (6, dlaunch.NotFoundError, (LookupError,)),
    (7, dlaunch.PrototypeError, ()),
    (8, dlaunch.NoDriverError, ()),
    (9, dlaunch.DriverError, ()),
    (10, dlaunch.FaultError, ()),
    (11, dlaunch.ForkedError, ()),
    (12, dlaunch.UnsupportedError, ()),
    (13, dlaunch.OutOfMemoryError, (MemoryError,)),
    (14, dlaunch.InternalError, ()),
]


@pytest.mark.parametrize(("status", "cls", "builtins"), CLASSES)
def test_classes(status: int, cls: type[dlaunch.Error], builtins: tuple[type, ...]) -> None:
    error = cls("what happened")
    assert isinstance(error, dlaunch.Error) and all(isinstance(error, b) for b in builtins)
    assert (error.status, error.driver_code, error.argument, str(error)) == (status, 0, -1, "what happened")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is cls and again.status == status and str(again) == "what happened"


def changed(old: str, new: str) -> bytes:
    text = (ROOT / "testdata" / "kernels" / "saxpy.ptx").read_text()
    assert old in text
    return text.replace(old, new).encode()


def first_lines(n: int) -> bytes:
    return b"".join((ROOT / "testdata" / "kernels" / "saxpy.ptx").read_bytes().splitlines(keepends=True)[:n])


CUBIN = (ROOT / "testdata" / "kernels" / "saxpy_carried.cubin").read_bytes()

IMAGES = {
    "nothing": (b"", "the image is empty", "a cubin or a fatbin is wanted"),
    "junk": (b"junk", 'begins with "junk"', "no PTX text"),
    "zeros": (b"\x7fELF" + bytes(60), "ELF", "64-bit"),
    "a cubin's head": (CUBIN[:1024], "the cubin is truncated", "1024 bytes"),
    "no instruction": (changed("fma.rn.f32", "frob.rn.f32"), "line 46", "frob"),
    "cut": (first_lines(46), "INVALID_PTX (218)", "line 47"),
    "too new": (changed(".version 9.0", ".version 99.0"), "PTX 99.0", "needs a newer driver"),
}


@pytest.mark.parametrize(("image", "said", "also"), IMAGES.values(), ids=IMAGES.keys())
def test_images(image: bytes, said: str, also: str) -> None:
    with pytest.raises(dlaunch.ImageError) as caught:
        dlaunch.load(image)
    assert caught.value.status == 5 and str(caught.value).startswith("dlaunch_library_load: ")
    assert said in str(caught.value) and also in str(caught.value)


if dlaunch.driver_info().kind == "sim":

    def test_an_instruction_that_the_simulator_lacks() -> None:
        image = changed("fma.rn.f32", "tex.1d.v4.u32.s32")
        with pytest.raises(
            dlaunch.UnsupportedError, match=r"line 46 \(tex.*simulator lacks this instruction"
        ) as caught:
            dlaunch.load(image)
        assert caught.value.status == 12


def test_no_images(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        dlaunch.load(tmp_path / "none.ptx")
    assert isinstance(missing.value, dlaunch.NotFoundError) and missing.value.status == 6
    assert "none.ptx" in str(missing.value) and missing.value.filename == str(tmp_path / "none.ptx")
    for image in (5, None, ["x"], 1.5, np.zeros(1, "M8[s]")):
        with pytest.raises(dlaunch.ArgumentError, match="PTX text, a path, or bytes"):
            dlaunch.load(image)


def test_ways_to_give_an_image(kernels: Path) -> None:
    path = kernels / "saxpy.ptx"
    text = path.read_text()
    for image in (path, str(path), text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        with dlaunch.load(image) as library:
            assert library.kernels == ["saxpy"]


def test_names(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        with pytest.raises(dlaunch.NotFoundError, match="saxpi.*saxpy"):
            library["saxpi"]
        with pytest.raises(LookupError):
            library.kernel("")
        for name in (5, None, b"saxpy"):
            with pytest.raises(dlaunch.ArgumentError):
                library.kernel(name)  # type: ignore[arg-type]
        with pytest.raises(dlaunch.ArgumentError, match="NUL"):
            library.kernel("saxpy\0")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)", "4"),
        ("saxpy(a: f32, x: f32[n], y: inout f32[n])", "4"),
        ("saxpy(a: f33, x: f32[n], y: inout f32[n], n: i32 = n)", "column"),
        ("saxpy(a: f32, x: f32[n, y: inout f32[n], n: i32 = n)", "column"),
        ("saxpy(a: i32, x: f32[n], y: inout f32[n], n: i32 = n)", "f32"),
    ],
)
def test_prototypes(kernels: Path, text: str, said: str) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, pytest.raises(dlaunch.PrototypeError) as caught:
        library.kernel(text)
    assert caught.value.status == 7 and said in str(caught.value)


CONFIGURATIONS: list[tuple[Any, str]] = [
    ((0, 1), "grid.x is 0"),
    ((1, 0), "block.x is 0"),
    (((1, 0), 1), "grid.y is 0"),
    ((1, (1, 1, 0)), "block.z is 0"),
    ((-1, 1), "grid.x is -1"),
    ((1.0, 1), "grid.x is 1.0"),
    ((True, 1), "grid.x is True"),
    (("1", 1), "grid.x is '1'"),
    ((None, 1), "grid.x is None"),
    (((), 1), "one to three"),
    (((1, 1, 1, 1), 1), "one to three"),
    ((1 << 32, 1), "below 2**32"),
    (((1 << 32) + 1, 1), "below 2**32"),
    ((1, 1 << 40), "below 2**32"),
    ((1, 1, None, -1), "shared is -1"),
    ((1, 1, None, 1 << 32), "shared is 4294967296"),
    ((1, 1, None, 1.5), "shared is 1.5"),
    ((1, 1025), "1024"),
    ((1, (1, 1, 65)), "64"),
    ((1, (32, 33)), "1024"),
    (((1, 65536), 1), "65535"),
    ((1, 1, None, 1 << 30), "shared memory"),
    ((1,), "[grid, block]"),
    ((1, 1, None, 0, 0), "[grid, block]"),
]


@pytest.mark.parametrize(("key", "said"), CONFIGURATIONS, ids=lambda v: repr(v) if isinstance(v, tuple) else None)
def test_configurations(saxpy: dlaunch.Kernel, key: Any, said: str) -> None:
    with dlaunch.zeros(1, "f32") as x, pytest.raises(dlaunch.ConfigError) as caught:
        saxpy[key](1.0, x, x)
    assert caught.value.status == 4 and said in str(caught.value)


def test_a_key_that_is_no_tuple(saxpy: dlaunch.Kernel) -> None:
    with pytest.raises(dlaunch.ConfigError, match="grid, block"):
        saxpy[32]  # type: ignore[index]


def test_streams(saxpy: dlaunch.Kernel) -> None:
    for stream in ("x", 1.5, True, -1, object(), 1 << 64):
        with pytest.raises(dlaunch.ArgumentError, match="stream is"):
            saxpy[1, 1, stream]
    with pytest.raises(dlaunch.ArgumentError, match="check is 'races'; 'pointers' or None"):
        saxpy.configure(1, 1, check="races")


def test_closed(kernels: Path) -> None:
    library = dlaunch.load(kernels / "saxpy.ptx")
    kernel = library["saxpy"]
    launch = kernel[1, 1]
    library.close()
    library.close()
    for use in (lambda: library.kernels, lambda: library.kernel("saxpy"), lambda: library.globals["x"]):
        with pytest.raises(dlaunch.HandleError, match="closed") as caught:
            use()
        assert caught.value.status == 2
    with dlaunch.zeros(1, "f32") as x:
        launch(1.0, x, x, 1)  # the kernel keeps its library
        kernel.close()
        kernel.close()
        for arguments in ((1.0, x, x, 1), (), ([],)):
            with pytest.raises(dlaunch.HandleError, match="closed"):
                launch(*arguments)
    assert repr(kernel) == "<dlaunch.Kernel saxpy, closed>" and "closed" in repr(library)


def test_closed_arguments_come_first(saxpy: dlaunch.Kernel) -> None:
    closed = dlaunch.zeros(1, "f32")
    closed.close()
    with dlaunch.zeros(1, "f64") as wrong, pytest.raises(dlaunch.HandleError) as caught:
        saxpy[1, 1](1.0, wrong, closed)
    assert caught.value.argument == 2
