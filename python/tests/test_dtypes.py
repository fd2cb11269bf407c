"""Every spelling of a dtype."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dlaunch
from dlaunch import _dtype

SPELLINGS: list[tuple[Any, str]] = [
    ("f32", "f32"),
    ("f4", "f32"),
    ("<f4", "f32"),
    ("float32", "f32"),
    ("i4", "i32"),
    ("<i8", "i64"),
    ("int64", "i64"),
    ("u2", "u16"),
    ("uint8", "u8"),
    ("?", "bool"),
    ("bool", "bool"),
    ("half", "f16"),
    ("double", "f64"),
    ("c8", "c64"),
    ("c64", "c64"),
    ("complex64", "c64"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("f8e4m3fn", "f8e4m3fn"),
    ("float8_e5m2", "f8e5m2"),
    (np.float16, "f16"),
    (np.int8, "i8"),
    (np.dtype("u8"), "u64"),
    (np.dtype("?"), "bool"),
    (bool, "bool"),
    (int, "i64"),
    (float, "f64"),
    (complex, "c128"),
    (_dtype.DataType(4, 16), "bf16"),
]


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS, ids=lambda v: str(v))
def test_spellings(spelling: Any, name: str) -> None:
    assert _dtype.parse(spelling).name == name


REFUSED: list[tuple[Any, str]] = [
    ("i8", "int8 or int64"),
    ("u8", "uint8 or uint64"),
    ("f33", "f33"),
    ("", "''"),
    ("float", "float"),
    (5, "5"),
    (None, "None"),
    (list, "list"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_refused(text: Any, said: str) -> None:
    with pytest.raises(dlaunch.ArgumentError) as caught:
        _dtype.parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("dtype", [">f4", "M8[s]", "U3", "O", "V3", "g"])
def test_numpy_types_that_no_kernel_knows(dtype: str) -> None:
    with pytest.raises(dlaunch.TensorError) as caught:
        _dtype.parse(np.dtype(dtype))
    assert np.dtype(dtype).name in str(caught.value) or np.dtype(dtype).str in str(caught.value)


@pytest.mark.parametrize("code", "? b h i q B H I Q e f d F D".split())
def test_numpy_types(code: str) -> None:
    dtype = np.dtype(code)
    found = _dtype.of_numpy(dtype)
    assert found.numpy() == dtype and found.itemsize == dtype.itemsize and found.str == dtype.str


def test_what_looks_like_numpys_and_is_not() -> None:
    for text, name in (("?8", "odd"), (3, 4)):
        with pytest.raises(dlaunch.TensorError, match="has no counterpart in DLPack"):
            _dtype.parse(SimpleNamespace(str=text, name=name))
