"""The rows of the table: what makes a tensor of each framework that has the memory and layout of an ndarray."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from conftest import imported
from exchange import ByCapsule
from table_forms import Form

import dlaunch

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX takes the whole GPU else
on_gpu = dlaunch.driver_info().kind == "cuda"


@dataclasses.dataclass(frozen=True)
class Given:
    """An object to launch with, and the memory that it shows.

    contents: the bytes of that memory as they are now. view: what the kernel must see there, as an array over the
    first contents; its flags say whether it may be written. address: of its first element, for the kernel. broken: the
    rule that the object breaks whatever the parameter is.
    """

    value: Any
    contents: Callable[[], np.ndarray]
    view: np.ndarray
    offset: int
    address: int
    broken: str = ""


def bytes_of(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(array.tobytes(), "u1").copy()


class Interface:
    """What has the CUDA Array Interface alone; it keeps the memory."""

    def __init__(self, memory: Any, form: Form) -> None:
        self.memory = memory
        self.__cuda_array_interface__ = {
            "shape": form.view.shape,
            "typestr": form.view.dtype.str,
            "data": (memory.ptr + form.offset, not form.view.flags.writeable),
            "strides": form.view.strides,
            "version": 3,
        }


class ByDLPack:
    """An ndarray that shows __dlpack__ alone."""

    def __init__(self, inner: np.ndarray) -> None:
        self.inner = inner

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.inner.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.inner.__dlpack__(**keywords)


def _on_host(form: Form, value: Any) -> Given:
    return Given(value, lambda: form.base.view("u1").copy(), form.view, form.offset, form.view.ctypes.data)


def _put_numpy(form: Form) -> Given:
    return _on_host(form, form.view)


def _put_dlpack(form: Form) -> Given | None:
    if form.name and not form.is_numpys:
        return None  # NumPy's own export refuses what others would show
    return _on_host(form, ByDLPack(form.view))


def _device_view(form: Form) -> tuple[dlaunch.DeviceArray, dlaunch.DeviceArray] | None:
    """Give the memory on the device, and the view of it."""
    memory = dlaunch.to_device(form.base.view("u1"))
    if not on_gpu:  # NumPy sees the simulator's memory
        there = np.from_dlpack(memory)
        return memory, dlaunch.from_dlpack(form.placed(there))
    if form.is_numpys:
        return memory, dlaunch.from_dlpack(Interface(memory, form))
    if form.view.flags.c_contiguous and form.view.flags.writeable:
        part = memory[form.offset : form.offset + form.view.nbytes]
        return memory, part.view(form.name).reshape(form.view.shape)
    return None


def _on_device(memory: dlaunch.DeviceArray, form: Form, value: Any, writeable: bool) -> Given:
    view = form.placed(bytes_of(form.base))
    view.flags.writeable = writeable
    return Given(value, memory.copy_to_host, view, form.offset, memory.ptr + form.offset)


def _put_dlaunch(form: Form) -> Given | None:
    made = _device_view(form) if form.name else None
    return None if made is None else _on_device(made[0], form, made[1], form.view.flags.writeable)


def _put_exchange(form: Form) -> Given | None:
    if not form.is_numpys:
        return None
    made = _device_view(form)
    return None if made is None else _on_device(made[0], form, ByCapsule(made[1]), True)  # it cannot say read-only


def _put_interface(form: Form) -> Given | None:
    if not form.is_numpys:
        return None
    memory = dlaunch.to_device(form.base.view("u1"))
    return _on_device(memory, form, Interface(memory, form), form.view.flags.writeable)


def _put_numba(form: Form) -> Given | None:
    if not form.is_numpys or not form.view.flags.writeable or form.is_misaligned:
        return None
    if 0 in form.view.strides:  # which numba's own interface then calls contiguous
        return None
    memory = dlaunch.to_device(form.base.view("u1"))
    value = sys.modules["numba"].cuda.as_cuda_array(Interface(memory, form))
    return _on_device(memory, form, value, True)


def _put_torch(form: Form, device: str) -> Given | None:
    torch = sys.modules["torch"]
    dtype = getattr(torch, form.view.dtype.name, None) if form.name else None  # the two agree on names
    view = form.view
    if dtype is None or not view.flags.writeable or min(view.strides, default=0) < 0 or form.is_misaligned:
        return None
    memory = torch.from_numpy(form.base.view("u1").copy()).to(device)
    value = memory.view(dtype).as_strided(
        view.shape, [s // view.itemsize for s in view.strides], form.offset // view.itemsize
    )
    place = form.placed(bytes_of(form.base))
    return Given(value, lambda: memory.cpu().numpy().copy(), place, form.offset, memory.data_ptr() + form.offset)


def _put_cupy(form: Form) -> Given | None:
    cupy = sys.modules["cupy"]
    if not form.is_numpys or not form.view.flags.writeable:
        return None
    memory = cupy.asarray(form.base.view("u1"))
    value = cupy.ndarray(form.view.shape, form.view.dtype, memory.data + form.offset, form.view.strides)
    place = form.placed(bytes_of(form.base))
    return Given(value, lambda: cupy.asnumpy(memory), place, form.offset, memory.data.ptr + form.offset)


def _of_own_copy(form: Form, value: Any) -> Given | None:
    """Give an immutable array, which has made a copy of its own, in C order."""
    shown = np.asarray(value)
    if shown.dtype != form.view.dtype or shown.shape != form.view.shape:
        return None
    place = shown.copy(order="C")
    place.flags.writeable = False
    return Given(value, lambda: bytes_of(np.asarray(value)), place, 0, dlaunch.view(value).ptr)


def _put_jax(form: Form) -> Given | None:
    if not form.name or form.is_misaligned:
        return None
    jax = sys.modules["jax"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of 64-bit types that become 32-bit ones, and are left out
        return _of_own_copy(form, jax.numpy.array(form.view))


def _put_arrow(form: Form) -> Given | None:
    if not form.is_numpys or form.view.dtype.kind not in "iuf" or form.view.ndim != 1 or form.is_misaligned:
        return None
    return _of_own_copy(form, sys.modules["pyarrow"].array(form.view))


def _put_arrow_tensor(form: Form) -> Given | None:
    if not form.is_numpys or form.view.dtype.kind not in "iuf" or form.is_misaligned:
        return None
    # Of steps of 0, and of read-only memory, pyarrow 25 exports no address.
    if min(form.view.strides, default=1) <= 0 or not form.view.flags.writeable:
        return None
    return _on_host(form, sys.modules["pyarrow"].Tensor.from_numpy(form.view))


def _put_tvm_ffi(form: Form) -> Given | None:
    if not form.is_numpys or not form.view.flags.writeable:
        return None
    return _on_host(form, sys.modules["tvm_ffi"].from_dlpack(form.view))


def _put_tvm_ffi_on_device(form: Form) -> Given | None:
    if not form.is_numpys or not form.view.flags.writeable:
        return None
    made = _device_view(form)
    return None if made is None else _on_device(made[0], form, sys.modules["tvm_ffi"].from_dlpack(made[1]), True)


def _put_null(form: Form) -> Given | None:
    return None if form.id != "vector" else dataclasses.replace(_put_numpy(form), value=None, broken="null")


@dataclasses.dataclass(frozen=True)
class Framework:
    """One row: put gives None for what the framework cannot express."""

    name: str
    put: Callable[[Form], Given | None]


# ---- what is derived from a framework's tensor


class Derived(np.ndarray):
    """A user's own kind of ndarray."""


