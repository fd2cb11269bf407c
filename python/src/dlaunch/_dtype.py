"""Element types: prototype names, DLPack's code and bits, NumPy's spellings."""

from __future__ import annotations

import dataclasses
import operator
import struct
import sys
from typing import Any

from dlaunch import _abi
from dlaunch._errors import ArgumentError, TensorError

_CODES: dict[str, tuple[int, int]] = {
    "bool": (_abi.kDLBool, 8),
    **{f"i{bits}": (_abi.kDLInt, bits) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": (_abi.kDLUInt, bits) for bits in (8, 16, 32, 64)},
    **{f"f{bits}": (_abi.kDLFloat, bits) for bits in (16, 32, 64)},
    "bf16": (_abi.kDLBfloat, 16),
    **{f"c{bits}": (_abi.kDLComplex, bits) for bits in (32, 64, 128)},
    "f8e3m4": (7, 8),
    "f8e4m3": (8, 8),
    "f8e4m3b11fnuz": (9, 8),
    "f8e4m3fn": (10, 8),
    "f8e4m3fnuz": (11, 8),
    "f8e5m2": (12, 8),
    "f8e5m2fnuz": (13, 8),
    "f8e8m0fnu": (14, 8),
    "f6e2m3fn": (15, 6),
    "f6e3m2fn": (16, 6),
    "f4e2m1fn": (17, 4),
}
_NAMES = {code: name for name, code in _CODES.items()}

# NumPy has no type of its own for these; package ml_dtypes has.
_ML_NAMES = {
    "bf16": "bfloat16",
    **{n: n.replace("f8", "float8_") for n in _CODES if n.startswith("f8")},
    "f6e2m3fn": "float6_e2m3fn",
    "f6e3m2fn": "float6_e3m2fn",
    "f4e2m1fn": "float4_e2m1fn",
}
_FROM_ML = {ml: name for name, ml in _ML_NAMES.items()}

# A NumPy kind letter, to the letter of the prototypes; sizes are in bytes there and in bits here.
_KINDS = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}
_FORMATS = {
    **{"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q"},
    **{"f32": "f", "f64": "d", "bool": "?"},
}


_Text = str  # which DataType has an attribute of the name of


@dataclasses.dataclass(frozen=True)
class DataType:
    """The type of an array's elements, where NumPy has none or is not there."""

    code: int
    bits: int
    lanes: int = 1

    @property
    def name(self) -> str:
        """The name that prototypes and messages have for it."""
        known = _NAMES.get((self.code, self.bits))
        if known is None:
            known = f"dtype({self.code},{self.bits})"
        return known if self.lanes == 1 else f"{known}x{self.lanes}"

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes; of less than 8 bits, 1."""
        return (self.bits * self.lanes + 7) // 8

    @property
    def alignment(self) -> int:
        """What addresses of elements are multiples of, as kernels want them."""
        return self.itemsize if self.itemsize in (2, 4, 8, 16) else 1

    @property
    def str(self) -> _Text:
        """NumPy's spelling, as '<f4'; that of raw bytes, '|V2', where NumPy has none."""
        kind = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}.get(self.code)
        if kind is None or self.lanes != 1 or self.name == "c32":
            return f"|V{self.itemsize}"
        return f"{'|' if self.itemsize == 1 else '<'}{kind}{self.itemsize}"

    @property
    def format(self) -> _Text | None:
        """The struct module's letter, or None where it has none."""
        return _FORMATS.get(self.name)

    def bytes_of(self, elements: int) -> int:
        """Count the bytes of that many elements; those of less than 8 bits are packed."""
        return (self.bits * self.lanes * elements + 7) // 8

    def numpy(self) -> Any:
        """NumPy's dtype (or that of ml_dtypes), or None where the user has imported no such package."""
        numpy = sys.modules.get("numpy")
        if numpy is None:
            return None
        if not self.str.startswith("|V"):
            return numpy.dtype(self.str)
        ml_dtypes = sys.modules.get("ml_dtypes")
        found = getattr(ml_dtypes, _ML_NAMES.get(self.name, ""), None)
        return None if found is None else numpy.dtype(found)

    def to_dlpack(self) -> _abi.DLDataType:
        """Give DLPack's struct."""
        return _abi.DLDataType(self.code, self.bits, self.lanes)

    def __str__(self) -> _Text:
        """Give the name."""
        return self.name


def of_dlpack(dtype: _abi.DLDataType) -> DataType:
    """Read DLPack's struct."""
    return DataType(dtype.code, dtype.bits, dtype.lanes)


def named(name: str) -> DataType | None:
    """Give the type that prototypes call so."""
    found = _CODES.get(name)
    return None if found is None else DataType(*found)


def of_numpy(dtype: Any) -> DataType:
    """Read a NumPy dtype (also one of ml_dtypes). TensorError for what no kernel can be given."""
    name = str(dtype.name)
    if name in _FROM_ML:
        return DataType(*_CODES[_FROM_ML[name]])
    found = _of_str(str(dtype.str))
    if found is None:
        advice = {
            "M": "; give .view('int64')",
            "m": "; give .view('int64')",
            "O": "; Python objects have no place in device memory",
        }.get(str(getattr(dtype, "kind", "")), "")
        if str(dtype.str).startswith(">"):
            advice = "; its bytes are in the other order: give .astype(dtype.newbyteorder('='))"
        raise TensorError(f"dtype {name} ({dtype.str}) has no counterpart in DLPack{advice}")
    return found


