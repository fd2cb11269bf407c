"""What should be fast is: the builtin converts by itself, and says when it did not."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exchange import ByCapsule, ByInteger, ByOlder, CapsuleByOtherName, IntegerByOtherName, NoRead, TooNew
from process import output_of

import dlaunch

pytestmark = pytest.mark.builtin


def left(launch: Callable[[], object]) -> dict[str, int]:
    """The launches that left the builtin while a function ran, by reason."""
    before = dlaunch.report()["launches"]["python"]["reasons"]
    launch()
    after = dlaunch.report()["launches"]["python"]["reasons"]
    return {reason: n - before.get(reason, 0) for reason, n in after.items() if n != before.get(reason, 0)}


@pytest.fixture
def warm(saxpy: dlaunch.Kernel) -> Iterator[tuple[dlaunch.Kernel, dlaunch.DeviceArray, dlaunch.DeviceArray]]:
    """A kernel whose limits are known, and two arrays."""
    with dlaunch.to_device(np.arange(8, dtype="f4")) as x, dlaunch.zeros(8, "f32") as y:
        saxpy[1, 8](1.0, x, y)
        yield saxpy, x, y


def test_the_launcher_is_a_builtin(warm: Any) -> None:
    assert type(warm[0][1, 8]) is type(len)


SCALARS = [
    2.0,
    2,
    True,
    b"\0\0\0\x40",
    np.float32(2),
    np.float64(2),
    np.float16(2),
    np.int8(2),
    np.uint64(2),
    np.bool_(True),
]


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda v: type(v).__name__)
def test_scalars_and_arrays_are_fast(warm: Any, scalar: Any) -> None:
    saxpy, x, y = warm
    launch = saxpy[1, 8]
    fast = dlaunch.report()["launches"]["fast"]
    assert left(lambda: [launch(scalar, x, y) for _ in range(10)]) == {}
    assert dlaunch.report()["launches"]["fast"] - fast == 10
    factor = float(np.frombuffer(scalar, "f4")[0]) if isinstance(scalar, bytes) else float(scalar)
    np.testing.assert_array_equal(y.copy_to_host(), (1 + 10 * factor) * x.copy_to_host())


def test_the_first_launch_is_slow_once(kernels: Path) -> None:
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as kernel, dlaunch.zeros(1, "f32") as x:
        assert left(lambda: kernel[1, 1](1.0, x, x, 1)) == {"first on a device": 1}
        assert left(lambda: kernel[1, 1](1.0, x, x, 1)) == {}


@pytest.mark.parametrize("kind", [ByCapsule, ByInteger, CapsuleByOtherName, IntegerByOtherName, ByOlder])
def test_exchange_api_is_fast(warm: Any, kind: type) -> None:
    saxpy, x, y = warm
    tensors = kind(x), kind(y)
    assert left(lambda: saxpy[1, 8](2.0, *tensors)) == {}
    assert [t.reads for t in tensors] == [1, 1]
    np.testing.assert_array_equal(y.copy_to_host(), 3 * np.arange(8))


def test_exchange_byte_offset(warm: Any) -> None:
    saxpy, x, y = warm
    assert left(lambda: saxpy[1, 8](2.0, ByCapsule(x, offset=64), ByCapsule(y, offset=4))) == {}
    np.testing.assert_array_equal(y.copy_to_host(), 3 * np.arange(8))


def test_objects_that_change(warm: Any) -> None:
    """Nothing of an object is remembered from one launch to the next."""
    saxpy, x, y = warm
    launch = saxpy[1, 8]
    shown = ByCapsule(x)
    launch(1.0, shown, y)
    with dlaunch.full(8, 5, "f32") as other:
        shown.tensor.data = other.ptr  # as torch's set_ does
        assert left(lambda: launch(1.0, shown, y)) == {}
    shown.tensor.data, shown.shape[0] = x.ptr, 7  # as resize_ does
    with pytest.raises(dlaunch.TensorError, match=r"argument 2 \(y\): axis 0 has the extent 8, 7 wanted"):
        launch(1.0, shown, y)
    shown.shape[0], shown.tensor.bits = 8, 64
    with pytest.raises(dlaunch.TensorError, match=r"argument 1 \(x\): a tensor of f64 given"):
        launch(1.0, shown, y)
    np.testing.assert_array_equal(y.copy_to_host(), 2 * np.arange(8) + 5)


def test_fields_that_cannot_be(kernels: Path, warm: Any) -> None:
    _, x, y = warm
    text = "strided_copy(src: f32[n] @strided, s: i64 = stride(src, 0), dst: out f32[n], d: i64 = 1, n: i32 = n)"
    with dlaunch.load(kernels / "strided_copy.ptx") as library, library.kernel(text) as copy:
        far, beyond, nowhere, deep, flat = (ByCapsule(x) for _ in range(5))
        far.strides[0] = 1 << 61
        beyond.tensor.byte_offset = 2**64 - 64
        nowhere.tensor.shape += 4
        deep.tensor.ndim, flat.tensor.ndim = 1 << 30, -1
        for wrong, said in (
            (far, "past the end of memory"),
            (beyond, "past the end of memory"),
            (nowhere, "no multiple of 8"),
            (deep, "rank 1073741824"),
            (flat, "rank -1"),
        ):
            with pytest.raises(dlaunch.TensorError, match=rf"argument 0 \(src\): .*{said}"):
                copy[1, 8](wrong, y)


def test_host_arrays_that_change(saxpy: dlaunch.Kernel) -> None:
    x, y = np.ones(8, "f4"), np.zeros(8, "f4")
    saxpy[1, 8](1.0, x, y)
    x.resize(4, refcheck=False)
    with pytest.raises(dlaunch.TensorError, match=r"argument 2 \(y\): axis 0 has the extent 8, 4 wanted"):
        saxpy[1, 8](1.0, x, y)
    x.resize(8, refcheck=False)
    x[4:] = 2
    saxpy[1, 8](1.0, x, y)
    assert y.tolist() == [2] * 4 + [3] * 4


@pytest.mark.parametrize("kind", [TooNew, NoRead])
def test_an_exchange_api_that_cannot_serve(warm: Any, kind: type) -> None:
    saxpy, _, _ = warm
    x, y = np.arange(8, dtype="f4"), np.zeros(8, "f4")
    shown = kind(x), kind(y)
    assert left(lambda: saxpy[1, 8](2.0, *shown)) == {"another type": 1}
    assert [t.reads for t in shown] == [0, 0]
    np.testing.assert_array_equal(y, 2 * x)


def test_an_exchange_read_that_fails(warm: Any) -> None:
    saxpy, x, y = warm
    bad = ByCapsule(x)
    bad.fails = True
    with pytest.raises(dlaunch.TensorError, match=r"argument 1 \(x\): ByCapsule: its DLPack exchange function failed"):
        saxpy[1, 8](2.0, bad, y)
    assert bad.reads == 2  # the builtin, then the slow way: it gives the words


def test_what_is_refused_is_worded_on_the_slow_way(warm: Any) -> None:
    saxpy, x, y = warm

    def wrong() -> None:
        with dlaunch.zeros(8, "f64") as z, pytest.raises(dlaunch.TensorError):
            saxpy[1, 8](2.0, z, y)

    assert left(wrong) == {"refused": 1}
    with pytest.raises(dlaunch.ArgumentError, match="more than 64 bits"):
        saxpy[1, 8](1 << 64, x, y)
    saxpy[1, 8](2.0, x, y)  # no exception was left behind


def test_other_types_are_left_to_python(warm: Any) -> None:
    saxpy, x, y = warm
    host = np.arange(8, dtype="f4")
    assert left(lambda: saxpy[1, 8](2.0, host, y)) == {"another type": 1}

    class Float(float):
        pass

    assert left(lambda: saxpy[1, 8](Float(2), x, y)) == {"another type": 1}


def test_more_types_than_are_remembered(warm: Any) -> None:
    saxpy, x, y = warm
    launch = saxpy[1, 8]
    kinds = [type(f"Float{i}", (float,), {}) for i in range(100)]
    for _ in range(2):
        for kind in kinds:
            launch(kind(1.0), x, y)
    np.testing.assert_array_equal(y.copy_to_host(), 201 * np.arange(8))
    assert left(lambda: launch(2.0, x, y)) == {}


def test_many_arguments(kernels: Path) -> None:
    n = 300
    parameters = ", ".join(f".param .u64 p{i}" for i in range(n))
    ptx = f"//\n.version 7.0\n.target sm_70\n.address_size 64\n.visible .entry many({parameters})\n{{\n ret;\n}}\n"
    with dlaunch.load(ptx) as library, library["many"] as kernel:
        kernel[1, 1](*range(n))
        assert left(lambda: kernel[1, 1](*range(n))) == {"many arguments": 1}
        with pytest.raises(dlaunch.ArgumentError, match="takes 300 arguments, 256 given"):
            kernel[1, 1](*range(256))


def test_references_are_balanced(warm: Any) -> None:
    saxpy, x, y = warm
    launch, scalar, wrong = saxpy[1, 8], 12345.0, object()
    counted = [None, x, y, scalar, wrong, type(x), float, ByCapsule]
    tensor = ByCapsule(x)
    launch(scalar, tensor, y)
    gc.collect()
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(1000):
        launch(scalar, tensor, y)
        try:
            launch(wrong, x, y)
        except dlaunch.ArgumentError:
            pass
    gc.collect()
    after = [sys.getrefcount(o) for o in counted]
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True)), (before, after)


def test_a_builtin_lets_go_of_all_that_it_held(kernels: Path) -> None:
    class Local(float):
        pass

    with dlaunch.load(kernels / "saxpy.ptx") as library:
        kernel = library["saxpy"]
        with dlaunch.zeros(1, "f32") as x:
            kernel[1, 1](Local(1), x, x, 1)
        watched = weakref.ref(Local)
        entry = weakref.ref(kernel._entry)
        del Local, kernel
        gc.collect()
        assert entry() is None and watched() is None


@pytest.mark.parametrize("fastcall", ["1", "0"])
def test_a_launch_that_faults_is_not_done_again(fastcall: str) -> None:
    out = output_of(
        """
        import dlaunch, numpy as np
        ptx = '''//
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry wrong(.param .u64 to) {
            .reg .b32 %r<2>; .reg .b64 %rd<2>;
            ld.param.u64 %rd1, [to];
            atom.global.add.u32 %r1, [%rd1], 1;
            st.global.u32 [%rd1+16], %r1;
            ret;
        }'''
        kernel = dlaunch.load(ptx).kernel("wrong(to: inout u32[n])")
        with dlaunch.zeros(4, "u32") as to:
            for _ in range(2):
                try:
                    kernel[1, 1](to)
                except dlaunch.FaultError as error:
                    print(error.status, "to[4]" in str(error) and "4 elements" in str(error) and "wrong" in str(error))
            print(to.copy_to_host()[0])
        """,
        DLAUNCH_DRIVER="sim",
        DLAUNCH_FASTCALL=fastcall,
    )
    assert out == "10 True\n10 True\n2\n"


def test_no_builtins_when_asked() -> None:
    out = output_of(
        """
        import dlaunch, numpy as np
        ptx = '''//
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry nothing(.param .f32 a, .param .u64 x) { ret; }
        '''
        kernel = dlaunch.load(ptx)["nothing"]
        x = dlaunch.zeros(1, "f32")
        kernel[1, 1](1.0, x)
        kernel[1, 1](np.float32(1), x)
        try:
            kernel[1, 1](1.0)
        except dlaunch.ArgumentError as error:
            print("refused", error.argument)
        print(type(kernel[1, 1]).__name__, dlaunch.report()["launches"]["python"])
        """,
        DLAUNCH_FASTCALL="0",
    )
    assert out == "refused -1\nPlain {'slow': 3, 'reasons': {'no builtin': 3}}\n"


def test_subscripts_are_found_in_c(saxpy: dlaunch.Kernel) -> None:
    launch = saxpy[1, 32]
    assert saxpy[1, 32] is launch and saxpy[1, 33] is not launch
    assert type(dlaunch.Kernel.__getitem__).__name__ == "method_descriptor"
    for key in ((True, 32), (1.0, 32), (1, 32, 0.5), [1, 32], 1, (1,), (1, 2, 3, 4, 5)):
        with pytest.raises((dlaunch.ConfigError, dlaunch.ArgumentError)):
            saxpy[key]  # type: ignore[index]
    assert saxpy[1, 32, None] is not None and saxpy[(1, 1), 32] is not None


class Interrupting(ByCapsule):
    """Is interrupted when it is first asked a question that torch's tensors answer."""

    asked = 0

    def is_neg(self) -> bool:
        self.asked += 1
        if self.asked == 1:
            raise KeyboardInterrupt
        return False


