"""Images, loaded."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator, Mapping
from typing import Any

from dlaunch import _lib
from dlaunch._array import DeviceArray
from dlaunch._capture import Capture, refuse_pickling
from dlaunch._create import view_of_memory
from dlaunch._errors import ArgumentError, MissingFileError, NotFoundError
from dlaunch._image import ImageFile
from dlaunch._kernel import Kernel
from dlaunch._managed import Managed, refuse_copy


class Library(Managed):
    """A loaded image: `library["name"]` or `library.kernel(prototype)` gives its kernels.

    Kernels and views of its symbols keep it loaded; it may be closed before them.
    """

    __slots__ = ("_captures", "_image", "_kernels", "_label")

    _closer = "dlaunch_library_close"

    def __init__(self, handle: int, label: str, image: bytes | ImageFile) -> None:
        """Own a handle that dlaunch_library_load gave for an image."""
        super().__init__(handle)
        self._label, self._image = label, image
        self._captures: dict[tuple[str, int], Capture] = {}
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
    def globals(self) -> Mapping[str, DeviceArray]:
        """Its __device__ and __constant__ symbols by name, each a view of bytes (uint8) on device 0.

        It can be asked for a name, not listed. NotFoundError if there is no such symbol.
        """
        return _Globals(self)

    def kernel(self, name_or_prototype: str) -> Kernel:
        """Get a kernel by its name, or by a prototype: 'saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)'.

        NotFoundError names the nearest there; PrototypeError has the column, or says what contradicts the kernel.
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

    def bind(self, **by_name: Any) -> None:
        """Capture for all kernels of this: write where arrays are into symbols of these names.

        Each is a pointer (`__device__ float *table;`) or a dlaunch::view<T, rank>, as its size tells, and of the
        array's device; its earlier work is waited for. The library keeps the array, also for its kernels, until the
        symbol is bound again or the library is unloaded; a host array is copied to the device now. None writes a null.
        NotFoundError if there is no such symbol; ArgumentError, TensorError if it does not fit. Types are not checked.
        """
        for name, value in by_name.items():
            place = f'symbol "{name}"'
            capture = Capture(value, place, f"dlaunch_library_bind: {place}")
            _lib.call("dlaunch_library_bind", self._handle, _lib.encode("name", name), capture.array)
            capture.freeze()
            if value is None:  # of all devices
                self._captures = {at: c for at, c in self._captures.items() if at[0] != name}
            else:
                self._captures[name, capture.device] = capture

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the image, also of a closed library whose kernels are open; PicklingError if a symbol is bound."""
        refuse_pickling(self, self._captures.values())
        image = self._image if isinstance(self._image, bytes) else self._image.read()
        return _load_bytes, (image, self._label)

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
        raise TypeError("the driver does not list a library's symbols; ask for one by name")

    def __len__(self) -> int:
        raise TypeError("the driver does not count a library's symbols; ask for one by name")

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        try:
            self[name]
        except NotFoundError:
            return False
        return True


def load(image: Any) -> Library:
    """Load a PTX text, cubin or fatbin.

    image: a str that has a newline, or begins with .version or //, is PTX; any other str, or an os.PathLike, is a
    path; bytes or another buffer is the image itself. ImageError carries the compiler's log. A file that is not there
    is a NotFoundError and a FileNotFoundError.
    """
    if isinstance(image, str):
        text = image.lstrip()
        if "\n" in image or text.startswith((".version", "//")):
            return _load_bytes(image.encode(), "PTX text")
        return _load_file(image)
    if isinstance(image, os.PathLike):
        return _load_file(os.fspath(image))
    try:
        data = bytes(memoryview(image))
    except TypeError:
        raise ArgumentError(
            f"load: {type(image).__name__} given; PTX text, a path, or bytes of an image is wanted"
        ) from None
    return _load_bytes(data, f"{len(data)} bytes")


def _load_bytes(data: bytes, label: str) -> Library:
    out = ctypes.c_uint64()
    _lib.call_driver("dlaunch_library_load", data, len(data), None, ctypes.byref(out))
    return Library(out.value, label, data)


def _load_file(path: str | bytes) -> Library:
    _lib.loaded()  # a library of ours that is missing is not the file that was asked for
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ArgumentError(f"load: path {path!r} has a NUL in it")
    out = ctypes.c_uint64()
    image = ImageFile(os.fsdecode(path))
    try:
        _lib.call_driver("dlaunch_library_load_file", encoded, None, ctypes.byref(out))
    except NotFoundError as error:
        found = MissingFileError(str(error), status=error.status, driver_code=error.driver_code)
        found.filename = os.fsdecode(path)
        raise found from None
    return Library(out.value, os.fsdecode(path), image)
