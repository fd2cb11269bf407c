"""Launch GPU kernels on tensors of any framework.

    library = dlaunch.load("saxpy.ptx")
    saxpy = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i64 = n)")
    saxpy[grid, block](2.0, x, y)

Arguments are tensors (anything with DLPack or the CUDA Array Interface, NumPy arrays, DeviceArray), numbers, bytes and
None. On a machine without a GPU the same program runs on a simulator. Importing this loads nothing: libdlaunch.so is
found and loaded by the first call that needs it.
"""

from dlaunch._arguments import In, InOut, Out
from dlaunch._array import DeviceArray
from dlaunch._batch import Batch, batch
from dlaunch._create import empty, from_dlpack, full, to_device, zeros
from dlaunch._device import device
from dlaunch._dtype import DataType
from dlaunch._errors import (
    ArgumentError,
    ConfigError,
    DriverError,
    Error,
    FaultError,
    ForkedError,
    HandleError,
    ImageError,
    InternalError,
    NoDriverError,
    NotFoundError,
    OutOfMemoryError,
    PrototypeError,
    SimulatorWarning,
    TensorError,
    UnsupportedError,
)
from dlaunch._event import Event
from dlaunch._graph import Graph
from dlaunch._kernel import Kernel
from dlaunch._library import Library, link, load
from dlaunch._managed import trace_origins
from dlaunch._parameter import Parameter
from dlaunch._report import Device, DriverInfo, devices, drain, driver_info, live_handles, report, synchronize
from dlaunch._stream import Stream
from dlaunch._view import View, view

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Batch",
    "ConfigError",
    "DataType",
    "Device",
    "DeviceArray",
    "DriverError",
    "DriverInfo",
    "Error",
    "Event",
    "FaultError",
    "ForkedError",
    "Graph",
    "HandleError",
    "ImageError",
    "In",
    "InOut",
    "InternalError",
    "Kernel",
    "Library",
    "NoDriverError",
    "NotFoundError",
    "Out",
    "OutOfMemoryError",
    "Parameter",
    "PrototypeError",
    "SimulatorWarning",
    "Stream",
    "TensorError",
    "UnsupportedError",
    "View",
    "batch",
    "device",
    "devices",
    "drain",
    "driver_info",
    "empty",
    "from_dlpack",
    "full",
    "link",
    "live_handles",
    "load",
    "report",
    "synchronize",
    "to_device",
    "trace_origins",
    "view",
    "zeros",
]
