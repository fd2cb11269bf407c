"""Any tensor of any layout and type, and any number, for any parameter: NumPy's result, or the refusal that is due."""

from __future__ import annotations

import ctypes
import enum
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from echo import PTX, echo
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from swap import PTX as SWAP_PTX
from table_forms import ELEMENTS, FOREIGN_TYPES, NUMPY_TYPES, Form, ml_types, word_of
from table_frameworks import FRAMEWORKS
from table_parameters import LAYOUTS, MODES, Parameter, broken_rules, has_shared_elements
from test_framework_table import Table

import dlaunch


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with dlaunch.load(SWAP_PTX) as library:
        made = Table(library)
        yield made
        made.close()


@pytest.fixture(scope="module")
def echoes() -> Iterator[dlaunch.Library]:
    with dlaunch.load(PTX) as library:
        yield library


# ---- tensors

TYPES = [np.dtype(t) for t in [*NUMPY_TYPES, *FOREIGN_TYPES]] + ml_types()


@st.composite
def any_form(draw: Any) -> Form:
    """An array of any strides, also 0 and negative, in a memory of its own."""
    dtype = draw(st.sampled_from(TYPES))
    shape = draw(npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    strides = tuple(draw(st.integers(-9, 9)) for _ in shape)
    reach = [s * (n - 1) for s, n in zip(strides, shape, strict=True) if n > 0]
    low, high = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    assume(high - low < ELEMENTS)
    first = draw(st.integers(-low, ELEMENTS - 1 - high))
    memory = np.random.default_rng(1).integers(0, 256, ELEMENTS * dtype.itemsize + 64, dtype="u1")
    start = -memory.ctypes.data % 64
    base = memory[start : start + ELEMENTS * dtype.itemsize].view(dtype)
    view = np.ndarray(shape, dtype, base.view("u1").data, first * dtype.itemsize, [s * dtype.itemsize for s in strides])
    view.flags.writeable = draw(st.sampled_from([True, True, False]))
    return Form("any", base, view, word_of(dtype))


any_parameter = st.builds(
    Parameter,
    st.sampled_from(MODES),
    st.sampled_from(LAYOUTS),
    st.sampled_from(["own", "own", "own", "any", "bits", "other"]),
    align=st.sampled_from([0, 0, 0, 32]),
) | st.builds(
    Parameter,
    st.sampled_from(MODES),
    dims=st.sampled_from(["blanks", "open", "fixed", "other extent", "other rank"]),
    nullable=st.just(False),
)


def has_nested_axes(array: np.ndarray) -> bool:
    """Tell whether each axis steps over all that the ones with smaller steps reach."""
    reach = 0
    for stride, extent in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride <= reach:
            return False
        reach += stride * (extent - 1)
    return True


@given(form=any_form(), parameter=any_parameter, framework=st.sampled_from(FRAMEWORKS))
def test_any_tensor_for_any_parameter(table: Table, form: Form, parameter: Parameter, framework: Any) -> None:
    made = framework.put(form)
    assume(made is not None)
    if parameter.writes and form.view.size:  # axes that reach into each other are refused, whether or not they meet
        assume(has_shared_elements(form.view) or has_nested_axes(form.view))
    broken = broken_rules(parameter, made, form.name)
    answers = {table.check(launch, made, parameter, broken) for launch in table.launchers[parameter.prototype(form)]}
    assert len(answers) == 1


# ---- numbers


class Index:
    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


def enum_of(value: int) -> enum.IntEnum:
    return enum.IntEnum("Made", {"MEMBER": value})(value)


def _fitting(kind: Any, low: int, high: int) -> Any:
    return st.integers(low, high).map(lambda n: (kind(n), n))


INTEGERS = st.one_of(
    st.integers(-(1 << 65), 1 << 65).map(lambda n: (n, n)),
    _fitting(Index, -(1 << 63), (1 << 64) - 1),
    _fitting(enum_of, -300, 300),
    st.booleans().map(lambda b: (b, int(b))),
    st.booleans().map(lambda b: (np.bool_(b), int(b))),
    *(_fitting(np.dtype(f"i{n}").type, -(1 << 8 * n - 1), (1 << 8 * n - 1) - 1) for n in (1, 2, 4, 8)),
    *(_fitting(np.dtype(f"u{n}").type, 0, (1 << 8 * n) - 1) for n in (1, 2, 4, 8)),
    *(_fitting(getattr(ctypes, f"c_int{8 * n}"), -(1 << 8 * n - 1), (1 << 8 * n - 1) - 1) for n in (1, 2, 4, 8)),
    *(_fitting(getattr(ctypes, f"c_uint{8 * n}"), 0, (1 << 8 * n) - 1) for n in (1, 2, 4, 8)),
    _fitting(lambda n: np.array(n, "i8"), -(1 << 63), (1 << 63) - 1),
)

_SMALL = [t.type for t in ml_types() if word_of(t) or t.itemsize == 2]
FLOATS = st.one_of(
    st.floats(allow_nan=False).map(lambda x: (x, x)),
    st.floats(allow_nan=False).map(lambda x: (np.float64(x), x)),
    st.floats(width=32, allow_nan=False).map(lambda x: (np.float32(x), x)),
    st.floats(width=16, allow_nan=False).map(lambda x: (np.float16(x), x)),
    st.floats(width=32, allow_nan=False).map(lambda x: (ctypes.c_float(x), x)),
    st.floats(allow_nan=False).map(lambda x: (ctypes.c_double(x), x)),
    st.floats(allow_nan=False).map(lambda x: (np.array(x), x)),
    st.fractions(max_denominator=1 << 20).map(lambda x: (x, float(x))),
)

if _SMALL:
    FLOATS |= (
        st.tuples(st.sampled_from(_SMALL), st.integers(0, 255))
        .map(lambda p: np.full(2, p[1], "u1")[: np.dtype(p[0]).itemsize].view(p[0])[0])
        .filter(lambda x: not math.isnan(float(x)))
        .map(lambda x: (x, float(x)))
    )


class Small:
    """A float type of at most two bytes, with every value that it has: what rounding to it must give."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        half = 1 << 8 * dtype.itemsize - 1
        with np.errstate(invalid="ignore"):  # of NaNs
            positive = np.arange(half, dtype=f"u{dtype.itemsize}").view(dtype).astype("f8")
        finite = np.isfinite(positive)
        self.values = [Fraction(float(x)) for x in positive[: half if finite.all() else int(np.argmin(finite))]]
        self.has_negative_zero = "fnuz" not in dtype.name
        last = self.values[-1]
        self.beyond = last + (last - self.values[-2])

    def round(self, number: Fraction, negative: bool) -> bytes | None:
        """Give the bits of the nearest value, the even one of two; None where that would be beyond the largest."""
        size = abs(number)
        values = [*self.values, self.beyond]
        low, high = 0, len(values) - 1
        if size >= self.beyond:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if values[middle] <= size else (low, middle)
        below, above = size - values[low], values[high] - size
        bits = low if below < above or (below == above and low % 2 == 0) else high
        if bits == len(self.values):
            return None
        if negative and (bits or self.has_negative_zero):
            bits |= 1 << 8 * self.dtype.itemsize - 1
        return bits.to_bytes(self.dtype.itemsize, "little")


SMALL = {word_of(t): Small(t) for t in ml_types() if word_of(t) and word_of(t) != "f8e8m0fnu"}
WIDE = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def wanted_float(name: str, number: float | int) -> bytes | None:
    """Give the bytes of a number as such a float, None where it must be refused."""
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 64:
        return None
    if name in SMALL:
        rounded = SMALL[name].round(Fraction(number), math.copysign(1, number) < 0)
        exact = rounded and Fraction(float(np.frombuffer(rounded, SMALL[name].dtype)[0])) == number
    else:
        with np.errstate(over="ignore"):
            value = WIDE[name](number)
        rounded = value.tobytes() if np.isfinite(value) else None
        exact = rounded is not None and Fraction(float(value)) == number
    return rounded if isinstance(number, float) or exact else None


def check(echoes: dlaunch.Library, bits: int, name: str, value: Any, wanted: bytes | None) -> None:
    if wanted is not None:
        assert echo(echoes, bits, name, value) == wanted
        return
    with pytest.raises(dlaunch.ArgumentError) as caught:
        echo(echoes, bits, name, value)
    assert caught.value.argument == 1


@given(name=st.sampled_from(sorted({**SMALL, **WIDE})), pair=FLOATS | INTEGERS)
def test_any_number_for_a_float(echoes: dlaunch.Library, name: str, pair: tuple[Any, float | int]) -> None:
    value, number = pair
    assume(not (isinstance(number, float) and math.isinf(number)))  # some of these types have no infinity
    bits = 8 * (SMALL[name].dtype if name in SMALL else np.dtype(WIDE[name])).itemsize
    check(echoes, bits, name, value, wanted_float(name, number))


@given(sign=st.sampled_from("iu"), size=st.sampled_from([1, 2, 4, 8]), pair=INTEGERS | FLOATS)
def test_any_number_for_an_integer(
    echoes: dlaunch.Library, sign: str, size: int, pair: tuple[Any, float | int]
) -> None:
    value, number = pair
    limits = np.iinfo(f"{sign}{size}")
    fits = isinstance(number, int) and limits.min <= number <= limits.max
    wanted = number.to_bytes(size, "little", signed=sign == "i") if fits and isinstance(number, int) else None
    check(echoes, 8 * size, f"{sign}{8 * size}", value, wanted)


@given(pair=INTEGERS | FLOATS)
def test_any_number_for_a_bool(echoes: dlaunch.Library, pair: tuple[Any, float | int]) -> None:
    value, number = pair
    check(echoes, 8, "bool", value, bytes([number]) if isinstance(number, int) and number in (0, 1) else None)


@given(size=st.sampled_from([1, 2, 4, 8]), pair=INTEGERS)
def test_any_integer_for_bits(echoes: dlaunch.Library, size: int, pair: tuple[Any, int]) -> None:
    value, number = pair
    fits = -(1 << 8 * size - 1) <= number < 1 << 8 * size
    check(
        echoes, 8 * size, f"b{8 * size}", value, (number % (1 << 8 * size)).to_bytes(size, "little") if fits else None
    )


COMPLEX = st.complex_numbers(allow_nan=False, allow_infinity=False)


@given(
    name=st.sampled_from(["c32", "c64"]),
    value=COMPLEX | COMPLEX.map(np.complex128) | st.complex_numbers(width=64, allow_nan=False).map(np.complex64),
)
def test_any_complex_number(echoes: dlaunch.Library, name: str, value: Any) -> None:
    number = complex(value)
    assume(np.isfinite(number))
    part = {"c32": "f2", "c64": "f4"}[name]
    with np.errstate(over="ignore"):
        parts = np.array([number.real, number.imag]).astype(part)
    wanted = parts.tobytes() if np.isfinite(parts).all() else None
    check(echoes, {"c32": 32, "c64": 64}[name], name, value, wanted)
    check(echoes, 64, "f64", value, None)


UNITS = ["Y", "M", "D", "h", "s", "ms", "us", "ns", "as"]


@given(
    kind=st.sampled_from([np.datetime64, np.timedelta64]),
    unit=st.sampled_from(UNITS),
    count=st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_any_date(echoes: dlaunch.Library, kind: Any, unit: str, count: int) -> None:
    value = np.array(count, "i8").view(f"{'M8' if kind is np.datetime64 else 'm8'}[{unit}]")[()]
    for name in ("i64", "b64", "bytes(8,8)"):
        check(echoes, 64, name, value, count.to_bytes(8, "little", signed=True))
    check(echoes, 32, "i32", value, None)


def make_struct(fields: list[Any]) -> type[ctypes.Structure]:
    return type("Made", (ctypes.Structure,), {"_fields_": [(f"f{i}", kind) for i, kind in enumerate(fields)]})


@given(
    fields=st.lists(
        st.sampled_from([ctypes.c_int8, ctypes.c_uint16, ctypes.c_int32, ctypes.c_float, ctypes.c_double]), max_size=5
    ),
    content=st.binary(min_size=40, max_size=40),
)
def test_any_struct(echoes: dlaunch.Library, fields: list[Any], content: bytes) -> None:
    kind = make_struct(fields)
    size = ctypes.sizeof(kind)
    value = kind.from_buffer_copy(content)
    check(echoes, 64, "bytes(8,8)", value, content[:8] if size == 8 else None)
    check(echoes, 32, "f32", value, content[:4] if size == 4 else None)


@given(content=st.binary(max_size=17), name=st.sampled_from(["i32", "f32", "c32", "b32", "bytes(4,4)"]))
def test_any_bytes(echoes: dlaunch.Library, content: bytes, name: str) -> None:
    wanted = content if len(content) == 4 else None
    check(echoes, 32, name, content, wanted)
    if content:
        check(echoes, 32, name, np.void(content), wanted)
        record = np.frombuffer(content, [("f", "u1", (len(content),))])[0]
        check(echoes, 32, name, record, wanted)


class Word(enum.Enum):
    NUMBER = 1
    TEXT = "x"


@pytest.mark.parametrize("name", ["bool", "i32", "u8", "f32", "bf16", "c64", "b32", "ptr"])
@pytest.mark.parametrize(
    "value",
    [
        Word.NUMBER,
        Word.TEXT,
        np.str_("x"),
        ctypes.c_char(b"x"),
        ctypes.c_wchar("x"),
        ctypes.c_char_p(b"x"),
        np.longdouble(1),
    ],
    ids=repr,
)
def test_what_is_no_number(echoes: dlaunch.Library, value: Any, name: str) -> None:
    bits = {"bool": 8, "u8": 8, "bf16": 16, "c64": 64, "ptr": 64}.get(name, 32)
    check(echoes, bits, name, value, None)
