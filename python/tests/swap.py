"""Kernels that swap the elements of a tensor with those of plain arrays, for any layout and way of passing it.

    swap(x, old, new, extents, strides)

stores x's elements in `old`, one after the other in C order, and where `new` is no null, those of `new` in x. One
thread an element; up to three axes.
"""

from __future__ import annotations

MOST_ELEMENTS = 64

# For each item size: a register, and the suffix of loads and stores.
_ITEMS = {1: ("%h0", "u8"), 2: ("%h0", "u16"), 4: ("%r1", "u32"), 8: ("%d0", "u64"), 16: ("{%d0, %d1}", "v2.u64")}

_BODY = """
.visible .entry {name}({parameters})
{{
    .reg .pred %p<2>; .reg .b16 %h<1>; .reg .b32 %r<2>; .reg .b64 %d<2>;
    .reg .b64 %x, %old, %new, %n<3>, %s<3>, %i, %i<3>, %rest, %all, %at;
    {prologue}
    ld.param.u64 %old, [old];
    ld.param.u64 %new, [new];
    mov.u32 %r0, %tid.x;
    cvt.u64.u32 %i, %r0;
    mul.lo.u64 %all, %n0, %n1;
    mul.lo.u64 %all, %all, %n2;
    setp.ge.u64 %p0, %i, %all;
    @%p0 bra END;
    rem.u64 %i2, %i, %n2;
    div.u64 %rest, %i, %n2;
    rem.u64 %i1, %rest, %n1;
    div.u64 %i0, %rest, %n1;
    mul.lo.s64 %at, %i0, %s0;
    mad.lo.s64 %at, %i1, %s1, %at;
    mad.lo.s64 %at, %i2, %s2, %at;
    mad.lo.s64 %at, %at, {item}, %x;
    mad.lo.u64 %old, %i, {item}, %old;
    ld.global.{suffix} {register}, [%at];
    st.global.{suffix} [%old], {register};
    setp.eq.u64 %p1, %new, 0;
    @%p1 bra END;
    mad.lo.u64 %new, %i, {item}, %new;
    ld.global.{suffix} {register}, [%new];
    st.global.{suffix} [%at], {register};
END:
    ret;
}}
"""

_AXES = range(3)


def _words(rank: int, first: int, place: str, divisor: int) -> list[str]:
    """Load extents and strides, `rank` of each from word `first` on, and fill up the axes. place: where word {} is."""
    lines = []
    for axis in _AXES:
        inner = axis - (3 - rank)
        if inner < 0:
            lines += [f"mov.u64 %n{axis}, 1;", f"mov.u64 %s{axis}, 0;"]
            continue
        lines.append(f"ld.param.u64 %n{axis}, [{place.format(first + inner)}];")
        lines.append(f"ld.param.u64 %s{axis}, [{place.format(first + rank + inner)}];")
        lines.append(f"div.s64 %s{axis}, %s{axis}, {divisor};")
    return lines


def _entry(form: str, rank: int, item: int) -> str:
    register, suffix = _ITEMS[item]
    tail = [".param .u64 old", ".param .u64 new"]
    if form == "view":
        head = [f".param .align 8 .b8 x[{8 + 16 * rank}]"]
        prologue = ["ld.param.u64 %x, [x];", *_words(rank, 1, "x+8*{}", 1)]
    elif form == "numba":
        head = [f".param .u64 x{word}" for word in range(5 + 2 * rank)]
        prologue = ["ld.param.u64 %x, [x4];", *_words(rank, 5, "x{}", item)]
    else:
        head = [".param .u64 x"]
        names = [f"{what}{axis}" for what in "ns" for axis in _AXES]
        tail += [f".param .u64 {name}" for name in names]
        prologue = ["ld.param.u64 %x, [x];", *(f"ld.param.u64 %{name}, [{name}];" for name in names)]
    return _BODY.format(
        name=entry_name(form, rank, item),
        parameters=", ".join(head + tail),
        prologue="\n    ".join(prologue),
        item=item,
        register=register,
        suffix=suffix,
    )


def entry_name(form: str, rank: int, item: int) -> str:
    """Name the kernel that takes x as @view, @numba or a bare pointer (form "")."""
    return f"swap_{form}{rank}_{item}" if form else f"swap_{item}"


PTX = "//\n.version 7.0\n.target sm_70\n.address_size 64\n" + "".join(
    [_entry("", 0, item) for item in _ITEMS]
    + [_entry(form, rank, item) for form in ("view", "numba") for rank in range(4) for item in _ITEMS]
)
