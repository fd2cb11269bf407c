"""include/dlaunch.h in ctypes: the same order, the same names, nothing else."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

kDLInt, kDLUInt, kDLFloat, kDLOpaqueHandle, kDLBfloat, kDLComplex, kDLBool = 0, 1, 2, 3, 4, 5, 6
kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged = 1, 2, 3, 13

# Made once: before Python 3.13, ctypes forgets its pointer types when another interpreter of the process imports it.
int64_pointer = POINTER(c_int64)


class DLDevice(ctypes.Structure):
    """Where a tensor lies."""

    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DLDataType(ctypes.Structure):
    """The type of an element; bits are those of both parts of a complex number."""

    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class DLTensor(ctypes.Structure):
    """A strided view; strides are in elements, and NULL is C order."""

    _fields_ = [
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", int64_pointer),
        ("strides", int64_pointer),
        ("byte_offset", c_uint64),
    ]


class DLManagedTensor(ctypes.Structure):
    """DLPack's struct before 1.0."""

    _fields_ = [("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p)]


class DLPackVersion(ctypes.Structure):
    """The version of DLPack that a struct obeys."""

    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class DLManagedTensorVersioned(ctypes.Structure):
    """DLPack's struct since 1.0, with flags."""

    _fields_ = [
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    ]


class DLPackExchangeAPIHeader(ctypes.Structure):
    """What every version of the exchange API begins with."""


DLPackExchangeAPIHeader._fields_ = [("version", DLPackVersion), ("prev_api", POINTER(DLPackExchangeAPIHeader))]


class DLPackExchangeAPI(ctypes.Structure):
    """DLPack's C functions for tensors of one Python type."""

    _fields_ = [
        ("header", DLPackExchangeAPIHeader),
        ("managed_tensor_allocator", c_void_p),
        ("managed_tensor_from_py_object_no_sync", c_void_p),
        ("managed_tensor_to_py_object_no_sync", c_void_p),
        ("dltensor_from_py_object_no_sync", c_void_p),
        ("current_work_stream", c_void_p),
    ]


DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION = 1, 3
DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_COPIED = 1, 2

DLAUNCH_OK = 0
DLAUNCH_ERROR_ARGUMENT = 1
DLAUNCH_ERROR_HANDLE = 2
DLAUNCH_ERROR_TENSOR = 3
DLAUNCH_ERROR_CONFIG = 4
DLAUNCH_ERROR_IMAGE = 5
DLAUNCH_ERROR_NOT_FOUND = 6
DLAUNCH_ERROR_PROTOTYPE = 7
DLAUNCH_ERROR_NO_DRIVER = 8
DLAUNCH_ERROR_DRIVER = 9
DLAUNCH_ERROR_FAULT = 10
DLAUNCH_ERROR_FORKED = 11
DLAUNCH_ERROR_UNSUPPORTED = 12
DLAUNCH_ERROR_MEMORY = 13
DLAUNCH_ERROR_INTERNAL = 14


class dlaunch_error(ctypes.Structure):
    """What went wrong."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("driver_code", c_int32),
        ("argument", c_int32),
        ("message", c_char * 1008),
    ]


DLAUNCH_ABI_VERSION = 1


class dlaunch_driver_info_t(ctypes.Structure):
    """Which driver serves."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("version", c_int32),
        ("devices", c_int32),
        ("kind", c_char * 8),
        ("path", c_char * 256),
        ("reason", c_char * 512),
    ]


dlaunch_library = dlaunch_kernel = dlaunch_tensor = dlaunch_array = dlaunch_stream = dlaunch_event = dlaunch_graph = (
    c_uint64
)

DLAUNCH_LAZY = 1


class dlaunch_name(ctypes.Structure):
    """What a kernel or variable is called beside its symbol."""

    _fields_ = [("name", c_char_p), ("symbol", c_char_p)]


class dlaunch_library_options(ctypes.Structure):
    """How to load an image."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("log", c_void_p),
        ("log_size", c_size_t),
        ("jit_options", POINTER(c_int32)),
        ("jit_values", POINTER(c_uint64)),
        ("num_jit_options", c_uint32),
        ("reserved", c_uint32),
        ("names", POINTER(dlaunch_name)),
        ("num_names", c_uint64),
        ("nvjitlink", c_char_p),
    ]


class dlaunch_link_input(ctypes.Structure):
    """One of the images to link."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("data", c_char_p),
        ("size", c_size_t),
        ("name", c_char_p),
    ]