class InterruptingType(type):
    """The same when the class is first asked how its objects are read."""

    asked = 0

    @property
    def __dlpack_c_exchange_api__(cls) -> Any:
        InterruptingType.asked += 1
        if InterruptingType.asked == 1:
            raise KeyboardInterrupt
        return ByCapsule.__dlpack_c_exchange_api__

    @property
    def is_neg(cls) -> Any:
        InterruptingType.asked += 1
        if InterruptingType.asked == 3:
            raise KeyboardInterrupt
        raise AttributeError("is_neg")


class OfInterruptingType(ByInteger, metaclass=InterruptingType):
    pass


def test_interrupts_are_not_lost(saxpy: dlaunch.Kernel) -> None:
    # What else goes wrong in the builtin is found again by the long way.
    with dlaunch.full(1, 3, "f32") as x, dlaunch.zeros(1, "f32") as y:
        launch = saxpy[1, 1]
        tensor = Interrupting(x)
        with pytest.raises(KeyboardInterrupt):
            launch(2.0, tensor, y)
        assert tensor.asked == 1 and y.copy_to_host().tolist() == [0]
        launch(2.0, tensor, y)
        assert y.copy_to_host().tolist() == [6]

        for _ in range(2):  # by the exchange API's attribute, then by those of lazy tensors
            with pytest.raises(KeyboardInterrupt):
                launch(2.0, OfInterruptingType(x), y)
        launch(2.0, OfInterruptingType(x), y)
        assert y.copy_to_host().tolist() == [12]