def of_items(dtype: Any) -> DataType:
    """Read the dtype of a NumPy or CuPy array. TensorError also for types of less than a byte."""
    found = of_numpy(dtype)
    if found.bits < 8:
        raise TensorError(
            f"{found}: each element has a byte of its own here, and kernels pack them; give .view('uint8')"
        )
    return found


def _of_str(text: str) -> DataType | None:
    """Read an array-interface type string: '<f4'."""
    if len(text) < 3 or text[0] not in "<|=" or not text[2:].isdigit():
        return None
    kind, size = _KINDS.get(text[1]), int(text[2:])
    if kind == "bool":
        return DataType(*_CODES["bool"]) if size == 1 else None
    return None if kind is None else named(f"{kind}{8 * size}")


def of_interface(text: str) -> DataType:
    """Read an array-interface type string; dates are their int64, records opaque items."""
    found = _of_str(text)
    if found is not None:
        return found
    if text[:2] in ("<M", "<m", "=M", "=m") and text[2:3] == "8":
        return DataType(_abi.kDLInt, 64)
    if text[:2] == "|V" and text[2:].isdigit():
        return DataType(_abi.kDLOpaqueHandle, 8, int(text[2:]))
    raise TensorError(f"typestr {text!r} has no counterpart in DLPack")


def of_format(format: _Text, itemsize: int) -> DataType | None:
    """Read a format of the buffer protocol in native order; None for what is no number."""
    letter = format.lstrip("@=<")
    kind = {"?": "bool", "e": "f16", "f": "f32", "d": "f64", "Zf": "c64", "Zd": "c128"}.get(letter)
    if kind is None and len(letter) == 1 and letter in "bhilqnBHILQN":
        kind = f"{'i' if letter.islower() else 'u'}{8 * itemsize}"
    found = named(kind) if kind is not None else None
    return found if found is not None and found.itemsize == itemsize else None


def parse(dtype: Any) -> DataType:
    """Read what a user gives as a dtype.

    That is a name of the prototypes (f32), a spelling of NumPy's ('<i4', 'float32'), a NumPy dtype or scalar type, or
    anything with `.str`. 'i8' and 'u8' mean one thing to NumPy and another to prototypes, and are refused.
    """
    if isinstance(dtype, DataType):
        return dtype
    if isinstance(dtype, str):
        return _parse_text(dtype)
    if isinstance(dtype, type):
        return _parse_class(dtype)
    if hasattr(dtype, "str") and hasattr(dtype, "name"):
        return of_numpy(dtype)
    if isinstance(getattr(dtype, "str", None), str):
        return of_interface(dtype.str)
    text = str(dtype)  # torch.float32
    if text.startswith("torch."):
        return _parse_text(text.removeprefix("torch."))
    raise ArgumentError(f"dtype {dtype!r} is not known; give a name as 'f32', or a NumPy dtype")


def _parse_class(dtype: type) -> DataType:
    plain = {bool: "bool", int: "i64", float: "f64", complex: "c128"}.get(dtype)
    return _parse_text(plain if plain is not None else dtype.__name__)


def _parse_text(text: str) -> DataType:
    if text in ("i8", "u8"):
        sign = "u" if text == "u8" else ""
        raise ArgumentError(
            f"dtype {text!r} is ambiguous: {sign}int8 or {sign}int64? NumPy counts bytes, prototypes count bits"
        )
    found = named(text) or _of_str(text) or _of_str("<" + text)
    if found is None and text in _FROM_ML:
        found = named(_FROM_ML[text])
    if found is None:
        for word, letter in (("uint", "u"), ("int", "i"), ("float", "f"), ("complex", "c")):
            if text.startswith(word) and text[len(word) :].isdigit():
                found = named(letter + text[len(word) :])
                break
    if text in ("?", "bool_", "half", "single", "double"):
        found = named({"half": "f16", "single": "f32", "double": "f64"}.get(text, "bool"))
    if found is None:
        raise ArgumentError(f"dtype {text!r} is not known; give a name as 'f32', or one of NumPy's as 'float32'")
    return found


def item(function: str, value: Any, dtype: DataType) -> bytes:
    """Give the bytes of one element. ArgumentError, in the name of a function, if the type cannot hold the value."""
    if isinstance(value, bytes) and len(value) == dtype.itemsize and dtype.bits >= 8:
        return value
    numpy_dtype = dtype.numpy()
    letter = "e" if dtype.name == "f16" else dtype.format
    try:
        if isinstance(value, str) or (dtype.name == "bool" and value not in (False, True)):
            raise ValueError("a bool is False or True" if dtype.name == "bool" else "text is no number")
        if dtype.name in ("c64", "c128"):
            number = complex(value)
            return struct.pack("<ff" if dtype.name == "c64" else "<dd", number.real, number.imag)
        if letter is not None:
            return struct.pack("<" + letter, operator.index(value) if letter in "bhiqBHIQ" else value)
        if numpy_dtype is not None and dtype.bits >= 8:
            return bytes(numpy_dtype.type(value).tobytes())
    except (struct.error, TypeError, OverflowError, ValueError) as cause:
        raise ArgumentError(f"{function}: {value!r} is no value of {dtype}: {cause}") from cause
    raise ArgumentError(f"{function}: {value!r} of {dtype} needs ml_dtypes imported; or give the element as bytes")