class dlaunch_parameter(ctypes.Structure):
    """One parameter of a kernel."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("index", c_uint32),
        ("name", c_char * 128),
        ("type", c_char * 64),
        ("offset", c_uint64),
        ("size", c_uint64),
        ("mode", c_uint32),
        ("reserved", c_uint32),
    ]


DLAUNCH_BOUND = 4

DLAUNCH_ARG_NONE = 0
DLAUNCH_ARG_TENSOR = 1
DLAUNCH_ARG_MANAGED = 2
DLAUNCH_ARG_VERSIONED = 3
DLAUNCH_ARG_INT = 4
DLAUNCH_ARG_UINT = 5
DLAUNCH_ARG_FLOAT = 6
DLAUNCH_ARG_BOOL = 7
DLAUNCH_ARG_BYTES = 8
DLAUNCH_ARG_POINTER = 9
DLAUNCH_ARG_HANDLE = 10

DLAUNCH_IN, DLAUNCH_OUT, DLAUNCH_WHOLE = 1, 2, 4


class dlaunch_arg_value(ctypes.Union):
    """The union in dlaunch_arg."""

    _fields_ = [
        ("tensor", c_void_p),
        ("managed", c_void_p),
        ("versioned", c_void_p),
        ("i", c_int64),
        ("u", c_uint64),
        ("f", c_double),
        ("bytes", c_void_p),
        ("handle", c_uint64),
    ]


class dlaunch_arg(ctypes.Structure):
    """One argument of a launch."""

    _fields_ = [("kind", c_uint16), ("flags", c_uint16), ("size", c_uint32), ("value", dlaunch_arg_value)]


class dlaunch_attribute(ctypes.Structure):
    """One CUlaunchAttribute."""

    _fields_ = [("id", c_uint32), ("reserved", c_uint32), ("value", c_uint8 * 64)]


DLAUNCH_COOPERATIVE, DLAUNCH_ZERO_GRID_OK, DLAUNCH_CHECK_POINTERS = 1, 2, 4


class dlaunch_config(ctypes.Structure):
    """The configuration of a launch."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("grid", c_uint32 * 3),
        ("block", c_uint32 * 3),
        ("cluster", c_uint32 * 3),
        ("shared_bytes", c_uint32),
        ("flags", c_uint32),
        ("stream", c_uint64),
        ("attributes", POINTER(dlaunch_attribute)),
        ("num_attributes", c_uint32),
        ("reserved", c_uint32),
    ]


class dlaunch_call(ctypes.Structure):
    """One launch of several."""

    _fields_ = [
        ("kernel", dlaunch_kernel),
        ("config", POINTER(dlaunch_config)),
        ("args", POINTER(dlaunch_arg)),
        ("num_args", c_uint32),
        ("reserved", c_uint32),
    ]


DLAUNCH_STREAM_NON_BLOCKING = 1
DLAUNCH_EVENT_BLOCKING, DLAUNCH_EVENT_NO_TIMING = 1, 2

_error = POINTER(dlaunch_error)

