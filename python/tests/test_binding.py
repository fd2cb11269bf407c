"""Kernels and libraries that hold arrays: what they see, what they keep, and what they refuse."""

from __future__ import annotations

import gc
import itertools
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlaunch
from dlaunch import _abi, _dtype
from dlaunch._capsule import capsule_pointer

SAXPY = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"

# y[i] = 2 * table[i], through a pointer; y[i] = element i, in C order, of the 2-d view `matrix`.
SYMBOLS = """
.version 7.0
.target sm_70
.address_size 64
.visible .global .align 8 .u64 table;
.visible .const .align 8 .b8 matrix[40];
.visible .const .align 4 .f32 coeffs[4] = {0f3F800000, 0f40000000, 0f40400000, 0f40800000};
.visible .global .align 4 .b8 odd[12];

.visible .entry through_pointer(.param .u64 y, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<3>;
    .reg .f32 %f<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd0, [y];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p, %r1, %r0;
    @%p bra DONE;
    ld.global.u64 %rd1, [table];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    add.s64 %rd4, %rd0, %rd2;
    ld.global.f32 %f0, [%rd3];
    add.f32 %f1, %f0, %f0;
    st.global.f32 [%rd4], %f1;
DONE:
    ret;
}

.visible .entry through_view(.param .u64 y)
{
    .reg .b32 %r<2>;
    .reg .f32 %f0;
    .reg .b64 %rd<16>;
    .reg .pred %p;
    ld.param.u64 %rd0, [y];
    mov.u32 %r0, %tid.x;
    cvt.u64.u32 %rd1, %r0;
    ld.const.u64 %rd2, [matrix];
    ld.const.u64 %rd3, [matrix+8];
    ld.const.u64 %rd4, [matrix+16];
    ld.const.u64 %rd5, [matrix+24];
    ld.const.u64 %rd6, [matrix+32];
    mul.lo.s64 %rd7, %rd3, %rd4;
    setp.ge.s64 %p, %rd1, %rd7;
    @%p bra DONE;
    div.s64 %rd8, %rd1, %rd4;
    rem.s64 %rd9, %rd1, %rd4;
    mul.lo.s64 %rd10, %rd8, %rd5;
    mad.lo.s64 %rd11, %rd9, %rd6, %rd10;
    shl.b64 %rd12, %rd11, 2;
    add.s64 %rd13, %rd2, %rd12;
    ld.global.f32 %f0, [%rd13];
    shl.b64 %rd14, %rd1, 2;
    add.s64 %rd15, %rd0, %rd14;
    st.global.f32 [%rd15], %f0;
DONE:
    ret;
}
"""

X = np.arange(100, dtype="f4")


@pytest.fixture
def symbols() -> Iterator[dlaunch.Library]:
    """Symbols that hold arrays, and kernels that read them."""
    with dlaunch.load(SYMBOLS) as library:
        yield library


# ---- what is bound, and how


@pytest.mark.parametrize("fixed", [c for n in (1, 2, 3) for c in itertools.combinations("axy", n)])
def test_any_of_the_arguments(saxpy: dlaunch.Kernel, fixed: tuple[str, ...], device_array: Any) -> None:
    put, get = device_array
    values = {"a": 2.0, "x": put(X), "y": put(np.ones(100, "f4"))}
    rest = [value for name, value in values.items() if name not in fixed]
    with saxpy.bind(**{name: values[name] for name in fixed}) as bound:
        for times in (1, 2):
            assert bound[4, 32](*rest) is None
            np.testing.assert_array_equal(get(values["y"]), 2 * times * X + 1)
        assert [p.bound for p in bound.parameters] == [p.name in fixed for p in bound.parameters]
        assert "bound>" in repr(bound) and SAXPY in repr(bound) and bound.prototype == SAXPY and bound.name == "saxpy"
    assert not any(p.bound for p in saxpy.parameters)


