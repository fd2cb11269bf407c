"""What a kernel gets for what a user passes."""

from __future__ import annotations

import ctypes
import enum
import fractions
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import imported
from echo import PTX, echo

import dlaunch


@pytest.fixture(scope="module")
def library() -> Iterator[dlaunch.Library]:
    with dlaunch.load(PTX) as loaded:
        yield loaded


class Color(enum.IntEnum):
    GREEN = 7


class Index:
    def __index__(self) -> int:
        return -2


class NoAxes:
    """A host tensor without axes, as torch and JAX have them, of a number."""

    shape = ()

    def __init__(self, number: object) -> None:
        self.number = number

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("not needed")

    def item(self) -> object:
        return self.number


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_float)]


TYPED = [
    (8, "bool", True, b"\1"),
    (8, "bool", np.bool_(False), b"\0"),
    (8, "bool", 1, b"\1"),
    (8, "i8", -128, b"\x80"),
    (8, "u8", 255, b"\xff"),
    (8, "u8", True, b"\1"),
    (16, "i16", np.int64(-2), struct.pack("<h", -2)),
    (16, "u16", np.uint8(9), struct.pack("<H", 9)),
    (16, "f16", 1.5, struct.pack("<e", 1.5)),
    (16, "f16", np.float16(0.1), np.float16(0.1).tobytes()),
    (16, "f16", float("inf"), struct.pack("<e", float("inf"))),
    (16, "bf16", 1.0, b"\x80\x3f"),
    (16, "bf16", 3.140625, b"\x49\x40"),
    (32, "i32", 2**31 - 1, struct.pack("<i", 2**31 - 1)),
    (32, "i32", Color.GREEN, struct.pack("<i", 7)),
    (32, "i32", Index(), struct.pack("<i", -2)),
    (32, "u32", np.uint64(2**32 - 1), b"\xff" * 4),
    (32, "f32", 0.1, np.float32(0.1).tobytes()),
    (32, "f32", 3, struct.pack("<f", 3)),
    (32, "f32", np.float64(0.1), np.float32(0.1).tobytes()),
    (32, "f32", np.float32(0.1), np.float32(0.1).tobytes()),
    (32, "f32", fractions.Fraction(1, 2), struct.pack("<f", 0.5)),
    (32, "f32", ctypes.c_float(2.5), struct.pack("<f", 2.5)),
    (32, "f32", np.array(0.1), np.float32(0.1).tobytes()),
    (32, "i32", np.array(-5, "i8"), struct.pack("<i", -5)),
    (8, "b8", np.array(7), b"\7"),
    (64, "bytes(8,8)", np.array((3, 0.5), "i4,f4"), struct.pack("<if", 3, 0.5)),
    (64, "bytes(8,8)", np.void(b"12345678"), b"12345678"),
    (32, "f32", NoAxes(0.1), np.float32(0.1).tobytes()),
    (32, "i32", NoAxes(-5), struct.pack("<i", -5)),
    (64, "c64", NoAxes(1 + 2j), struct.pack("<ff", 1, 2)),
    (32, "f32", b"\1\2\3\4", b"\1\2\3\4"),
    (32, "c32", 1 + 2j, struct.pack("<ee", 1, 2)),
    (64, "i64", -(2**63), struct.pack("<q", -(2**63))),
    (64, "u64", 2**64 - 1, b"\xff" * 8),
    (64, "u64", np.uint64(2**64 - 1), b"\xff" * 8),
    (64, "i64", np.datetime64(5, "s"), struct.pack("<q", 5)),
    (64, "i64", np.timedelta64(-5, "ns"), struct.pack("<q", -5)),
    (64, "f64", 0.1, struct.pack("<d", 0.1)),
    (64, "f64", np.float32(0.1), struct.pack("<d", float(np.float32(0.1)))),
    (64, "f64", np.float64("nan"), np.float64("nan").tobytes()),
    (64, "c64", 1 + 2j, struct.pack("<ff", 1, 2)),
    (64, "c64", np.complex64(1 - 1j), np.complex64(1 - 1j).tobytes()),
    (64, "c64", np.complex128(0.1), np.complex64(0.1).tobytes()),
    (64, "bytes(8,8)", Pair(3, 0.5), struct.pack("<if", 3, 0.5)),
    (64, "bytes(8,8)", np.array([(3, 0.5)], "i4,f4")[0], struct.pack("<if", 3, 0.5)),
    (64, "ptr", None, bytes(8)),
    (64, "ptr", 0xDEADBEEF, struct.pack("<Q", 0xDEADBEEF)),
    (64, "ptr", ctypes.c_void_p(0x1234), struct.pack("<Q", 0x1234)),
    (64, "ptr", ctypes.c_void_p(None), bytes(8)),
]