# The functions that end in a dlaunch_error * and give a dlaunch_status, without that parameter.
STATUS_FUNCTIONS: dict[str, list[Any]] = {
    "dlaunch_driver_info": [POINTER(dlaunch_driver_info_t)],
    "dlaunch_device_count": [POINTER(c_int32)],
    "dlaunch_device_attribute": [c_int32, c_int32, POINTER(c_int32)],
    "dlaunch_memory_info": [c_int32, POINTER(c_size_t), POINTER(c_size_t)],
    "dlaunch_library_load": [c_void_p, c_size_t, POINTER(dlaunch_library_options), POINTER(dlaunch_library)],
    "dlaunch_library_load_file": [c_char_p, POINTER(dlaunch_library_options), POINTER(dlaunch_library)],
    "dlaunch_link": [
        POINTER(dlaunch_link_input),
        c_uint32,
        POINTER(dlaunch_library_options),
        POINTER(dlaunch_library),
    ],
    "dlaunch_library_architectures": [dlaunch_library, c_char_p, c_size_t, POINTER(c_size_t)],
    "dlaunch_library_kernel_count": [dlaunch_library, POINTER(c_uint32)],
    "dlaunch_library_kernel_name": [dlaunch_library, c_uint32, c_char_p, c_size_t, POINTER(c_size_t)],
    "dlaunch_library_global": [dlaunch_library, c_int32, c_char_p, POINTER(c_uint64), POINTER(c_size_t)],
    "dlaunch_library_global_name": [dlaunch_library, c_uint32, c_char_p, c_size_t, POINTER(c_size_t)],
    "dlaunch_library_close": [dlaunch_library],
    "dlaunch_kernel_get": [dlaunch_library, c_char_p, POINTER(dlaunch_kernel)],
    "dlaunch_kernel_from_driver": [c_void_p, c_char_p, POINTER(dlaunch_kernel)],
    "dlaunch_kernel_native": [dlaunch_kernel, POINTER(c_uint64)],
    "dlaunch_kernel_name": [dlaunch_kernel, c_char_p, c_size_t, POINTER(c_size_t)],
    "dlaunch_kernel_load": [dlaunch_kernel, c_int32],
    "dlaunch_kernel_prototype": [dlaunch_kernel, c_char_p, c_size_t, POINTER(c_size_t)],
    "dlaunch_kernel_parameter": [dlaunch_kernel, c_uint32, POINTER(dlaunch_parameter)],
    "dlaunch_kernel_attribute": [dlaunch_kernel, c_int32, c_int32, POINTER(c_int32)],
    "dlaunch_kernel_set_attribute": [dlaunch_kernel, c_int32, c_int32, c_int32],
    "dlaunch_kernel_close": [dlaunch_kernel],
    "dlaunch_launch": [dlaunch_kernel, POINTER(dlaunch_config), POINTER(dlaunch_arg), c_uint32],
    "dlaunch_launch_tensors": [dlaunch_kernel, POINTER(dlaunch_config), POINTER(c_void_p), c_uint32],
    "dlaunch_launch_managed": [dlaunch_kernel, POINTER(dlaunch_config), POINTER(c_void_p), c_uint32],
    "dlaunch_launch_many": [POINTER(dlaunch_call), c_uint32, POINTER(c_uint32)],
    "dlaunch_graph_create": [POINTER(dlaunch_call), c_uint32, POINTER(dlaunch_graph)],
    "dlaunch_graph_launch": [dlaunch_graph, c_uint64],
    "dlaunch_graph_close": [dlaunch_graph],
    "dlaunch_kernel_max_active_blocks": [dlaunch_kernel, c_int32, c_uint32, c_size_t, POINTER(c_int32)],
    "dlaunch_kernel_max_potential_block_size": [
        dlaunch_kernel,
        c_int32,
        c_size_t,
        c_size_t,
        c_uint32,
        POINTER(c_int32),
        POINTER(c_int32),
    ],
    "dlaunch_kernel_available_shared_bytes": [dlaunch_kernel, c_int32, c_uint32, c_uint32, POINTER(c_size_t)],
    "dlaunch_kernel_max_cluster_size": [dlaunch_kernel, c_int32, POINTER(dlaunch_config), POINTER(c_int32)],
    "dlaunch_kernel_max_active_clusters": [dlaunch_kernel, c_int32, POINTER(dlaunch_config), POINTER(c_int32)],
    "dlaunch_kernel_bind": [dlaunch_kernel, c_uint32, POINTER(dlaunch_arg), POINTER(dlaunch_kernel)],
    "dlaunch_library_bind": [dlaunch_library, c_char_p, POINTER(dlaunch_arg)],
    "dlaunch_array_create": [c_int32, DLDataType, c_int32, POINTER(c_int64), POINTER(dlaunch_array)],
    "dlaunch_array_write": [dlaunch_array, c_void_p, c_size_t, c_uint64],
    "dlaunch_array_read": [dlaunch_array, c_void_p, c_size_t, c_uint64],
    "dlaunch_array_tensor": [dlaunch_array, POINTER(DLTensor)],
    "dlaunch_array_view": [
        dlaunch_array,
        DLDataType,
        c_int32,
        POINTER(c_int64),
        POINTER(c_int64),
        c_int64,
        POINTER(dlaunch_array),
    ],
    "dlaunch_array_wait": [dlaunch_array, c_uint64],
    "dlaunch_array_export": [dlaunch_array, POINTER(c_void_p)],
    "dlaunch_array_close": [dlaunch_array],
    "dlaunch_tensor_import": [c_void_p, POINTER(dlaunch_tensor)],
    "dlaunch_tensor_import_versioned": [c_void_p, POINTER(dlaunch_tensor)],
    "dlaunch_tensor_close": [dlaunch_tensor],
    "dlaunch_stream_create": [c_int32, c_uint32, POINTER(dlaunch_stream)],
    "dlaunch_stream_create_with_priority": [c_int32, c_uint32, c_int32, POINTER(dlaunch_stream)],
    "dlaunch_stream_priorities": [c_int32, POINTER(c_int32), POINTER(c_int32)],
    "dlaunch_stream_native": [dlaunch_stream, POINTER(c_uint64)],
    "dlaunch_stream_query": [c_uint64, POINTER(c_int32)],
    "dlaunch_stream_synchronize": [c_uint64],
    "dlaunch_stream_close": [dlaunch_stream],
    "dlaunch_synchronize": [c_int32],
    "dlaunch_event_create": [c_int32, c_uint32, POINTER(dlaunch_event)],
    "dlaunch_event_record": [dlaunch_event, c_uint64],
    "dlaunch_event_wait": [dlaunch_event, c_uint64],
    "dlaunch_event_synchronize": [dlaunch_event],
    "dlaunch_event_query": [dlaunch_event, POINTER(c_int32)],
    "dlaunch_event_elapsed": [dlaunch_event, dlaunch_event, POINTER(c_float)],
    "dlaunch_event_close": [dlaunch_event],
    "dlaunch_device_enter": [c_int32, POINTER(c_uint64)],
    "dlaunch_device_leave": [c_uint64],
    "dlaunch_annotate": [c_uint64, c_char_p],
    "dlaunch_disown": [c_uint64],
    "dlaunch_retire": [c_uint64],
    "dlaunch_drain": [],
    "dlaunch_report": [c_char_p, c_size_t, POINTER(c_size_t)],
}


