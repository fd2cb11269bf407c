"""Kernels got by their name, whose images carry their prototypes."""

from __future__ import annotations

import numpy as np
import pytest
from corpus_case import FOLDER

import dlaunch

SAXPY = "saxpy_carried(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"


def check_saxpy(image: str) -> None:
    with dlaunch.load(FOLDER / image) as library:
        kernel = library["saxpy_carried"]
        assert kernel.prototype == SAXPY
        assert kernel.name == "saxpy_carried"
        assert [(p.name, p.type, p.mode, p.filled) for p in kernel.parameters] == [
            ("a", "f32", "in", False),
            ("x", "f32[n]", "in", False),
            ("y", "f32[n]", "inout", False),
            ("n", "i32", "in", True),
        ]
        x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
        kernel[1, 128](2.0, x, y)
        np.testing.assert_array_equal(y, 2 * np.arange(100) + 1)
        with pytest.raises(dlaunch.TensorError, match="extent 50, 100 wanted"):
            kernel[1, 128](2.0, x, y[:50])
        kernel.close()


def test_ptx() -> None:
    check_saxpy("saxpy_carried.ptx")


@pytest.mark.gpu
def test_cubin() -> None:
    if dlaunch.devices()[0].compute_capability[0] == 9:
        check_saxpy("saxpy_carried.cubin")
    else:
        with pytest.raises(dlaunch.ImageError, match="the cubin is for sm_90"):
            dlaunch.load(FOLDER / "saxpy_carried.cubin")


def test_a_prototype_that_is_given_is_taken_instead() -> None:
    given = "saxpy_carried(a: f32, p: f32[m], q: inout f32[m], n: i32)"
    with dlaunch.load(FOLDER / "saxpy_carried.ptx") as library, library[given] as kernel:
        assert kernel.prototype == given
        assert kernel.parameters[1].name == "p" and not kernel.parameters[3].filled


def test_views_pass_shape_and_strides() -> None:
    with dlaunch.load(FOLDER / "view_transpose.ptx") as library, library["view_transpose"] as kernel:
        assert [(p.name, p.type, p.size) for p in kernel.parameters] == [
            ("x", "f32[rows,cols]", 40),
            ("y", "f32[cols,rows]", 40),
        ]
        x = np.arange(60, dtype=np.float32).reshape(6, 10)
        y = np.zeros((5, 3), np.float32)
        kernel[1, (32, 4)](x[::2, ::2], y)
        np.testing.assert_array_equal(y, x[::2, ::2].T)


def test_an_image_without_one() -> None:
    with dlaunch.load(FOLDER / "saxpy.ptx") as library, library["saxpy"] as kernel:
        assert kernel.prototype is None


def test_one_that_contradicts_its_kernel_is_the_images() -> None:
    text = (FOLDER / "saxpy_carried.ptx").read_text()
    wrong = text.replace("{40, 97, 58, 32, 102, 51, 50,", "{40, 97, 58, 32, 102, 54, 52,")  # a: f64
    assert wrong != text
    with dlaunch.load(wrong) as library:
        with pytest.raises(dlaunch.PrototypeError, match=r"that the image carries.*\(a: f64\) has 8 bytes"):
            library["saxpy_carried"]
        library[SAXPY].close()