def test_leading_and_again(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.to_device(X) as x, dlaunch.zeros(100, "f32") as y:
        with saxpy.bind(2) as once, once.bind(x) as twice, twice.bind(y) as all_bound:
            once[4, 32](x, y)
            twice[4, 32](y)
            all_bound[4, 32]()
            f = all_bound.configure(4, 32, sync=True)
            f()
            all_bound.launch(grid=4, block=32, shared=64)
        with saxpy.bind(y=y, a=np.float32(2)) as named, named.bind(x) as both:
            both[4, 32, 0]()
        np.testing.assert_array_equal(y.copy_to_host(), 12 * X)


def test_contents_are_not_fixed(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.to_device(X) as x, dlaunch.zeros(100, "f32") as y, saxpy.bind(1.0, x, y) as bound:
        launch = bound[4, 32]
        launch()
        x.copy_from_host(10 * X)  # seen by what is launched later ...
        y.fill(1)  # ... as what is written by the kernel is by others
        launch()
        np.testing.assert_array_equal(y.copy_to_host(), 10 * X + 1)


def test_host_arrays_are_frozen(saxpy: dlaunch.Kernel) -> None:
    x, y = X.copy(), np.zeros(100, "f4")
    with saxpy.bind(x=x) as bound:
        gone = weakref.ref(x)
        x[:] = 7
        del x
        gc.collect()
        assert gone() is None
        bound[4, 32](1.0, y)
        np.testing.assert_array_equal(y, X)
        before = dlaunch.live_handles()
        for written in (y, dlaunch.InOut(y), dlaunch.Out(y)):
            with pytest.raises(
                dlaunch.ArgumentError, match=r"parameter 2 \(y\): a host tensor is bound as a copy"
            ) as caught:
                bound.bind(y=written)
            assert caught.value.argument == 2
        assert dlaunch.live_handles() == before


@pytest.mark.parametrize("on_host", [True, False])
def test_layouts(kernels: Path, on_host: bool) -> None:
    base = np.arange(24, dtype="f4").reshape(4, 6)
    with dlaunch.load(kernels / "view_transpose.ptx") as library, library["view_transpose"] as kernel:
        with dlaunch.to_device(base) as device, dlaunch.to_device(np.asfortranarray(base).T) as turned:
            for key in [
                (...,),
                (slice(None, None, 2), slice(None, None, -3)),
                (slice(None, None, -1),),
                (slice(1, 2),),
            ]:
                x = base[key] if on_host else device[key]
                expected = base[key].T
                with kernel.bind(x=x) as bound, dlaunch.zeros(expected.shape, "f32") as y, bound.bind(y=y) as both:
                    del x
                    gc.collect()
                    both[(1, 1), (8, 8)]()
                    np.testing.assert_array_equal(y.copy_to_host(), expected)
            with kernel.bind(x=np.asfortranarray(base) if on_host else turned) as bound:
                expected = base.T if on_host else base
                with dlaunch.zeros(expected.shape, "f32") as y:
                    bound[(1, 1), (8, 8)](y)
                    np.testing.assert_array_equal(y.copy_to_host(), expected)


DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


COPY_BYTES = """
.version 6.0
.target sm_50
.address_size 64
.visible .entry copy_bytes(.param .u64 dst, .param .u64 src, .param .u64 n)
{
    .reg .pred %p;
    .reg .b16 %h;
    .reg .b32 %r<3>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [dst];
    ld.param.u64 %rd1, [src];
    ld.param.u64 %rd2, [n];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %ntid.x;
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r0, %r1;
    cvt.u64.u32 %rd4, %r2;
    add.u64 %rd3, %rd3, %rd4;
    setp.ge.u64 %p, %rd3, %rd2;
    @%p bra DONE;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd5, %rd0, %rd3;
    ld.global.u8 %h, [%rd4];
    st.global.u8 [%rd5], %h;
DONE:
    ret;
}
"""


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 0), (1, 2, 1, 2)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_and_rank(dtype: str, shape: tuple[int, ...]) -> None:
    name = _dtype.of_numpy(np.dtype(dtype)).name
    source = np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)
    with dlaunch.load(COPY_BYTES) as library, dlaunch.to_device(source) as device:
        text = f"copy_bytes(dst: out u8[_], src: {name}[{','.join(map(str, shape))}], n: u64)"
        for held in (source, device):
            with library.kernel(text).bind(src=held) as bound, dlaunch.zeros(source.nbytes, "uint8") as to:
                bound.launch(to, source.nbytes, grid=1, block=max(source.nbytes, 1))
                assert to.copy_to_host().tobytes() == source.tobytes()


def test_numba_arrays(kernels: Path) -> None:
    with dlaunch.load(kernels / "scale_numba.ptx") as library:
        kernel = library.kernel("(x: f32[n] @numba, factor: f64, y: out f32[n] @numba)")
    with kernel, dlaunch.to_device(X) as x, dlaunch.zeros(100, "f32") as y, kernel.bind(x, factor=3, y=y) as bound:
        bound[1, 128]()
        np.testing.assert_allclose(y.copy_to_host(), 3 * X)


