"""Kernels that store their scalar parameter as it came, so that a test sees what was packed."""

from __future__ import annotations

from typing import Any

import numpy as np

import dlaunch

# One for each width: the register that holds it, and the suffix of loads and stores.
_WIDTHS = {8: ("%rs1", "u8"), 16: ("%rs1", "u16"), 32: ("%r1", "u32"), 64: ("%rd2", "u64")}

_ENTRY = """
.visible .entry echo{bits}(.param .u64 to, .param .b{bits} value)
{{
    .reg .b16 %rs<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.param.{suffix} {register}, [value];
    st.global.{suffix} [%rd1], {register};
    ret;
}}
"""

PTX = "//\n.version 7.0\n.target sm_70\n.address_size 64\n" + "".join(
    _ENTRY.format(bits=bits, register=register, suffix=suffix) for bits, (register, suffix) in _WIDTHS.items()
)


def echo(library: dlaunch.Library, bits: int, scalar: str | None, value: Any) -> bytes:
    """Launch with a parameter of that type (None: untyped), and give the bytes that the kernel got."""
    text = f"echo{bits}" if scalar is None else f"echo{bits}(to: out u8[_], value: {scalar})"
    with library.kernel(text) as kernel, dlaunch.full(bits // 8, 0x5A, "uint8") as to:
        kernel[1, 1](to, value)
        return bytes(np.asarray(to.copy_to_host()).tobytes())
