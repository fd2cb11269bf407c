"""Attributes and occupancy of kernels: by hand, and against the driver's own answers where there is a driver."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import libcuda
import numpy as np
import pytest
from conftest import imported
from process import output_of

import dlaunch

NAMES = {
    "max_threads_per_block": 0, "static_shared_bytes": 1, "const_bytes": 2, "local_bytes": 3, "registers": 4,
    "ptx_version": 5, "binary_version": 6, "cache_mode_ca": 7, "max_dynamic_shared_bytes": 8,
    "preferred_shared_carveout": 9, "cluster_size_must_be_set": 10, "non_portable_cluster_allowed": 14,
    "cluster_scheduling_policy": 15,
}  # fmt: skip


@pytest.fixture
def tiles(kernels: Path) -> Iterator[dlaunch.Kernel]:
    """A kernel with static shared memory, for blocks of any shape."""
    with dlaunch.load(kernels / "matmul_tiled.ptx") as library, library[library.kernels[0]] as kernel:
        yield kernel


@pytest.fixture
def dynamic(kernels: Path) -> Iterator[dlaunch.Kernel]:
    with dlaunch.load(kernels / "dynamic_shared.ptx") as library, library["dynamic_shared"] as kernel:
        yield kernel


def multiprocessors() -> int:
    return dlaunch.devices()[0].multiprocessors


def has_clusters() -> bool:
    return dlaunch.driver_info().kind == "cuda" and dlaunch.devices()[0].compute_capability >= (9, 0)


def test_attributes_are_typed_and_fit_one_another(tiles: dlaunch.Kernel) -> None:
    a = tiles.attributes
    for name in NAMES:
        wanted = bool if name.startswith(("cache", "cluster_size", "non_portable")) else int
        assert type(getattr(a, name)) is wanted, name
    major, minor = dlaunch.devices()[0].compute_capability
    assert (a.max_threads_per_block, a.const_bytes, a.local_bytes) == (1024, 0, 0)
    assert 8 <= a.registers <= 64 and a.ptx_version <= a.binary_version <= 10 * major + minor
    assert a.static_shared_bytes == 2 * 16 * 16 * 4  # two tiles of 16 x 16 floats
    assert (a.preferred_shared_carveout, a.required_cluster, a.cluster_scheduling_policy) == (-1, (0, 0, 0), 0)
    assert not a.cluster_size_must_be_set and not a.non_portable_cluster_allowed
    assert a[0].registers == a.registers
    with pytest.raises(dlaunch.ArgumentError, match="device 99"):
        _ = a[99].registers
    with pytest.raises(AttributeError):
        a.registers = 8  # type: ignore[misc]


def test_attributes_of_a_closed_kernel(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel:
        attributes, occupancy = kernel.attributes, kernel.occupancy
        assert attributes.registers > 0
    for ask in (lambda: attributes.registers, lambda: attributes.max_dynamic_shared_bytes, kernel.load,
                lambda: occupancy.max_active_blocks(32), lambda: kernel.driver_handle):  # fmt: skip
        with pytest.raises(dlaunch.HandleError, match="closed"):
            ask()


def test_what_can_be_set(dynamic: dlaunch.Kernel) -> None:
    a = dynamic.attributes
    a.max_dynamic_shared_bytes = 100_000
    a.preferred_shared_carveout = 40
    assert (a.max_dynamic_shared_bytes, a.preferred_shared_carveout) == (100_000, 40)
    with pytest.raises(dlaunch.ConfigError, match="for a block"):
        a.max_dynamic_shared_bytes = 1 << 24
    for bad in (101, -2):
        with pytest.raises(dlaunch.ConfigError, match="-1 to 100"):
            a.preferred_shared_carveout = bad
    for odd in (1.5, "8", None, 1 << 31):
        with pytest.raises(dlaunch.ConfigError, match="32 bits"):
            a.max_dynamic_shared_bytes = odd  # type: ignore[assignment]
    for cluster in (2, (1, 2), "abc"):
        with pytest.raises(dlaunch.ConfigError):
            a.required_cluster = cluster  # type: ignore[assignment]
    if has_clusters():
        a.required_cluster = (2, 1, 1)
        a.non_portable_cluster_allowed = True
        a.cluster_scheduling_policy = 1
        assert (a.required_cluster, a.non_portable_cluster_allowed, a.cluster_scheduling_policy) == ((2, 1, 1), True, 1)
    else:
        for name, value in (("required_cluster", (2, 1, 1)), ("non_portable_cluster_allowed", True)):
            with pytest.raises(dlaunch.UnsupportedError, match=r"compute capability 9\.0"):
                setattr(a, name, value)


def test_a_launch_goes_by_what_was_set(dynamic: dlaunch.Kernel) -> None:
    x, per = np.arange(20_000, dtype="f8"), 8000
    with dlaunch.to_device(x) as dx, dlaunch.zeros(x.size, "f64") as dy:
        for limit in (8 * per, 1000):  # enough, and what the launch raises
            dynamic.attributes.max_dynamic_shared_bytes = limit
            dynamic[3, 128, None, 8 * per](dx, dy, per, x.size)
            assert dynamic.attributes.max_dynamic_shared_bytes == 8 * per
        want = np.concatenate([x[i : i + per][::-1] for i in range(0, x.size, per)])
        np.testing.assert_array_equal(dy.copy_to_host(), want)


EMPTY = """.version 7.0
.target sm_70
.address_size 64
.visible .entry empty() { ret; }
"""


def test_occupancy_by_hand() -> None:
    if dlaunch.devices()[0].compute_capability != (9, 0):
        return  # the numbers below are for 9.0, which the simulator is, too
    # 2048 threads and 32 blocks a multiprocessor, 228 KiB, and each block costs 1 KiB
    with dlaunch.load(EMPTY) as library, library["empty"] as empty:
        o = empty.occupancy
        assert [o.max_active_blocks(block) for block in (1, 32, 64, 128, 129, 1024)] == [32, 32, 32, 16, 12, 2]
        fitting = [o.max_active_blocks(128, kib << 10) for kib in (27, 28, 113, 114, 227, 228)]
        assert fitting == [8, 7, 2, 1, 1, 0]
        assert o.max_potential_block_size() == (2 * multiprocessors(), 1024)


if dlaunch.driver_info().kind == "sim":  # a GPU's driver keeps some back, and is compared with itself below

    def test_available_shared_memory_fits(tiles: dlaunch.Kernel) -> None:
        tiles.attributes.max_dynamic_shared_bytes = 200_000
        for blocks in (1, 2, 5, 8):
            available = tiles.occupancy.available_shared_bytes(blocks, 128)
            assert tiles.occupancy.max_active_blocks(128, available) >= blocks
            assert available == 200_000 or tiles.occupancy.max_active_blocks(128, available + 1024) < blocks


def test_clusters(dynamic: dlaunch.Kernel) -> None:
    o = dynamic.occupancy
    for ask in (lambda: o.max_cluster_size(128), lambda: o.max_active_clusters(2, 128, grid=4)):
        if has_clusters():
            assert ask() >= 2
        else:
            with pytest.raises(dlaunch.UnsupportedError, match="clusters"):
                ask()
    if has_clusters():
        with pytest.raises(dlaunch.ConfigError, match="multiple"):
            o.max_active_clusters(2, 128, grid=3)


def test_the_potential_block_is_the_best(dynamic: dlaunch.Kernel) -> None:
    o = dynamic.occupancy
    whole = range(32, 1025, 32)
    for shared in (0, 20_000, (0, 8), (1000, 100), lambda b: 4 * b, {b: 90 * b for b in whole}, {96: 0, 33: 100_000}):
        for limit in (0, 256, 100, 40):
            tried = shared if isinstance(shared, dict) else {*whole, limit}
            cost = shared if callable(shared) else (
                shared.__getitem__ if isinstance(shared, dict) else
                lambda b, s=shared: s[0] + s[1] * b if isinstance(s, tuple) else s)  # fmt: skip
            threads = {b: b * o.max_active_blocks(b, cost(b)) for b in tried if 0 < b <= (limit or 1024)}
            grid, block = o.max_potential_block_size(shared, limit)
            assert threads[block] == max(threads.values()) > 0
            assert block == max(b for b, n in threads.items() if n == threads[block])
            assert grid * block == threads[block] * multiprocessors()


def test_occupancy_refusals(dynamic: dlaunch.Kernel) -> None:
    o = dynamic.occupancy
    for ask in (
        lambda: o.max_active_blocks(0),
        lambda: o.max_active_blocks(-1),
        lambda: o.max_active_blocks(1.5),  # type: ignore[arg-type]
        lambda: o.max_active_blocks(32, -1),
        lambda: o.available_shared_bytes(0, 32),
        lambda: o.available_shared_bytes(1, 0),
        lambda: o.available_shared_bytes(64, 1024),
        lambda: o.max_potential_block_size(1 << 30),
        lambda: o.max_potential_block_size((0, 1 << 30)),
        lambda: o.max_potential_block_size((1, 2, 3)),  # type: ignore[arg-type]
        lambda: o.max_potential_block_size({}),
        lambda: o.max_potential_block_size({2048: 0}),
        lambda: o.max_potential_block_size({0: 0}),
        lambda: o.max_potential_block_size(lambda b: 1 << 30),
        lambda: o.max_cluster_size(0),
        lambda: o.max_active_clusters((1, 0), 32),
    ):
        with pytest.raises(dlaunch.ConfigError):
            ask()
    with pytest.raises(ZeroDivisionError):
        o.max_potential_block_size(lambda b: b // 0)
    assert o.max_active_blocks(1025) == o.max_active_blocks(32, 1 << 30) == 0
    with pytest.raises(dlaunch.ArgumentError, match="device 99"):
        o[99].max_active_blocks(32)


@pytest.mark.parametrize("size", [0, 1, 31, 1024, 1025, 100_000])
def test_forall(saxpy: dlaunch.Kernel, size: int) -> None:
    x, y = np.arange(size, dtype="f4"), np.ones(size, "f4")
    with dlaunch.to_device(x) as dx, dlaunch.to_device(y) as dy:
        launch = saxpy.forall(size)
        launch(2.0, dx, dy)
        np.testing.assert_array_equal(dy.copy_to_host(), 2 * x + 1)
        assert launch is saxpy.forall(size)
        saxpy.forall(size, 0, (0, 4), sync=True)(1.0, dx, dy)
        np.testing.assert_array_equal(dy.copy_to_host(), 3 * x + 1)
    for bad in (-1, 1.5, "4"):
        with pytest.raises(dlaunch.ConfigError):
            saxpy.forall(bad)  # type: ignore[arg-type]


def test_launch_attributes(saxpy: dlaunch.Kernel) -> None:
    priority = 8  # CU_LAUNCH_ATTRIBUTE_PRIORITY
    y = np.ones(4, "f4")
    for value in (0, b"", b"\0" * 64):
        saxpy.launch(1.0, y.copy(), y, grid=1, block=4, attributes={priority: value})
    np.testing.assert_array_equal(y, np.full(4, 8, "f4"))
    assert saxpy.configure(1, 4, attributes={}) is saxpy.configure(1, 4)
    assert saxpy.configure(1, 4, attributes={priority: 0}) is not saxpy.configure(1, 4)
    for bad in ({priority: b"\0" * 65}, {priority: 1.5}, {-1: 0}, {"a": 0}, {priority: 1 << 32}, [priority],
                dict.fromkeys(range(20), 0)):  # fmt: skip
        with pytest.raises(dlaunch.ConfigError):
            saxpy.launch(1.0, y, y, grid=1, block=4, attributes=bad)


# ---- the driver's own answers


@pytest.mark.gpu
def test_attributes_are_the_drivers(tiles: dlaunch.Kernel) -> None:
    for name, number in NAMES.items():
        assert getattr(tiles.attributes, name) == libcuda.kernel_attribute(number, tiles.driver_handle), name
    tiles.attributes.preferred_shared_carveout = 60
    tiles.attributes.max_dynamic_shared_bytes = 90_000
    assert libcuda.kernel_attribute(9, tiles.driver_handle) == 60
    assert libcuda.kernel_attribute(8, tiles.driver_handle) == 90_000


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["saxpy", "matmul_tiled", "dynamic_shared", "local_array", "math_functions"])
def test_occupancy_is_the_drivers(kernels: Path, name: str) -> None:
    with dlaunch.load(kernels / f"{name}.ptx") as library, library[library.kernels[0]] as kernel:
        o, function = kernel.occupancy, libcuda.function(kernel.driver_handle)
        most = kernel.attributes.max_threads_per_block
        for shared in (0, 1000, 48 << 10, 100_000, 200_000):
            for block in (1, 32, 33, 96, 256, most):
                assert o.max_active_blocks(block, shared) == libcuda.max_active_blocks(function, block, shared)
            for limit in (0, 100, 512):
                ours = o.max_potential_block_size(shared, limit)
                assert ours == libcuda.max_potential_block_size(function, shared, limit), (shared, limit)
        for blocks in (1, 2, 3, 8):
            assert o.available_shared_bytes(blocks, 64) == libcuda.available_shared_bytes(function, blocks, 64)


@pytest.mark.gpu
def test_clusters_are_the_drivers(dynamic: dlaunch.Kernel) -> None:
    if not has_clusters():
        with pytest.raises(dlaunch.UnsupportedError, match="clusters"):
            dynamic.occupancy.max_cluster_size(128)
        return
    function = libcuda.function(dynamic.driver_handle)
    for allowed, shared in ((False, 0), (False, 100_000), (True, 0)):
        dynamic.attributes.non_portable_cluster_allowed = allowed
        assert dynamic.occupancy.max_cluster_size(128, shared) == libcuda.max_cluster_size(function, 128, shared)
        for cluster in (1, 2, 8):
            ours = dynamic.occupancy.max_active_clusters(cluster, 128, shared)
            assert ours == libcuda.max_active_clusters(function, cluster, 128, shared) > 0


cuda_core: Any = imported("cuda.core")
if cuda_core is not None and hasattr(cuda_core, "ObjectCode"):

    @pytest.mark.gpu
    def test_attributes_are_those_of_cuda_core(kernels: Path) -> None:
        cuda_core.Device(0).set_current()
        theirs = cuda_core.ObjectCode.from_ptx((kernels / "matmul_tiled.ptx").read_bytes()).get_kernel("matmul_tiled")
        with dlaunch.Kernel.from_driver(theirs) as ours:
            a, b = ours.attributes, theirs.attributes
            assert (a.registers, a.static_shared_bytes, a.local_bytes, a.max_threads_per_block, a.binary_version) == (
                b.num_regs, b.shared_size_bytes, b.local_size_bytes, b.max_threads_per_block, b.binary_version
            )  # fmt: skip
            assert [(p.offset, p.size) for p in ours.parameters] == [tuple(p) for p in theirs.arguments_info]


LATE = """
    import ctypes, sys
    sys.path.insert(0, "{tests}")
    import dlaunch, libcuda
    kernel = dlaunch.load("{kernels}/saxpy.ptx")["saxpy"]
    x = dlaunch.zeros(4, "f32")
    stream, graph = dlaunch.Stream(non_blocking=True), ctypes.c_void_p()
    libcuda.call("cuStreamBeginCapture_v2", libcuda.pointer(stream.native), 0)
    try:
        kernel[1, 4, stream](1.0, x, x, 4)
    except dlaunch.ConfigError as refused:
        print(refused)
    kernel.load()
    kernel[1, 4, stream](1.0, x, x, 4)
    libcuda.call("cuStreamEndCapture", libcuda.pointer(stream.native), ctypes.byref(graph))
    """


@pytest.mark.gpu
def test_a_first_launch_in_a_capture(kernels: Path) -> None:
    program = LATE.format(tests=Path(__file__).parent, kernels=kernels)
    assert output_of(program) == ""
    assert "is not loaded on device 0" in output_of(program, DLAUNCH_CAPTURE_LOAD="error")


def test_the_switch_for_it() -> None:
    program = (
        "import dlaunch\ntry: print(dlaunch.driver_info().devices > 0)\nexcept dlaunch.NoDriverError as e: print(e)"
    )
    for value, says in (
        ("", "True"),
        ("allow", "True"),
        ("error", "True"),
        ("warn", '"warn"; allow or error is wanted'),
    ):
        assert says in output_of(program, DLAUNCH_CAPTURE_LOAD=value)