def test_nulls_bytes_and_untyped(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel:
        with dlaunch.to_device(X) as x, dlaunch.zeros(100, "f32") as y:
            names = [p.name for p in kernel.parameters]
            with kernel.bind(np.float32(2).tobytes(), **{names[3]: 100}) as bound:
                with bound.bind(x) as passing, passing.bind(y.ptr) as raw:
                    raw[4, 32]()
                np.testing.assert_array_equal(y.copy_to_host(), 2 * X)
            with kernel.bind(0.5, None, None) as nothing:
                nothing[1, 32](0)


# ---- what each launch checks


def test_passed_against_bound(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.to_device(X) as x, dlaunch.zeros(99, "f32") as short, saxpy.bind(x=x) as bound:
        with pytest.raises(
            dlaunch.TensorError, match=r"argument 1 \(y\): axis 0 has the extent 99, 100 wanted"
        ) as caught:
            bound[1, 32](1.0, short)
        assert caught.value.argument == 1
        with pytest.raises(dlaunch.ArgumentError, match=r"takes 2 arguments, 3 given: \(a: f32, y: inout f32\[n\]\)"):
            bound[1, 32](1.0, x, x)
        with pytest.raises(dlaunch.ArgumentError, match=r"argument 0 \(a\)"):
            bound[1, 32]("one", x)
        with pytest.raises(dlaunch.TensorError, match=r"parameter 2 \(y\): axis 0 has the extent 99, 100 wanted"):
            bound.bind(y=short)


def test_what_cannot_be_bound(saxpy: dlaunch.Kernel) -> None:
    closed = dlaunch.zeros(4, "f32")
    closed.close()
    with dlaunch.to_device(X) as x, dlaunch.zeros(4, "f64") as wide, saxpy.bind(2.0) as bound:
        for values, names, error, says in [
            ((), {}, dlaunch.ArgumentError, "nothing to bind; give values for some of a, x, y"),
            ((1, x, x, 4), {}, dlaunch.ArgumentError, r"has 3 parameters that are passed \(a, x, y\), 4 given"),
            ((1,), {"a": 1}, dlaunch.ArgumentError, "parameter a: given twice"),
            ((), {"n": 1}, dlaunch.ArgumentError, "parameter n: it is filled in by the prototype"),
            ((), {"z": 1}, dlaunch.ArgumentError, "parameter z: there is none of that name; one of a, x, y"),
            ((), {"x": wide}, dlaunch.TensorError, r'kernel "saxpy", parameter 1 \(x\): a tensor of f64 given'),
            ((), {"x": closed}, dlaunch.HandleError, r"closed already"),
            ((), {"x": 1}, dlaunch.ArgumentError, r"parameter 1 \(x\): an integer given, f32\[n\] wanted"),
            ((), {"x": [1.0]}, dlaunch.ArgumentError, r"parameter 1 \(x\): list is no tensor and no scalar"),
            ((2**25 + 1,), {}, dlaunch.ArgumentError, r"parameter 0 \(a\): 33554433 is not exactly"),
        ]:
            with pytest.raises(error, match=says):
                saxpy.bind(*values, **names)
        with pytest.raises(dlaunch.ArgumentError, match="parameter a: it is bound already; one of x, y"):
            bound.bind(a=1)
        live = dlaunch.live_handles()
        with pytest.raises(dlaunch.TensorError):
            saxpy.bind(1.0, x=x, y=wide)
        assert dlaunch.live_handles() == live
    with pytest.raises(dlaunch.HandleError, match="closed"):
        bound.bind(x=X)


if dlaunch.driver_info().kind == "sim":  # a GPU's context would be gone

    def test_a_kernel_that_leaves_a_bound_array(kernels: Path) -> None:
        with dlaunch.load(kernels / "saxpy.ptx") as library:
            untold = library.kernel("saxpy(a: f32, x: f32[_], y: inout f32[_], n: i32)")
        with untold, dlaunch.zeros(10, "f32") as x, dlaunch.zeros(100, "f32") as y, untold.bind(x=x) as bound:
            with pytest.raises(dlaunch.FaultError, match=r"reads x\[10\] \(bound parameter 1\), which has 10 elements"):
                bound[1, 32](1.0, y, 100)


# ---- who lives how long


class Owner:
    """Device memory of another library: whether it is alive can be seen."""

    def __init__(self, array: dlaunch.DeviceArray) -> None:
        self.array = array

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


@pytest.mark.parametrize("order", list(itertools.permutations(("library", "kernel", "array", "once"))))
def test_closing_in_any_order(kernels: Path, order: tuple[str, ...]) -> None:
    library = dlaunch.load(kernels / "saxpy.ptx")
    kernel, array = library.kernel(SAXPY), dlaunch.to_device(X)
    once = kernel.bind(x=array)
    bound = once.bind(1.0)
    things = {"library": library, "kernel": kernel, "array": array, "once": once}
    y = np.zeros(100, "f4")
    for times, name in enumerate(order, start=1):
        things[name].close()
        bound[4, 32](y)
        np.testing.assert_array_equal(y, times * X)
    bound.close()
    bound.close()
    with pytest.raises(dlaunch.HandleError):
        bound[4, 32](y)
    dlaunch.drain()
    assert dlaunch.live_handles() == 0 and dlaunch.report()["device_bytes"] == 0


@pytest.mark.parametrize("kept", ["kernel", "launcher", "bound again"])
def test_garbage_collection(saxpy: dlaunch.Kernel, kept: str) -> None:
    array, owner = dlaunch.to_device(X), Owner(dlaunch.to_device(2 * X))
    alive = weakref.ref(owner)
    bound = saxpy.bind(x=array)
    view = array[::1]
    other = saxpy.bind(x=owner)
    viewed = saxpy.bind(x=view)
    del array, owner, view
    held: list[Any] = []
    for kernel in (bound, other, viewed):
        held.append({"kernel": kernel, "launcher": kernel[4, 32], "bound again": kernel.bind(a=1.0)}[kept])
    del bound, other, viewed, kernel
    gc.collect()
    dlaunch.drain()
    assert alive() is not None
    y = np.zeros(100, "f4")
    for one, factor in zip(held, (1, 2, 1), strict=True):
        y[:] = 0
        launch = one if kept == "launcher" else one[4, 32]
        launch(*((y,) if kept == "bound again" else (1.0, y)))
        np.testing.assert_array_equal(y, factor * X)
    held.clear()
    del one, launch
    gc.collect()
    dlaunch.drain()
    assert alive() is None and dlaunch.report()["device_bytes"] == 0


class Copying(Owner):
    """Its __dlpack__ says that it gives a copy."""

    def __dlpack__(self, **keywords: Any) -> Any:
        capsule = self.array.__dlpack__(**keywords)
        address = capsule_pointer(capsule, b"dltensor_versioned")
        _abi.DLManagedTensorVersioned.from_address(address).flags |= _abi.DLPACK_FLAG_BITMASK_IS_COPIED
        return capsule


def test_copies_are_not_bound(saxpy: dlaunch.Kernel) -> None:
    with pytest.raises(dlaunch.TensorError, match=r"parameter 1 \(x\): the __dlpack__ of Copying gave a copy"):
        saxpy.bind(x=Copying(dlaunch.to_device(X)))


def test_a_closed_kernel_lets_go(saxpy: dlaunch.Kernel) -> None:
    owner = Owner(dlaunch.to_device(X))
    alive = weakref.ref(owner)
    bound = saxpy.bind(x=owner)
    del owner
    bound[4, 32](1.0, np.zeros(100, "f4"))
    bound.close()
    gc.collect()
    assert alive() is None


def test_threads(saxpy: dlaunch.Kernel) -> None:
    """Some bind and close while others launch: each launch is done, or its kernel was closed."""
    with dlaunch.to_device(X) as x:
        current = [saxpy.bind(x=x)]
        failures: list[BaseException] = []
        done = threading.Event()

        def launch() -> None:
            y = np.zeros(100, "f4")
            times = 0
            try:
                while not done.is_set():
                    try:
                        current[0][4, 32](1.0, y)
                        times += 1
                    except dlaunch.HandleError:
                        continue
                np.testing.assert_array_equal(y, times * X)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=launch) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            with dlaunch.to_device(X) as short_lived:
                former, current[0] = current[0], saxpy.bind(x=short_lived)
            former.close()
        done.set()
        for thread in threads:
            thread.join()
        current[0].close()
        assert failures == []


# ---- symbols


def test_contents_of_symbols(symbols: dlaunch.Library) -> None:
    coeffs = symbols.globals["coeffs"]
    assert coeffs.dtype == np.uint8 and coeffs.shape == (16,)
    typed = coeffs.view("f32")
    np.testing.assert_array_equal(typed.copy_to_host(), np.array([1, 2, 3, 4], "f4"))
    typed.copy_from_host(np.array([5, 6, 7, 8], "f4"))
    np.testing.assert_array_equal(symbols.globals["coeffs"].view("f32").copy_to_host(), np.array([5, 6, 7, 8], "f4"))
    np.testing.assert_array_equal(typed.reshape(2, 2)[1].copy_to_host(), np.array([7, 8], "f4"))


def test_pointers(symbols: dlaunch.Library, device_array: Any) -> None:
    put, _ = device_array
    kernel = symbols.kernel("through_pointer(y: out f32[n], n: u32 = n)")
    y = np.zeros(100, "f4")
    table = put(X)
    symbols.bind(table=table)
    kernel[1, 128](y)
    np.testing.assert_array_equal(y, 2 * X)
    symbols.bind(table=put(3 * X))  # the former goes
    kernel[1, 128](y)
    np.testing.assert_array_equal(y, 6 * X)
    host = 4 * X
    symbols.bind(table=host)
    host[:] = 0
    kernel[1, 128](y)
    np.testing.assert_array_equal(y, 8 * X)
    symbols.bind(table=None)
    assert symbols.globals["table"].view("u64").copy_to_host()[0] == 0
    kernel.close()


def test_view_symbols(symbols: dlaunch.Library) -> None:
    base = np.arange(24, dtype="f4").reshape(4, 6)
    with symbols["through_view"] as kernel, dlaunch.to_device(base) as device:
        for key in [(...,), (slice(None, None, 2), slice(None, None, -3)), (slice(1, 2),)]:
            for held in (base[key], device[key]):
                symbols.bind(matrix=held)
                y = np.zeros(base[key].shape, "f4")
                kernel[1, 32](dlaunch.Out(y))
                np.testing.assert_array_equal(y, base[key])


def test_references_pass_from_a_library_to_what_it_is_linked_into() -> None:
    owner = Owner(dlaunch.to_device(X))
    alive = weakref.ref(owner)
    with dlaunch.load(SYMBOLS) as library:
        library.bind(table=owner)
        linked = dlaunch.link([library])
    del owner, library
    gc.collect()
    assert alive() is not None
    with linked, dlaunch.zeros(100, "f32") as y, linked.kernel("through_pointer(y: out f32[n], n: u32 = n)") as kernel:
        kernel[1, 128](y)
        np.testing.assert_array_equal(y.copy_to_host(), 2 * X)
    del linked, kernel
    gc.collect()
    dlaunch.drain()
    assert alive() is None


def test_libraries_that_are_not_linked() -> None:
    before = dlaunch.live_handles()
    with dlaunch.load(SYMBOLS) as library:
        library.bind(table=X)
        with pytest.raises(dlaunch.ArgumentError, match='link: symbol "table" is bound to a copy of a ndarray f32'):
            dlaunch.link([library])
    with pytest.raises(dlaunch.HandleError, match="link: <dlaunch.Library PTX text, closed> given"):
        dlaunch.link([library])
    assert dlaunch.live_handles() == before


@pytest.mark.parametrize("kept", ["kernel", "launcher", "bound"])
def test_references_pass_from_the_library_to_its_kernels(kept: str) -> None:
    owner, own = Owner(dlaunch.to_device(X)), dlaunch.to_device(3 * X)
    alive = weakref.ref(owner)
    launchers = []
    with dlaunch.zeros(100, "f32") as y:
        for held in (owner, own):
            with dlaunch.load(SYMBOLS) as library:
                library.bind(table=held)
                kernel = library.kernel("through_pointer(y: out f32[n], n: u32 = n)")
            launchers.append({"kernel": kernel, "launcher": kernel[1, 128], "bound": kernel.bind(y)}[kept])
        own.close()
        del owner, own, held, library, kernel
        gc.collect()
        assert alive() is not None
        for launch, factor in zip(launchers, (2, 6), strict=True):
            if kept == "launcher":
                launch(y)
            else:
                launch[1, 128](*(() if kept == "bound" else (y,)))
            np.testing.assert_array_equal(y.copy_to_host(), factor * X)
    del launch
    launchers.clear()
    gc.collect()
    dlaunch.drain()
    assert alive() is None and dlaunch.report()["device_bytes"] == 0


def test_what_a_symbol_cannot_hold(symbols: dlaunch.Library) -> None:
    with dlaunch.to_device(X) as x:
        for name, value, error, says in [
            ("tabel", x, dlaunch.NotFoundError, "tabel"),
            ("odd", x, dlaunch.ArgumentError, r'"odd" has 12 bytes; a pointer \(8\)'),
            ("matrix", x, dlaunch.TensorError, 'symbol "matrix": a tensor of 1 dimensions given'),
            ("table", 1.5, dlaunch.ArgumentError, 'symbol "table": a float given, pointer wanted'),
            ("table", [1], dlaunch.ArgumentError, 'dlaunch_library_bind: symbol "table": list is no tensor'),
            ("table", dlaunch.Out(X.copy()), dlaunch.ArgumentError, "does not change"),
        ]:
            with pytest.raises(error, match=says):
                symbols.bind(**{name: value})
    symbols.close()
    with pytest.raises(dlaunch.HandleError, match="closed"):
        symbols.bind(table=None)
