"""The Python examples: what they print, and the picture, against NumPy."""

import importlib.util
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import dlaunch

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def mandelbrot():
    spec = importlib.util.spec_from_file_location("mandelbrot", EXAMPLES / "mandelbrot.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def reference_steps(rows, cols, center, height, limit):
    """Count in double precision, and give the smooth count; NaN inside the set."""
    pixel = height / rows
    c = (center[0] + pixel * (np.arange(cols) - cols / 2))[None, :] + 1j * (
        center[1] - pixel * (np.arange(rows) - rows / 2)
    )[:, None]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape)
    for _ in range(limit):
        going = np.abs(z) ** 2 < 256
        z = np.where(going, z * z + c, z)
        steps += going
    smooth = steps + 4 - np.log2(np.log2(np.maximum(np.abs(z) ** 2, 2)))
    return np.where(steps < limit, smooth, np.nan)


def reference_image(rows, cols, center, height, limit):
    t = 0.55 * np.log2(reference_steps(rows, cols, center, height, limit))
    phases = np.array([0.45, 0.55, 0.65])
    return np.nan_to_num(255 * (0.5 + 0.5 * np.cos(2 * np.pi * (t[..., None] + phases))))


@pytest.mark.parametrize("view", [((-0.6, 0.0), 2.4), ((-0.7443, 0.1326), 0.0075)])
def test_the_picture_is_right(view):
    image = mandelbrot().render(60, 90, *view, 200)
    near = np.abs(image - reference_image(60, 90, *view, 200)) <= 2
    # at the set's edge, floats and doubles part
    assert near.all(axis=2).mean() > 0.95
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 100


def test_png_holds_the_image():
    image = np.random.default_rng(1).integers(0, 256, (5, 7, 3), np.uint8)
    data = mandelbrot().png(image)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += size + 12
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (7, 5, 8, 2, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(5, 1 + 3 * 7)
    assert (lines[:, 0] == 0).all()
    assert (lines[:, 1:].reshape(5, 7, 3) == image).all()


@pytest.mark.parametrize("name", ["saxpy.py", "mandelbrot.py"])
def test_examples_print_what_is_written_down(name, tmp_path):
    expected = (EXAMPLES / f"{name}.txt").read_text()
    picture = tmp_path / "picture.png"
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, picture], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == expected.replace("DRIVER", dlaunch.driver_info().kind).replace("FILE", str(picture))
