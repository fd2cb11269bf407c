"""Images, loaded."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dlaunch import _abi, _lib
from dlaunch._array import DeviceArray
from dlaunch._binding import Binding, refuse_pickling
from dlaunch._create import view_of_memory
from dlaunch._errors import ArgumentError, HandleError, MissingFileError, NotFoundError
from dlaunch._image import Image
from dlaunch._kernel import Kernel
from dlaunch._managed import Managed, refuse_copy
from dlaunch._options import Options


class Library(Managed):
    """A loaded image: `library["name"]` or `library.kernel(prototype)` gives its kernels.

    Kernels and views of its symbols keep it loaded; it may be closed before them.
    """

    __slots__ = ("_bindings", "_kernels", "_label", "_recipe", "log")

    _closer = "dlaunch_library_close"

    def __init__(self, handle: int, label: str, log: str, recipe: _Recipe) -> None:
        """Own a handle that dlaunch_library_load gave. log is what the compiler or linker said of a good image."""
        super().__init__(handle)
        self._label, self._recipe = label, recipe
        self.log = log
        self._bindings: dict[tuple[str, int], Binding] = {}
        self._kernels: list[str] | None = None

    @property
    def kernels(self) -> list[str]:
        """The names of its kernels, in the order of the image."""
        if self._kernels is None or self.closed:  # of a closed one the library says that it is
            count = ctypes.c_uint32()
            _lib.call("dlaunch_library_kernel_count", self._handle, ctypes.byref(count))
            self._kernels = [
                _lib.read_text("dlaunch_library_kernel_name", self._handle, index) for index in range(count.value)
            ]
        return list(self._kernels)

    @property
    def architectures(self) -> list[str]:
        """What it has code for: 'sm_90' is machine code, 'compute_75' PTX, 'lto_90' LTO IR."""
        return _lib.read_text("dlaunch_library_architectures", self._handle).split()

    @property
    def globals(self) -> Mapping[str, DeviceArray]:
        """Its __device__ and __constant__ variables by name, each a view of bytes (uint8) on device 0.

        NotFoundError if there is none of a name. Listing them is an UnsupportedError where the image has LTO IR.
        """
        return _Globals(self)

    def kernel(self, name_or_prototype: str) -> Kernel:
        """Get a kernel by its name, or by a prototype: 'saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)'.

        The name is the symbol, one of load's names, or what the source calls it, as far as that means one kernel:
        'void ns::f<float, 3>(float*)', 'ns::f<float, 3>', 'f'. NotFoundError lists what it could mean, or the nearest
        there; PrototypeError has the column, or says what contradicts the kernel.
        """
        if not isinstance(name_or_prototype, str):
            raise ArgumentError(
                f"kernel: {type(name_or_prototype).__name__} given; a name or prototype, a str, is wanted"
            )
        text = _lib.encode("name_or_prototype", name_or_prototype)
        out = ctypes.c_uint64()
        _lib.call("dlaunch_kernel_get", self._handle, text, ctypes.byref(out))
        only = self.kernels[0] if name_or_prototype.lstrip().startswith("(") else ""
        return Kernel(out.value, name_or_prototype, only, self)

    def __getitem__(self, name_or_prototype: str) -> Kernel:
        """Do as kernel does."""
        return self.kernel(name_or_prototype)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the kernels."""
        return iter(self.kernels)

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a kernel of this name."""
        return name in self.kernels

    def bind(self, **by_name: Any) -> None:
        """Bind for all kernels of this: write where arrays are into symbols of these names.

        Each is a pointer (`__device__ float *table;`) or a dlaunch::view<T, rank>, as its size tells, and of the
        array's device; its earlier work is waited for. The library keeps the array, also for its kernels, until the
        symbol is bound again or the library is unloaded; a host array is copied to the device now. None writes a null.
        NotFoundError if there is no such symbol; ArgumentError, TensorError if it does not fit. Types are not checked.
        """
        for name, value in by_name.items():
            place = f'symbol "{name}"'
            self._bind(name, Binding(value, place, f"dlaunch_library_bind: {place}"))

    def _bind(self, name: str, binding: Binding) -> None:
        _lib.call("dlaunch_library_bind", self._handle, _lib.encode("name", name), binding.array)
        is_null = binding.value is None
        binding.freeze()
        if is_null:  # of all devices
            self._bindings = {at: c for at, c in self._bindings.items() if at[0] != name}
        else:
            self._bindings[name, binding.device] = binding

    def _pass_on(self, bindings: Iterable[tuple[str, Binding]]) -> None:
        """Bind what libraries that were linked into this one had bound."""
        try:
            for name, binding in bindings:
                if binding.is_frozen:
                    raise ArgumentError(
                        f'link: symbol "{name}" is bound to a copy of a {binding.label} of the host, which is its '
                        "library's; bind that of the linked library"
                    )
                self._bind(name, binding)
        except BaseException:
            self.close()
            raise

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the image, also of a closed library whose kernels are open; PicklingError if a symbol is bound."""
        refuse_pickling(self, self._bindings.values())
        images = [image.loaded() for image in self._recipe.images]
        return _made, (dataclasses.replace(self._recipe, images=images),)

    __copy__ = __deepcopy__ = refuse_copy

    def __repr__(self) -> str:
        """Show where it came from."""
        return f"<dlaunch.Library {self._label}{', closed' if self.closed else ''}>"


