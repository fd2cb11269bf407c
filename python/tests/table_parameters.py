"""The parameters of the table: prototypes, and NumPy's own facts as the judge of what each takes."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from swap import entry_name
from table_forms import Form
from table_frameworks import Given

MODES = ("in", "inout", "out")
LAYOUTS = ("", "@strided", "@fortran", "@view", "@view @fortran", "@numba", "@numba @strided")


@dataclasses.dataclass(frozen=True)
class Parameter:
    """How parameter x is declared. type: "own", "any", "bits" or "other"; dims: what stands for each axis."""

    mode: str = "in"
    layout: str = ""
    type: str = "own"
    dims: str = "names"
    nullable: bool = False
    align: int = 0

    def __str__(self) -> str:
        dims = self.dims + ("?" if self.nullable else "")
        return " ".join(
            filter(None, (self.mode, self.type, dims, self.layout, f"@align({self.align})" * bool(self.align)))
        )

    @property
    def writes(self) -> bool:
        return self.mode != "in"

    @property
    def takes_any_layout(self) -> bool:
        return "@strided" in self.layout or self.layout == "@view"

    @property
    def form(self) -> str:
        """What swap.py calls the way of passing it."""
        return self.layout.partition(" ")[0][1:] if self.layout.startswith(("@view", "@numba")) else ""

    @property
    def counts(self) -> bool:
        """Whether the caller passes the number of elements, which no name of the prototype has."""
        return self.dims in ("blanks", "open")

    def _extents(self, shape: tuple[int, ...]) -> list[str]:
        match self.dims:
            case "fixed":
                return [str(n) for n in shape]
            case "other extent":
                return [str(n + 1) for n in shape]
            case "other rank":
                return ["m", *(f"m{axis}" for axis in range(len(shape)))]
            case "blanks":
                return ["_"] * len(shape)
            case "open":
                return ["..."]
        return [f"m{axis}" for axis in range(len(shape))]

    def prototype(self, form: Form) -> str:
        """Write the prototype that declares this for such an array, of a kernel of swap.py."""
        array, name = form.view, form.name or "f32"
        item = array.itemsize if array.itemsize in (1, 2, 4, 8, 16) else 4
        scalar = {
            "own": name,
            "any": "any",
            "bits": f"b{8 * item}" if item <= 8 else "any",
            "other": "i32" if name != "i32" else "f32",
        }[self.type]
        extents = self._extents(array.shape)
        text = f"{self.mode} {scalar}[{','.join(extents)}]{'?' * self.nullable} {self.layout}"
        text += f" @align({self.align})" * bool(self.align)
        rest = ", old: out b8[_], new: b8[_]?"
        if not self.form:
            rest += self._filled(array)
        return f"{entry_name(self.form, len(extents), item)}(x: {text}{rest})"

    def _filled(self, array: np.ndarray) -> str:
        """Give the kernel's extents and strides, as far as the prototype knows them; what is contiguous is one axis."""
        filled = {**{f"n{axis}": "= 1" for axis in range(3)}, **{f"s{axis}": "= 0" for axis in range(3)}}
        if self.layout == "@strided":
            for axis in range(array.ndim):
                filled[f"n{axis + 3 - array.ndim}"] = f"= m{axis}"
                filled[f"s{axis + 3 - array.ndim}"] = f"= stride(x, {axis})"
        else:
            names = "*".join(f"m{axis}" for axis in range(array.ndim)) or "1"
            filled["s2"] = "= 1"
            filled["n2"] = "" if self.counts else f"= {names if self.dims == 'names' else array.size}"
        return "".join(f", {name}: i64 {value}" for name, value in filled.items())


def parameters() -> Iterator[Parameter]:
    """Every mode with every layout, and every other declaration with every mode."""
    for mode, layout in itertools.product(MODES, LAYOUTS):
        yield Parameter(mode, layout)
    for mode, type_, layout in itertools.product(MODES, ("any", "bits", "other"), ("", "@strided")):
        yield Parameter(mode, layout, type=type_)
    for mode, dims in itertools.product(MODES, ("blanks", "open", "fixed", "other extent", "other rank")):
        yield Parameter(mode, dims=dims)
    for mode, layout in itertools.product(MODES, ("", "@fortran")):
        yield Parameter(mode, layout, dims="blanks", nullable=True)
    for mode in MODES:
        yield Parameter(mode, align=64)


# A rule of docs/arguments.md, and what a refusal says that goes by it.
WORDS = {
    "dtype": ("convert it", "no counterpart", "a byte of its own", "cannot be read as a tensor"),
    "rank": ("dimensions given",),
    "extent": ("has the extent",),
    "layout": ("has the stride",),
    "alignment": ("is no multiple of",),
    "read-only": ("read-only",),
    "overlap": ("share memory",),
    "null": ("a null given",),
    "mask": (".filled()",),
    "conjugate": (".resolve_conj()",),
    "negative": (".resolve_neg()",),
    "sparse": (".to_dense()",),
    "nowhere": ("meta",),
}


def broken_rules(parameter: Parameter, given: Given, name: str) -> set[str]:
    """Name the rules that an argument breaks, by what NumPy says of its array; none: it must be taken.

    name is the prototypes' word for its type, "" where they have none.
    """
    if given.broken:
        return set() if given.broken == "null" and parameter.nullable else {given.broken}
    array, broken = given.view, set()
    if not name or parameter.type == "other":
        broken.add("dtype")
    if parameter.dims == "other rank":
        broken.add("rank")
    if parameter.dims == "other extent" and array.ndim > 0:
        broken.add("extent")
    ordered = array.flags.f_contiguous if "@fortran" in parameter.layout else array.flags.c_contiguous
    if not ordered and not parameter.takes_any_layout:
        broken.add("layout")
    if array.size and given.address % max(parameter.align, array.itemsize):
        broken.add("alignment")
    if parameter.writes and not array.flags.writeable:
        broken.add("read-only")
    if parameter.writes and parameter.takes_any_layout and has_shared_elements(array):
        broken.add("overlap")
    return broken


def has_shared_elements(array: np.ndarray) -> bool:
    """Tell whether two indices lead to one element."""
    places = np.zeros(array.shape, "i8")
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        steps: Any = stride * np.arange(extent)
        places += steps.reshape([-1 if n == axis else 1 for n in range(array.ndim)])
    return len(np.unique(places)) != array.size
