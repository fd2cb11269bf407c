"""The exceptions, one for each status of the C interface, and how they are made of a dlaunch_error."""

from __future__ import annotations

import errno
from typing import ClassVar

from dlaunch import _abi


class Error(Exception):
    """Anything that dlaunch refuses or reports.

    status: the number of the C interface (DLAUNCH_ERROR_*). driver_code: the CUresult, or 0. argument: the kernel
    argument at fault, as the caller counts them from 0, or -1.
    """

    code: ClassVar[int] = _abi.DLAUNCH_ERROR_INTERNAL

    def __init__(self, message: str, *, status: int | None = None, driver_code: int = 0, argument: int = -1) -> None:
        """Make one; the status is the class's unless it is given."""
        super().__init__(message)
        self.status = type(self).code if status is None else status
        self.driver_code = driver_code
        self.argument = argument

    def __str__(self) -> str:
        """Give the message."""
        return str(self.args[0]) if self.args else ""


class ArgumentError(Error, TypeError, ValueError):
    """A bad name or size; the wrong count, type, size or range of a kernel argument."""

    code = _abi.DLAUNCH_ERROR_ARGUMENT


class HandleError(Error):
    """Something that is closed was used."""

    code = _abi.DLAUNCH_ERROR_HANDLE


class TensorError(Error, ValueError):
    """The device, dtype, rank, shape, strides, alignment or read-only flag of a tensor does not fit."""

    code = _abi.DLAUNCH_ERROR_TENSOR


class ConfigError(Error, ValueError):
    """The grid, block, cluster or shared memory does not fit the device or the kernel."""

    code = _abi.DLAUNCH_ERROR_CONFIG


class ImageError(Error):
    """The image cannot be loaded."""

    code = _abi.DLAUNCH_ERROR_IMAGE


class NotFoundError(Error, LookupError):
    """There is no such kernel, symbol or file; for a file this is a FileNotFoundError too."""

    code = _abi.DLAUNCH_ERROR_NOT_FOUND


class MissingFileError(NotFoundError, FileNotFoundError):
    """There is no such file."""

    def __init__(self, message: str, *, status: int | None = None, driver_code: int = 0, argument: int = -1) -> None:
        """Make one."""
        super().__init__(message, status=status, driver_code=driver_code, argument=argument)
        self.errno = errno.ENOENT


class PrototypeError(Error):
    """The prototype's text is wrong, or contradicts the kernel."""

    code = _abi.DLAUNCH_ERROR_PROTOTYPE


class NoDriverError(Error):
    """The driver library is absent, too old or broken."""

    code = _abi.DLAUNCH_ERROR_NO_DRIVER


class DriverError(Error):
    """The driver refused; driver_code has its CUresult."""

    code = _abi.DLAUNCH_ERROR_DRIVER


class FaultError(Error):
    """A kernel did something wrong, now or earlier."""

    code = _abi.DLAUNCH_ERROR_FAULT


class ForkedError(Error):
    """Called in a child that was forked after the library was loaded."""

    code = _abi.DLAUNCH_ERROR_FORKED


class UnsupportedError(Error):
    """This needs a newer driver or another device, or something that the simulator lacks."""

    code = _abi.DLAUNCH_ERROR_UNSUPPORTED


class OutOfMemoryError(Error, MemoryError):
    """There is no memory left, on the host or on the device."""

    code = _abi.DLAUNCH_ERROR_MEMORY


class InternalError(Error):
    """A bug in dlaunch."""

    code = _abi.DLAUNCH_ERROR_INTERNAL


class SimulatorWarning(UserWarning):
    """There is no GPU here, so that the simulator runs the kernels."""


_CLASSES: dict[int, type[Error]] = {
    c.code: c
    for c in (
        ArgumentError,
        HandleError,
        TensorError,
        ConfigError,
        ImageError,
        NotFoundError,
        PrototypeError,
        NoDriverError,
        DriverError,
        FaultError,
        ForkedError,
        UnsupportedError,
        OutOfMemoryError,
        InternalError,
    )
}


def error_of(status: int, driver_code: int, argument: int, message: str) -> Error:
    """Make the exception of a status, known here or not."""
    found = _CLASSES.get(status, Error)
    return found(message, status=status, driver_code=driver_code, argument=argument)


def error_from(err: _abi.dlaunch_error) -> Error:
    """Make the exception of a filled dlaunch_error."""
    return error_of(err.status, err.driver_code, err.argument, err.message.decode("utf-8", "replace"))