class _Globals(Mapping[str, DeviceArray]):
    def __init__(self, library: Library) -> None:
        self._library = library

    def __getitem__(self, name: str) -> DeviceArray:
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        text = _lib.encode("name", name)
        _lib.call("dlaunch_library_global", self._library.handle, 0, text, ctypes.byref(address), ctypes.byref(size))
        return view_of_memory(address.value, size.value, 0, self._library)

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except NotFoundError:
            return default

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        for index in itertools.count():
            try:
                yield _lib.read_text("dlaunch_library_global_name", self._library.handle, index)
            except NotFoundError:
                return

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self[name]
        except (ArgumentError, NotFoundError):  # no name, or that of nothing
            return False
        return True


def load(image: Any, *, names: Mapping[str, str] | None = None, lazy: bool = False, **jit: Any) -> Library:
    """Load a PTX text, cubin or fatbin; by way of a linker LTO IR, and objects and archives of nvcc's.

    image: a str that has a newline, or begins with .version or //, is PTX; any other str, or an os.PathLike, is a
    path; bytes or another buffer is the image itself.

    names: the symbols of kernels and variables by other names, as nvrtcGetLoweredName tells: {"f<float, 3>":
    "_Z1fIfLi3EEvPT_"}. lazy: do not prove the image now, so that its errors come with the first kernel.

    Further options are the compiler's, and mean something to images that it has to compile or link on a GPU:
    max_registers (1 to 255), optimization_level (0 to 4), target ('sm_90a'), debug, lineinfo, verbose (Library.log
    tells of registers and memory), cache_mode ('none', 'cg', 'ca'), position_independent,
    min_blocks_per_multiprocessor, max_threads_per_block, override_directives, split_compile (threads). Any other is an
    ArgumentError that names the nearest; one that needs a newer driver is an UnsupportedError.

    ImageError carries the compiler's log. A file that is not there is a NotFoundError and a FileNotFoundError.
    """
    return _made(_Recipe(False, [Image("load", image)], _own(names), lazy, jit))


def link(images: Iterable[Any], *, names: Mapping[str, str] | None = None, lazy: bool = False, **jit: Any) -> Library:
    """Make one library of several images, which may use each other's functions and variables.

    images: each as load takes it: PTX; cubins, fatbins and objects of relocatable device code (nvcc -rdc=true or -dc);
    archives of such objects; LTO IR. The simulator links PTX, or LTO IR. An open Library stands for the images that it
    was made of; arrays that are bound to its symbols are bound to those of the linked one too, which keeps them:
    ArgumentError where that is a copy of a host array. The options are load's.

    The driver links; LTO IR takes nvJitLink (pip install nvidia-nvjitlink, or nvidia-nvjitlink-cu12 for a driver of
    CUDA 12): UnsupportedError where that is not there. ImageError carries the linker's log.
    """
    one = isinstance(images, str | bytes | bytearray | memoryview | os.PathLike)
    if one or not isinstance(images, Iterable):
        raise ArgumentError(f"link: one image ({type(images).__name__}) given; a list of them is wanted")
    parts: list[Image] = []
    bound: list[tuple[str, Binding]] = []
    for given in images:
        if isinstance(given, Library):
            if given.closed:
                raise HandleError(f"link: {given!r} given")
            parts += given._recipe.images
            bound += [(name, binding) for (name, _), binding in given._bindings.items()]
        else:
            parts.append(Image("link", given))
    linked = _made(_Recipe(True, parts, _own(names), lazy, jit))
    linked._pass_on(bound)
    return linked


@dataclasses.dataclass(frozen=True)
class _Recipe:
    """What a library is made of: enough to make it again in another process."""

    is_linked: bool
    images: list[Image]
    names: Any  # a mapping of our own, or what Options will refuse
    lazy: bool
    jit: dict[str, Any]


def _own(names: Any) -> Any:
    return dict(names) if isinstance(names, Mapping) else names


def _made(recipe: _Recipe) -> Library:
    options = Options("link" if recipe.is_linked else "load", recipe.names, recipe.lazy, recipe.jit)
    out = ctypes.c_uint64()
    if recipe.is_linked:
        _link(recipe.images, options, out)
    else:
        _load(recipe.images[0], options, out)
    return Library(out.value, " + ".join(image.label for image in recipe.images), options.log, recipe)


def _load(image: Image, options: Options, out: ctypes.c_uint64) -> None:
    rest = ctypes.byref(options.struct), ctypes.byref(out)
    if image.path is None:
        _lib.call_driver("dlaunch_library_load", image.data, len(image.data), *rest)
        return
    try:
        _lib.call_driver("dlaunch_library_load_file", image.path, *rest)
    except NotFoundError as error:
        found = MissingFileError(str(error), status=error.status, driver_code=error.driver_code)
        found.filename = image.label
        raise found from None


def _link(images: list[Image], options: Options, out: ctypes.c_uint64) -> None:
    inputs = (_abi.dlaunch_link_input * max(1, len(images)))()
    for given, image in zip(inputs, images, strict=False):
        data = image.read()
        given.struct_size, given.data, given.size = ctypes.sizeof(given), data, len(data)
        given.name = os.fsencode(os.path.basename(image.label)) if image.path else None
    _lib.call_driver("dlaunch_link", inputs, len(images), ctypes.byref(options.struct), ctypes.byref(out))