def declare(library: ctypes.CDLL) -> None:
    """Give every function of a loaded library its types."""
    library.dlaunch_abi_version.argtypes, library.dlaunch_abi_version.restype = [], c_uint32
    library.dlaunch_version.argtypes, library.dlaunch_version.restype = [], c_char_p
    library.dlaunch_status_name.argtypes, library.dlaunch_status_name.restype = [c_int32], c_char_p
    for name, parameters in STATUS_FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = [*parameters, _error], c_int32


def declare_python(library: ctypes.PyDLL) -> None:
    """Give their types to the functions that are called with the interpreter's lock held.

    All but the first give None where the interpreter differs from what is known.
    """
    library.dlaunch_python_ready.argtypes, library.dlaunch_python_ready.restype = [], c_int32
    function = library.dlaunch_python_callable
    function.argtypes = [dlaunch_kernel, POINTER(dlaunch_config), ctypes.py_object]
    function.restype = ctypes.py_object
    function = library.dlaunch_python_batch
    function.argtypes = [POINTER(dlaunch_call), c_uint32, ctypes.py_object, ctypes.py_object]
    function.restype = ctypes.py_object
    function = library.dlaunch_python_capsule
    function.argtypes, function.restype = [c_void_p, ctypes.py_object, c_int32], ctypes.py_object
    function = library.dlaunch_python_subscript
    function.argtypes, function.restype = [ctypes.py_object, c_int64], ctypes.py_object
