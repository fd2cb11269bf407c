"""`python -m dlaunch`: `info` says which library and driver serve here; `inspect FILE` what an image has."""

from __future__ import annotations

import argparse
import pathlib
import sys
import warnings

import dlaunch
from dlaunch import _lib


def info() -> None:
    """Print what serves here."""
    warnings.simplefilter("ignore", dlaunch.SimulatorWarning)  # it is what is printed
    library = _lib.loaded()
    print(f"dlaunch   {dlaunch.__version__}")
    print(f"library   {library.path} ({library.c.dlaunch_version().decode()}, ABI {library.c.dlaunch_abi_version()})")
    driver = dlaunch.driver_info()
    version = f"{driver.version // 1000}.{driver.version % 1000 // 10}"
    print(f"driver    {driver.kind} {version} {driver.path}".rstrip())
    print(f"because   {driver.reason}")
    for device in dlaunch.devices():
        major, minor = device.compute_capability
        _, total = device.memory()
        print(
            f"device {device.index}  compute capability {major}.{minor}, {device.multiprocessors} multiprocessors, "
            f"{total / 2**30:.1f} GiB"
        )
    print(f"builtins  {'yes' if library.makes_builtins else 'no: launches go through ctypes'}")


def inspect(path: str) -> None:
    """Print what an image is for, its kernels with their parameters, and its variables."""
    warnings.simplefilter("ignore", dlaunch.SimulatorWarning)
    with dlaunch.load(pathlib.Path(path)) as library:
        print(f"code      {' '.join(library.architectures)}")
        for name in library.kernels:
            with library[name] as kernel:
                print(f"kernel    {kernel.prototype or name}")
                for p in kernel.parameters:
                    print(f"          {p.offset:5} {p.size:5} bytes  {p.name or '-'}: {p.type or '-'}")
        try:
            for name, symbol in library.globals.items():
                print(f"variable  {name}: {symbol.nbytes} bytes")
        except dlaunch.UnsupportedError as error:
            print(f"variables {error}")


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 1 if dlaunch refuses."""
    parser = argparse.ArgumentParser(prog="python -m dlaunch", description="Look at dlaunch from the command line.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("info", help="which library and driver serve here, and on what devices")
    inspecting = commands.add_parser("inspect", help="what an image has: PTX, a cubin, a fatbin")
    inspecting.add_argument("file", metavar="FILE")
    given = parser.parse_args(arguments)
    try:
        if given.command == "inspect":
            inspect(given.file)
        else:
            info()
    except dlaunch.Error as error:
        print(f"dlaunch: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