ml_dtypes: Any = imported("ml_dtypes")
if ml_dtypes is not None:
    TYPED += [
        (32, "i32", ml_dtypes.int4(-3), struct.pack("<i", -3)),
        (32, "f32", ml_dtypes.uint4(3), struct.pack("<f", 3)),
        (32, "f32", ml_dtypes.bfloat16(1.5), struct.pack("<f", 1.5)),
        (8, "f8e4m3fn", ml_dtypes.float8_e4m3fn(1.5), ml_dtypes.float8_e4m3fn(1.5).tobytes()),
    ]


@pytest.mark.parametrize(
    ("bits", "scalar", "value", "wanted"), TYPED, ids=lambda v: repr(v) if len(repr(v)) < 24 else None
)
def test_a_typed_parameter_gets(library: dlaunch.Library, bits: int, scalar: str, value: Any, wanted: bytes) -> None:
    assert echo(library, bits, scalar, value) == wanted


UNTYPED = [
    (8, -1, b"\xff"),
    (8, 255, b"\xff"),
    (16, np.float16(1.5), np.float16(1.5).tobytes()),
    (32, -1, b"\xff" * 4),
    (32, 2**32 - 1, b"\xff" * 4),
    (32, np.float32(0.1), np.float32(0.1).tobytes()),
    (32, b"abcd", b"abcd"),
    (64, np.float64(0.1), struct.pack("<d", 0.1)),
    (64, np.complex64(1 + 2j), struct.pack("<ff", 1, 2)),
    (64, None, bytes(8)),
]


@pytest.mark.parametrize(("bits", "value", "wanted"), UNTYPED)
def test_an_untyped_parameter_gets(library: dlaunch.Library, bits: int, value: Any, wanted: bytes) -> None:
    assert echo(library, bits, None, value) == wanted


REFUSED = [
    (8, "i8", 128, "128"),
    (8, "u8", -1, "-1"),
    (8, "bool", 2, "2"),
    (32, "i32", 2**31, str(2**31)),
    (32, "i32", 1.0, "i32"),
    (32, "i32", np.float32(1.0), "i32"),
    (32, "i32", np.array(1.0), "i32"),
    (8, "u8", np.array(256), "256"),
    (8, "u8", NoAxes(256), "256"),
    (32, "f32", 2**24 + 1, str(2**24 + 1)),
    (32, "f32", 1e39, "1e+39"),
    (32, "f32", 1j, "complex given, f32 wanted"),
    (64, "f64", np.complex64(1), "complex given, f64 wanted"),
    (64, "i64", np.complex64(1), "complex given, i64 wanted"),
    (32, "i32", np.str_("x"), "str_ is no tensor and no scalar"),
    (32, "f32", "1", "str is no tensor and no scalar"),
    (32, "f32", None, "f32"),
    (32, "f32", b"12345", "5 bytes given, 4 wanted"),
    (32, None, 1.0, "type"),
    (32, None, 2**32, str(2**32)),
    (64, None, 1j, "declare it c64 or c128"),
    (64, "u64", 2**64, "more than 64 bits"),
    (64, "u64", -1, "-1"),
    (64, "c64", 1e39 + 0j, "infinite"),
    (64, "i64", [1], "numpy.asarray"),
    (64, "i64", (1,), "tuple is no tensor and no scalar"),
    (64, "i64", object(), "object is no tensor and no scalar"),
    (64, "i64", int, "type is no tensor and no scalar"),
    (64, "f64", np.longdouble(1), "longdouble" if np.dtype("g").itemsize == 8 else np.dtype("g").name),
]