def _changed(
    put: Callable[[Form], Given | None], change: Callable[[Any], Any], codes: str, broken: str = ""
) -> Callable[[Form], Given | None]:
    """Give a row whose tensors are changed ones of another row, of these types ("" for all)."""

    def changed(form: Form) -> Given | None:
        given = put(form) if form.view.dtype.char in codes or not codes else None
        return given and dataclasses.replace(given, value=change(given.value), broken=broken)

    return changed


def _torch_rows(device: str) -> list[Framework]:
    """Give torch's tensors, and those that are not quite torch.Tensor, or not quite what their memory is."""
    torch = _find("torch")
    put = functools.partial(_put_torch, device=device)
    derived = type("DerivedTensor", (torch.Tensor,), {})
    changes: list[tuple[str, Callable[[Any], Any], str, str]] = [
        ("torch.nn.Parameter", lambda t: torch.nn.Parameter(t, requires_grad=False), "", ""),
        ("torch requires_grad", lambda t: t.requires_grad_(), "efdFD", ""),
        ("torch derived", lambda t: t.as_subclass(derived), "f", ""),
        ("torch conjugated", lambda t: t.conj(), "FD", "conjugate"),
        ("torch derived conjugated", lambda t: t.as_subclass(derived).conj(), "F", "conjugate"),
        ("torch negated", lambda t: t.conj().imag, "F", "negative"),
        ("torch derived negated", lambda t: t.as_subclass(derived).conj().imag, "F", "negative"),
        ("torch sparse", lambda t: torch.eye(3).to_sparse(), "F", "sparse"),
        ("torch meta", lambda t: t.to("meta"), "F", "nowhere"),
    ]
    where = " on the GPU" if device == "cuda" else ""
    rows = [Framework(name + where, _changed(put, *change)) for name, *change in changes]
    return [Framework("torch" + where, put), *rows]


def _find(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of others' packages
        return imported(name)


def _is_there(name: str) -> bool:
    return _find(name) is not None


def _sees_gpu(name: str) -> bool:
    module = _find(name if name != "numba" else "numba.cuda")
    is_available = getattr(module.cuda if name == "torch" and module else module, "is_available", None)
    return bool(on_gpu and is_available and is_available())


_ROWS: list[tuple[bool, Framework]] = [
    (True, Framework("numpy", _put_numpy)),
    (True, Framework("numpy derived", _changed(_put_numpy, lambda a: a.view(Derived), "f"))),
    (True, Framework("numpy masked", _changed(_put_numpy, np.ma.array, "f", "mask"))),
    (True, Framework("null", _put_null)),
    (True, Framework("__dlpack__", _put_dlpack)),
    (True, Framework("dlaunch", _put_dlaunch)),
    (True, Framework("exchange API", _put_exchange)),
    (on_gpu, Framework("__cuda_array_interface__", _put_interface)),
    (_sees_gpu("cupy"), Framework("cupy", _put_cupy)),
    (_is_there("jax"), Framework("jax", _put_jax)),
    (_sees_gpu("numba"), Framework("numba", _put_numba)),
    (_is_there("tvm_ffi"), Framework("tvm_ffi", _put_tvm_ffi)),
    (_is_there("tvm_ffi"), Framework("tvm_ffi on the device", _put_tvm_ffi_on_device)),
    (_is_there("pyarrow"), Framework("pyarrow", _put_arrow)),
    (_is_there("pyarrow"), Framework("pyarrow.Tensor", _put_arrow_tensor)),
]
FRAMEWORKS = [row for is_there, row in _ROWS if is_there]
ABSENT = [row.name for is_there, row in _ROWS if not is_there]
for _device, _is_here in (("cpu", _is_there("torch")), ("cuda", _sees_gpu("torch"))):
    if _is_here:
        FRAMEWORKS += _torch_rows(_device)
    else:
        ABSENT.append("torch" if _device == "cpu" else "torch on the GPU")
