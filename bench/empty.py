"""Writes PTX of an empty kernel with any number of pointer parameters."""


def empty_ptx(tensors: int) -> str:
    """PTX 8.0 text whose kernel `empty` takes `tensors` pointers and returns."""
    params = ",\n".join(f"\t.param .u64 empty_param_{i}" for i in range(tensors))
    return f".version 8.0\n.target sm_75\n.address_size 64\n\n.visible .entry empty(\n{params}\n)\n{{\n\tret;\n}}\n"


def empty_prototype(tensors: int) -> str:
    """The prototype of that kernel: every tensor is f32[n], and n is one size."""
    return "empty(" + ", ".join(f"t{i}: f32[n]" for i in range(tensors)) + ")"
