"""Kernels and libraries go to other processes by their image; what holds memory of this one does not."""

from __future__ import annotations

import concurrent.futures
import copy
import multiprocessing
import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import imported
from spawned import add, call, describe, libraries, unbound
from test_binding import SYMBOLS

import dlaunch

SAXPY = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"
X = np.arange(100, dtype="f4")


@pytest.fixture(scope="module")
def other_process() -> Iterator[concurrent.futures.Executor]:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        yield pool


def test_to_another_process(saxpy: dlaunch.Kernel, other_process: concurrent.futures.Executor) -> None:
    with saxpy.bind(3) as with_a_number:
        for kernel, factor in ((saxpy, 2), (with_a_number, 3)):
            process, y = other_process.submit(add, kernel, X).result()
            assert process != os.getpid()
            np.testing.assert_array_equal(y, factor * X + 1)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_here(saxpy: dlaunch.Kernel, protocol: int) -> None:
    with pickle.loads(pickle.dumps(saxpy, protocol)) as again:
        assert again.handle != saxpy.handle and again.prototype == SAXPY and repr(again) == repr(saxpy)
        np.testing.assert_array_equal(add(again, X)[1], 2 * X + 1)


def test_without_a_prototype_and_with_numbers_bound(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel:
        with pickle.loads(pickle.dumps(kernel)) as again:
            assert again.prototype is None and again.name == "saxpy"
        typed = library.kernel("(a: f32, x: f32[n]?, y: inout f32[m], n: i32)")
    with typed, typed.bind(2.0, None, n=np.int64(0)) as bound, pickle.loads(pickle.dumps(bound)) as again:
        assert unbound(again) == ["y"]
        with pickle.loads(pickle.dumps(again)) as third:
            third[1, 32](X.copy())


def test_numbers_of_numpys_are_no_memory(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library:
        typed = library.kernel(SAXPY)
        untyped = library.kernel("(a: b32, x: f32[n], y: inout f32[n], n: i32 = n)")
    for kernel in (typed, untyped):
        with kernel, kernel.bind(np.float32(2)) as bound, pickle.loads(pickle.dumps(bound)) as again:
            y = np.ones_like(X)
            again[1, 128](X, y)
            np.testing.assert_array_equal(y, 2 * X + 1)


def test_one_library_stays_one(kernels: Path, other_process: concurrent.futures.Executor) -> None:
    """Equal images are one library for what is pickled together, also when its library is closed here."""
    image = (kernels / "saxpy.ptx").read_bytes()
    with dlaunch.load(image) as library:
        those = [library.kernel(SAXPY) for _ in range(3)]
    before = other_process.submit(libraries).result()
    names, after, launched = other_process.submit(describe, library, those).result()
    assert (names, after - before, launched) == (["saxpy"], 1, 3)
    for kernel in those:
        kernel.close()


def test_images_of_every_origin(kernels: Path, tmp_path: Path) -> None:
    path = kernels / "saxpy.ptx"
    moved = tmp_path / "here.ptx"
    moved.write_bytes(path.read_bytes())
    for image in (path, str(path), path.read_text(), path.read_bytes(), bytearray(path.read_bytes()), moved):
        with dlaunch.load(image) as library, pickle.loads(pickle.dumps(library)) as again:
            assert again.kernels == ["saxpy"] and again.handle != library.handle and repr(again) == repr(library)
            with pickle.loads(pickle.dumps(again)) as third, third.kernel(SAXPY) as kernel:
                np.testing.assert_array_equal(add(kernel, X)[1], 2 * X + 1)


def test_a_file_that_changed(kernels: Path, tmp_path: Path) -> None:
    path = tmp_path / "saxpy.ptx"
    path.write_bytes((kernels / "saxpy.ptx").read_bytes())
    with dlaunch.load(path) as library, library.kernel(SAXPY) as kernel:
        path.write_bytes((kernels / "fill.ptx").read_bytes())
        for held in (library, kernel):
            with pytest.raises(pickle.PicklingError, match="saxpy.ptx has changed since it was loaded"):
                pickle.dumps(held)
        path.unlink()
        with pytest.raises(pickle.PicklingError, match="saxpy.ptx has changed since it was loaded"):
            pickle.dumps(library)
        np.testing.assert_array_equal(add(kernel, X)[1], 2 * X + 1)


def test_what_holds_memory_is_refused(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.to_device(X) as device, saxpy.bind(2.0, y=device) as bound, saxpy.bind(x=X) as frozen:
        for kernel, says in (
            (bound, r"parameter 2 \(y\) is bound to DeviceArray f32\[100\], .*bind there, or pass it as"),
            (frozen, r"parameter 1 \(x\) is bound to ndarray f32\[100\]"),
        ):
            with pytest.raises(pickle.PicklingError, match=says):
                pickle.dumps(kernel)
            with pytest.raises(pickle.PicklingError, match=says):
                pickle.dumps({"deep": [kernel]})
        with bound.bind(x=device) as twice, pytest.raises(pickle.PicklingError, match=r"parameter 2 \(y\)"):
            pickle.dumps(twice)
        with dlaunch.load(SYMBOLS) as library, library["through_view"] as kernel:
            library.bind(table=device)
            for held in (library, kernel):
                with pytest.raises(pickle.PicklingError, match=r'symbol "table" is bound to DeviceArray f32\[100\]'):
                    pickle.dumps(held)
            library.bind(table=None)
            with pickle.loads(pickle.dumps(library)) as again:
                assert again.kernels == library.kernels


def test_addresses_are_memory_too(saxpy: dlaunch.Kernel, kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, dlaunch.to_device(X) as device:
        raw = library.kernel("saxpy(a: f32, x: ptr, y: inout f32[n], n: i32 = n)")
        untyped = library["saxpy"]
    with raw, untyped, raw.bind(x=device.ptr) as address, untyped.bind(1.0, device.ptr) as number:
        for kernel in (address, number):
            with pytest.raises(pickle.PicklingError, match="is bound to int"):
                pickle.dumps(kernel)


def test_what_else_is_refused(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.load(SYMBOLS) as library, dlaunch.to_device(X) as device, dlaunch.Stream() as stream:
        for refused in (device, stream, saxpy[1, 32], saxpy.configure(1, 32, sync=True)):
            with pytest.raises((TypeError, pickle.PicklingError), match="pickle"):
                pickle.dumps(refused)
        for thing in (saxpy, library, device, stream, saxpy.configure(1, 32, sync=True)):
            for copied in (copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match="copied"):
                    copied(thing)
    closed = saxpy.bind(1.0)
    closed.close()
    with pytest.raises(pickle.PicklingError, match="closed> cannot be pickled any more"):
        pickle.dumps(closed)


cloudpickle = imported("cloudpickle")
if cloudpickle:

    def test_in_a_closure(saxpy: dlaunch.Kernel, other_process: concurrent.futures.Executor) -> None:
        text = cloudpickle.dumps(lambda: add(saxpy, X)[1])
        np.testing.assert_array_equal(other_process.submit(call, text).result(), 2 * X + 1)
        with dlaunch.to_device(X) as device, saxpy.bind(x=device) as bound:
            with pytest.raises(pickle.PicklingError, match="DeviceArray"):
                cloudpickle.dumps(lambda: bound)
