"""Writes PTX of kernels that do nothing, with any number of pointer parameters.

The names tell their parameters, so that bench/stub knows them too.
"""


def empty_name(args: int, kernel: int = 0) -> str:
    """Name one of the kernels of empty_ptx."""
    return f"args_{args}_k{kernel}"


def empty_ptx(args: int, kernels: int = 1) -> str:
    """PTX 8.0 text whose kernels take `args` values of 8 bytes and return."""
    params = ",\n".join(f"\t.param .u64 p{i}" for i in range(args))
    head = ".version 8.0\n.target sm_75\n.address_size 64\n"
    return head + "".join(
        f"\n.visible .entry {empty_name(args, k)}(\n{params}\n)\n{{\n\tret;\n}}\n" for k in range(kernels)
    )


def empty_prototype(args: int, kernel: int = 0, scalars: int = 0) -> str:
    """The prototype of one: tensors of f32[n] with one size n, the last `scalars` of them i64 instead."""
    types = ["f32[n]"] * (args - scalars) + ["i64"] * scalars
    return f"{empty_name(args, kernel)}(" + ", ".join(f"t{i}: {t}" for i, t in enumerate(types)) + ")"