@pytest.mark.parametrize(("bits", "scalar", "value", "said"), REFUSED)
def test_a_scalar_is_refused(library: dlaunch.Library, bits: int, scalar: str, value: Any, said: str) -> None:
    with pytest.raises(dlaunch.ArgumentError) as caught:
        echo(library, bits, scalar, value)
    assert caught.value.argument == 1 and caught.value.status == 1
    assert f'kernel "echo{bits}", argument 1' in str(caught.value)
    assert said in str(caught.value)


MAP_PTX = """//
.version 7.0
.target sm_70
.address_size 64
.visible .entry read_map(.param .u64 to, .param .align 64 .b8 map[128])
{
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [map];
    ld.param.u64 %rd3, [map+120];
    st.global.u64 [%rd1], %rd2;
    st.global.u64 [%rd1+8], %rd3;
    ret;
}
"""


class TensorMap(ctypes.Structure):
    _fields_ = [("opaque", ctypes.c_uint64 * 16)]


def test_a_tensor_map() -> None:
    words = list(range(100, 116))
    with dlaunch.load(MAP_PTX) as library, dlaunch.zeros(2, "u64") as to:
        for text in ("read_map", "read_map(to: out u64[2], map: bytes(128,64))"):
            with library.kernel(text) as kernel:
                assert kernel.parameters[1].offset in (64, 48)  # sm_90's parameters begin at 16 modulo 64
                for value in (TensorMap((ctypes.c_uint64 * 16)(*words)), np.array(words, "u8").tobytes()):
                    to.fill(0)
                    kernel[1, 1](to, value)
                    assert to.copy_to_host().tolist() == [100, 115]
                with pytest.raises(dlaunch.ArgumentError, match="120 bytes given, 128 wanted"):
                    kernel[1, 1](to, bytes(120))


def test_a_wrong_count_says_what_is_wanted(saxpy: dlaunch.Kernel) -> None:
    with dlaunch.zeros(4, "f32") as x:
        for given in ((), (1.0, x), (1.0, x, x, 4)):
            with pytest.raises(dlaunch.ArgumentError, match=f"takes 3 arguments, {len(given)} given") as caught:
                saxpy[1, 32](*given)
            assert caught.value.argument == -1


def test_keyword_arguments_are_a_type_error(saxpy: dlaunch.Kernel) -> None:
    with pytest.raises(TypeError):
        saxpy[1, 32](1.0, x=None)


def test_marks(kernels: Any) -> None:
    x, y = np.arange(8, dtype="f4"), np.ones(8, "f4")
    with dlaunch.load(kernels / "saxpy.ptx") as library, library["saxpy"] as saxpy:
        saxpy[1, 32](2.0, dlaunch.In(x), dlaunch.InOut(y), 8)
        with pytest.raises(dlaunch.TensorError, match="argument 1") as caught:
            saxpy[1, 32](2.0, x, dlaunch.InOut(y), 8)
    assert caught.value.argument == 1
    np.testing.assert_array_equal(y, 2 * x + 1)
    with pytest.raises(dlaunch.ArgumentError, match="one mark"):
        dlaunch.In(dlaunch.Out(x))


def test_a_mark_of_no_tensor(saxpy: dlaunch.Kernel) -> None:
    with pytest.raises(dlaunch.ArgumentError, match="list in a mark is no tensor"):
        saxpy[1, 32](1.0, dlaunch.In([1.0]), np.ones(1, "f4"))
    assert repr(dlaunch.InOut(np.ones(1))) == "<dlaunch.InOut of ndarray>"
