"""The columns of the table: layouts and types of arrays, as NumPy makes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from conftest import imported

ELEMENTS = 64  # of the memory around each array


@dataclasses.dataclass(frozen=True)
class Form:
    """An array in a memory of its own; name is the prototypes' word for its type, "" where no kernel has one."""

    id: str
    base: np.ndarray
    view: np.ndarray
    name: str

    @property
    def offset(self) -> int:
        """Where the first element is in the memory, in bytes."""
        return self.view.ctypes.data - self.base.ctypes.data if self.view.size else 0

    @property
    def is_numpys(self) -> bool:
        """Whether the type is one that NumPy itself has, and kernels too."""
        return bool(self.name) and self.view.dtype.isbuiltin == 1

    @property
    def is_misaligned(self) -> bool:
        return self.offset % self.view.itemsize != 0

    def placed(self, memory: np.ndarray) -> np.ndarray:
        """Give the same view of other memory."""
        found = np.ndarray(self.view.shape, self.view.dtype, memory.data, self.offset, self.view.strides)
        found.flags.writeable = self.view.flags.writeable
        return found


def word_of(dtype: np.dtype) -> str:
    """Give the prototypes' word for a dtype, "" where no kernel has it in NumPy's layout."""
    if dtype.name in ("bool", "bfloat16"):
        return {"bool": "bool", "bfloat16": "bf16"}[dtype.name]
    if dtype.name.startswith("float8_"):
        return "f8" + dtype.name.removeprefix("float8_")
    if dtype.kind not in "iufc" or not dtype.isnative or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        return ""
    return f"{dtype.kind}{8 * dtype.itemsize}"


def _strided(base: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(base, shape, tuple(base.itemsize * s for s in strides))


def _read_only(view: np.ndarray) -> np.ndarray:
    view = view[:]
    view.flags.writeable = False
    return view


LAYOUTS = {
    "contiguous": lambda b: b[:24].reshape(2, 3, 4),
    "vector": lambda b: b[:12],
    "0-d": lambda b: b[3:4].reshape(()),
    "zero-size": lambda b: b[:0].reshape(3, 0),
    "sliced": lambda b: b[1:20:2],
    "sliced matrix": lambda b: b.reshape(8, 8)[1:7:2, ::3],
    "reversed": lambda b: b[:9][::-1],
    "reversed rows": lambda b: b[:12].reshape(3, 4)[::-1],
    "transposed": lambda b: b[:12].reshape(3, 4).T,
    "permuted": lambda b: b[:24].reshape(2, 3, 4).transpose(1, 2, 0),
    "Fortran": lambda b: b[:24].reshape((4, 3, 2), order="F"),
    "expanded": lambda b: np.broadcast_to(b[:4], (3, 4)),
    "expanded, writeable": lambda b: _strided(b, (3, 4), (0, 1)),
    "windows": lambda b: _strided(b, (4, 3), (1, 1)),
    "one row of any stride": lambda b: _strided(b, (1, 5, 1), (17, 1, 9)),
    "offset": lambda b: b[5:11],
    "read-only": lambda b: _read_only(b[:12]),
    "read-only, sliced": lambda b: _read_only(b[:12:3]),
}

NUMPY_TYPES = "bool i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
FOREIGN_TYPES = [">f4", ">i8", "M8[s]", "m8[ns]", "S3", "U2", "V4", "g", [("a", "i4"), ("b", "f4")]]
ML_TYPES = (
    "bfloat16 float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
    "float8_e8m0fnu float6_e2m3fn float4_e2m1fn int4"
).split()


def ml_types() -> list[np.dtype]:
    """Give the types of ml_dtypes, as many as this version has."""
    ml_dtypes = imported("ml_dtypes")
    return [np.dtype(getattr(ml_dtypes, t)) for t in ML_TYPES if hasattr(ml_dtypes, t)]


def _form(id: str, dtype: np.dtype, layout: str, shift: int = 0) -> Form:
    memory = np.random.default_rng(7).integers(0, 256, ELEMENTS * dtype.itemsize + 64, dtype="u1")
    start = -memory.ctypes.data % 64 + shift
    base = memory[start : start + ELEMENTS * dtype.itemsize].view(dtype)
    return Form(id, base, LAYOUTS[layout](base), word_of(dtype))


def forms() -> Iterator[Form]:
    """Every layout of f4; every type, contiguous and sliced; and arrays between the addresses of elements."""
    for layout in LAYOUTS:
        yield _form(layout, np.dtype("f4"), layout)
    for dtype in [*(np.dtype(t) for t in [*NUMPY_TYPES, *FOREIGN_TYPES]), *ml_types()]:
        for layout in ("vector", "sliced matrix"):
            yield _form(f"{dtype.name} ({dtype.str}) {layout}", dtype, layout)
    for text in ("f4", "c16"):
        yield _form(f"misaligned {text}", np.dtype(text), "vector", shift=2)
