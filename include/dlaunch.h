/*
 * dlaunch.h: launch GPU kernels on DLPack tensors, from any language.
 *
 * What is not in this file is not part of libdlaunch.so. C99, C11 and C++;
 * 64-bit Linux with glibc. The library finds libcuda.so.1 at run time; where
 * there is none, the same program runs on a built-in simulator (DLAUNCH_DRIVER).
 *
 * ERRORS. Functions return a dlaunch_status. The last parameter is a
 * dlaunch_error of the caller's, or NULL; it is written only on failure.
 * Nothing is kept per thread or globally. A handle that is closed, stale, of
 * another kind or 0 is DLAUNCH_ERROR_HANDLE, and is reported before any other
 * fault of the call. A handle's `out` is 0 on failure; other outs are written
 * on success only. Bugs of dlaunch are DLAUNCH_ERROR_INTERNAL; no function
 * aborts the process.
 *
 * OWNERSHIP, in four words that this file uses:
 *   borrowed    dlaunch reads it during the call and keeps nothing.
 *   kept alive  by you, until the stream has passed the launch.
 *   yours       close it, with the function that is named.
 *   ours        dlaunch's; never free it.
 *
 * HANDLES are numbers below 2^53 (JavaScript and Lua carry them exactly), never
 * 0. Close is not the end of what is in use: a kernel keeps its library loaded
 * and a launch keeps what it launches with, so things may be closed in any
 * order and from any thread, also while other threads launch with them.
 *
 * THREADS. Any function, any thread, any time. No lock is held over a driver
 * call, but for the first use of a device, a rise of a kernel's shared memory, the
 * launch of a graph, which keeps others of the same graph waiting, the binding of a
 * symbol, and an unload, which keeps all launches waiting. The calling thread's
 * current CUDA context is what it was, afterwards. A launch takes at most 64 KiB
 * of the calling thread's stack, beside what the driver takes.
 *
 * FORK. A child made by fork() cannot use a library that its parent loaded: all
 * functions but the versions answer DLAUNCH_ERROR_FORKED there. Use exec or
 * spawn, or load the library after the fork.
 *
 * SIMULATOR. The same program runs there, with these differences: a launch is
 * over when it returns, so a kernel's fault is the launch's own error (on a GPU
 * it is that of a later call); a fault harms nothing that comes after it; device
 * memory is host memory, and arrays are kDLCPU tensors.
 *
 * EXIT. When the driver is opened, a handler is registered with atexit. Once that
 * has run, nothing touches the driver any more: what is still open is left to the
 * process's end, and calls answer DLAUNCH_ERROR_DRIVER with driver code 4
 * (CUDA_ERROR_DEINITIALIZED).
 *
 * DLAUNCH_LOG, DLAUNCH_LEAK. Environment variables, read when the library is loaded.
 * DLAUNCH_LOG=lifecycle writes a line to stderr for each handle that is created or
 * closed and each thing that is destroyed; =launch also for each launch. :json makes
 * them JSON, :FILE appends them to a file (launch:json:/tmp/log). DLAUNCH_LEAK=report
 * says on stderr at exit which handles are open; =error also ends the process with
 * status 23 where it would be 0. A value that is none is said on stderr, once.
 *
 * GROWTH. Structs that you fill begin with struct_size and grow at their end;
 * zero in any other field is its default. A struct_size of 0, or below that of
 * the first version, is DLAUNCH_ERROR_ARGUMENT; of a larger one the fields that
 * this library does not know are not looked at. Unknown bits of flags are refused.
 * dlaunch_arg and dlaunch_call never grow.
 *
 * TEXT is UTF-8, ending in NUL unless a length is given. Strings go into your
 * buffers: `needed` (may be NULL) counts the NUL; (NULL, 0) asks for it and
 * succeeds; a buffer that is too small is DLAUNCH_ERROR_ARGUMENT, sets `needed`
 * and writes nothing else.
 *
 * PROCESS. The library is written in Go: it cannot be unloaded (dlclose does
 * nothing), installs handlers for SIGBUS, SIGFPE, SIGSEGV, SIGPIPE and SIGURG
 * that pass on what is not its own, and needs 24 bytes of static TLS. A second
 * Go library in the process works, unsupported by Go.
 */
#ifndef DLAUNCH_H
#define DLAUNCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * DLPack. The public dlpack.h serves where it was included before, where the
 * compiler finds <dlpack/dlpack.h>, or where DLAUNCH_DLPACK_H names it. Else the
 * declarations below do: the layout of DLPack 1.3, which 1.x keeps.
 */
#if defined(DLAUNCH_OWN_DLPACK) /* those below, whatever else there is */
#elif defined(DLAUNCH_DLPACK_H)
#include DLAUNCH_DLPACK_H
#elif defined(DLPACK_DLPACK_H_)
#elif defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(DLPACK_DLPACK_H_)
#define DLPACK_DLPACK_H_ 1

typedef enum {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLROCMHost = 11,
  kDLExtDev = 12,
  kDLCUDAManaged = 13,
  kDLOneAPI = 14,
  kDLWebGPU = 15,
  kDLHexagon = 16,
  kDLMAIA = 17,
  kDLTrn = 18
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int32_t device_id;
} DLDevice;

typedef enum {
  kDLInt = 0U,
  kDLUInt = 1U,
  kDLFloat = 2U,
  kDLOpaqueHandle = 3U,
  kDLBfloat = 4U,
  kDLComplex = 5U,
  kDLBool = 6U,
  kDLFloat8_e3m4 = 7U,
  kDLFloat8_e4m3 = 8U,
  kDLFloat8_e4m3b11fnuz = 9U,
  kDLFloat8_e4m3fn = 10U,
  kDLFloat8_e4m3fnuz = 11U,
  kDLFloat8_e5m2 = 12U,
  kDLFloat8_e5m2fnuz = 13U,
  kDLFloat8_e8m0fnu = 14U,
  kDLFloat6_e2m3fn = 15U,
  kDLFloat6_e3m2fn = 16U,
  kDLFloat4_e2m1fn = 17U
} DLDataTypeCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct DLTensor {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL is C order */
  uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;

typedef struct {
  uint32_t major;
  uint32_t minor;
} DLPackVersion;

typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void *manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The C exchange API of 1.3: what a type's __dlpack_c_exchange_api__ points to. */
typedef struct DLPackExchangeAPIHeader {
  DLPackVersion version;
  struct DLPackExchangeAPIHeader *prev_api;
} DLPackExchangeAPIHeader;

typedef int (*DLPackManagedTensorAllocator)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                                            void (*SetError)(void *error_ctx, const char *kind, const char *message));
typedef int (*DLPackManagedTensorFromPyObjectNoSync)(void *py_object, DLManagedTensorVersioned **out);
typedef int (*DLPackManagedTensorToPyObjectNoSync)(DLManagedTensorVersioned *tensor, void **out_py_object);
typedef int (*DLPackDLTensorFromPyObjectNoSync)(void *py_object, DLTensor *out);
typedef int (*DLPackCurrentWorkStream)(DLDeviceType device_type, int32_t device_id, void **out_current_stream);

typedef struct DLPackExchangeAPI {
  DLPackExchangeAPIHeader header;
  DLPackManagedTensorAllocator managed_tensor_allocator;
  DLPackManagedTensorFromPyObjectNoSync managed_tensor_from_py_object_no_sync;
  DLPackManagedTensorToPyObjectNoSync managed_tensor_to_py_object_no_sync;
  DLPackDLTensorFromPyObjectNoSync dltensor_from_py_object_no_sync;
  DLPackCurrentWorkStream current_work_stream;
} DLPackExchangeAPI;

#define DLPACK_MAJOR_VERSION 1
#define DLPACK_MINOR_VERSION 3
#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)
#define DLPACK_FLAG_BITMASK_IS_COPIED (1UL << 1UL)
#define DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED (1UL << 2UL)
#endif

/* A dlpack.h older than 1.0 knows no versioned struct: its name will do. */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/* ---------------------------------------------------------------- statuses */

typedef int32_t dlaunch_status;

#define DLAUNCH_OK 0
#define DLAUNCH_ERROR_ARGUMENT 1  /* a NULL, a bad name or size; a kernel argument's count, type, size or range */
#define DLAUNCH_ERROR_HANDLE 2    /* a closed, stale, foreign or wrong-kind handle, or 0 */
#define DLAUNCH_ERROR_TENSOR 3    /* device, dtype, rank, shape, strides, alignment or read-only flag does not fit */
#define DLAUNCH_ERROR_CONFIG 4    /* grid, block, cluster, shared memory or attribute does not fit device or kernel */
#define DLAUNCH_ERROR_IMAGE 5     /* the image cannot be loaded: log, architectures and versions in the message */
#define DLAUNCH_ERROR_NOT_FOUND 6 /* no such kernel, symbol or file: the name asked, the nearest there */
#define DLAUNCH_ERROR_PROTOTYPE 7 /* the prototype's text is wrong (column), or contradicts the kernel */
#define DLAUNCH_ERROR_NO_DRIVER 8 /* libcuda is absent, too old or broken: what was tried */
#define DLAUNCH_ERROR_DRIVER 9    /* the driver refused: driver_code, its name and text, our explanation */
#define DLAUNCH_ERROR_FAULT 10    /* the context is poisoned, or (simulator) a kernel did something wrong */
#define DLAUNCH_ERROR_FORKED 11   /* called in a child made by fork */
#define DLAUNCH_ERROR_UNSUPPORTED 12 /* needs a newer driver or another device; real PTX that the simulator lacks */
#define DLAUNCH_ERROR_MEMORY 13      /* out of memory, host or device */
#define DLAUNCH_ERROR_INTERNAL 14    /* a bug in dlaunch */

/* Begin with DLAUNCH_ERROR_INIT: a struct_size of 0 is DLAUNCH_ERROR_ARGUMENT from
 * every function, and then there is no room to say so in. */
typedef struct dlaunch_error {
  uint32_t struct_size; /* sizeof(dlaunch_error) */
  int32_t status;
  int32_t driver_code; /* the CUresult, or 0 */
  int32_t argument;    /* the kernel argument at fault, as you count them from 0; -1 */
  char message[1008];  /* always NUL-terminated; cut at a character */
} dlaunch_error;

#define DLAUNCH_ERROR_INIT {sizeof(dlaunch_error), 0, 0, -1, {0}}

/* ---------------------------------------------------------------- versions */

/* The ABI's version: it grows with every function or kind that is added. */
#define DLAUNCH_ABI_VERSION 1

/* dlaunch_abi_version gives DLAUNCH_ABI_VERSION of the library. Always works. */
uint32_t dlaunch_abi_version(void);

/* dlaunch_version gives the release, as "0.1.0". The text is ours. Always works. */
const char *dlaunch_version(void);

/* dlaunch_status_name gives "DLAUNCH_ERROR_TENSOR" for 3. The text is ours; an
 * unknown status gives "DLAUNCH_STATUS_UNKNOWN". Always works. */
const char *dlaunch_status_name(dlaunch_status status);

/* ------------------------------------------------------------------ driver */

typedef struct dlaunch_driver_info_t {
  uint32_t struct_size; /* sizeof(dlaunch_driver_info_t) */
  int32_t version;      /* cuDriverGetVersion: 1000 * major + 10 * minor */
  int32_t devices;
  char kind[8];     /* "cuda" or "sim" */
  char path[256];   /* the driver library that was opened; "" for the simulator */
  char reason[512]; /* why this driver */
} dlaunch_driver_info_t;

#define DLAUNCH_DRIVER_INFO_INIT {sizeof(dlaunch_driver_info_t), 0, 0, {0}, {0}, {0}}

/*
 * dlaunch_driver_info opens the driver, if no call has yet, and describes it.
 *
 * The environment variable DLAUNCH_DRIVER says which: `cuda`, `sim`, or `auto`
 * (also when unset), which takes the simulator only where there is no
 * libcuda.so.1, or where it finds no device and CUDA_VISIBLE_DEVICES is unset.
 * A driver that is there but broken is DLAUNCH_ERROR_NO_DRIVER. The choice is
 * made once for the process, by the first call that needs a driver.
 */
dlaunch_status dlaunch_driver_info(dlaunch_driver_info_t *out, dlaunch_error *err);

/* dlaunch_device_count counts the devices that the driver shows. */
dlaunch_status dlaunch_device_count(int32_t *out, dlaunch_error *err);

/* dlaunch_device_attribute reads a CUdevice_attribute by its number in cuda.h.
 * One that the driver does not know is DLAUNCH_ERROR_UNSUPPORTED. */
dlaunch_status dlaunch_device_attribute(int32_t device, int32_t attribute, int32_t *out, dlaunch_error *err);

/* dlaunch_memory_info gives a device's free and total memory in bytes. */
dlaunch_status dlaunch_memory_info(int32_t device, size_t *free_bytes, size_t *total_bytes, dlaunch_error *err);

/* --------------------------------------------------------------- libraries */

typedef uint64_t dlaunch_library;
typedef uint64_t dlaunch_kernel;
typedef uint64_t dlaunch_tensor;
typedef uint64_t dlaunch_array;
typedef uint64_t dlaunch_stream;
typedef uint64_t dlaunch_event;
typedef uint64_t dlaunch_graph;

#define DLAUNCH_LAZY 1u /* do not prove the image: its errors come with the first kernel (not on the simulator) */

/* What a kernel or variable is called beside its symbol: "f<float, 3>" for
 * "_Z1fIfLi3EEvPT_", as nvrtcGetLoweredName tells. */
typedef struct dlaunch_name {
  const char *name; /* blanks in it do not count */
  const char *symbol;
} dlaunch_name;

typedef struct dlaunch_library_options {
  uint32_t struct_size; /* sizeof(dlaunch_library_options) */
  uint32_t flags;       /* DLAUNCH_LAZY */
  char *log;            /* receives the compiler's log, cut to log_size and NUL-terminated; or NULL */
  size_t log_size;
  const int32_t *jit_options; /* CUjit_option numbers (cuda.h), num_jit_options of them ... */
  const uint64_t *jit_values; /* ... and their values */
  uint32_t num_jit_options;
  uint32_t reserved;
  const dlaunch_name *names; /* borrowed: num_names of them */
  uint64_t num_names;
  const char *nvjitlink; /* the file of libnvJitLink.so.12 or .13, which links LTO IR; NULL: the loader searches */
} dlaunch_library_options;

#define DLAUNCH_LIBRARY_OPTIONS_INIT {sizeof(dlaunch_library_options), 0, NULL, 0, NULL, NULL, 0, 0, NULL, 0, NULL}

/*
 * dlaunch_library_load loads a PTX text, cubin or fatbin; a host's object that
 * was compiled as a whole program, by the fatbin inside; and by way of a linker,
 * as dlaunch_link does, LTO IR, an object of relocatable device code, and an
 * archive of those.
 *
 * image    `size` bytes, borrowed: copied. PTX need not end in NUL.
 * options  may be NULL. JIT options concern what is compiled or linked, and the
 *          simulator knows none of them. Those of logs (3 to 6) are
 *          DLAUNCH_ERROR_ARGUMENT; one that needs a newer driver is
 *          DLAUNCH_ERROR_UNSUPPORTED.
 * out      yours: dlaunch_library_close.
 *
 * The driver takes any bytes at load and complains later (seen: 580), so the
 * image is proved by getting a kernel, unless DLAUNCH_LAZY says not to. What ends
 * before its own headers say, or points outside, never reaches the driver.
 * DLAUNCH_ERROR_IMAGE carries the first lines of the compiler's log and the line
 * that they are about, and the architectures or versions that do not agree. The
 * simulator takes PTX, and LTO IR where nvJitLink is. Libraries that were retired
 * are unloaded first, which waits for their running kernels.
 */
dlaunch_status dlaunch_library_load(const void *image, size_t size, const dlaunch_library_options *options,
                                    dlaunch_library *out, dlaunch_error *err);

/* dlaunch_library_load_file loads what dlaunch_library_load does, from a file.
 * A file that is not there is DLAUNCH_ERROR_NOT_FOUND. */
dlaunch_status dlaunch_library_load_file(const char *path, const dlaunch_library_options *options, dlaunch_library *out,
                                         dlaunch_error *err);

typedef struct dlaunch_link_input {
  uint32_t struct_size; /* sizeof(dlaunch_link_input), the same in all of an array */
  uint32_t reserved;
  const void *data; /* borrowed; what it is, its first bytes tell */
  size_t size;
  const char *name; /* for messages; NULL: its number in the array */
} dlaunch_link_input;

#define DLAUNCH_LINK_INPUT_INIT {sizeof(dlaunch_link_input), 0, NULL, 0, NULL}

/*
 * dlaunch_link makes one library of several images, which may use each other's
 * functions and variables.
 *
 * inputs   `num` of them, 1 or more: PTX; cubins, fatbins and host objects of
 *          relocatable device code (nvcc -rdc=true or -dc); archives of such
 *          objects; LTO IR. On the simulator PTX, or LTO IR alone.
 * options  may be NULL; as for dlaunch_library_load.
 * out      yours: dlaunch_library_close.
 *
 * The driver's linker does it, or nvJitLink (12.3 or newer) where LTO IR is among
 * the inputs: without that library DLAUNCH_ERROR_UNSUPPORTED says what to install.
 * DLAUNCH_ERROR_IMAGE carries the linker's log. Prototypes that the inputs carry
 * are the library's.
 */
dlaunch_status dlaunch_link(const dlaunch_link_input *inputs, uint32_t num, const dlaunch_library_options *options,
                            dlaunch_library *out, dlaunch_error *err);

/* dlaunch_library_architectures tells what the image has code for, with blanks
 * between: sm_90 for machine code, compute_75 for PTX, lto_90 for LTO IR; of a
 * library that was linked for the GPU, what came of it. "" when it does not say. */
dlaunch_status dlaunch_library_architectures(dlaunch_library library, char *buf, size_t size, size_t *needed,
                                             dlaunch_error *err);

/* dlaunch_library_kernel_count counts the kernels of a library. */
dlaunch_status dlaunch_library_kernel_count(dlaunch_library library, uint32_t *out, dlaunch_error *err);

/* dlaunch_library_kernel_name gives the name of kernel `index`, in the image's
 * order for PTX, else the driver's; past the end is DLAUNCH_ERROR_NOT_FOUND. */
dlaunch_status dlaunch_library_kernel_name(dlaunch_library library, uint32_t index, char *buf, size_t size,
                                           size_t *needed, dlaunch_error *err);

/* dlaunch_library_global gives the address and size in bytes, on one device, of
 * a __device__ or __constant__ variable, which lives as long as the library. It
 * goes by the names that a kernel does (dlaunch_kernel_get). */
dlaunch_status dlaunch_library_global(dlaunch_library library, int32_t device, const char *name, uint64_t *address,
                                      size_t *bytes, dlaunch_error *err);

/* dlaunch_library_global_name gives the symbol of variable `index`; past the end
 * is DLAUNCH_ERROR_NOT_FOUND. DLAUNCH_ERROR_UNSUPPORTED if a part of the image is
 * LTO IR, so that nobody can list them: the driver finds them by name only. */
dlaunch_status dlaunch_library_global_name(dlaunch_library library, uint32_t index, char *buf, size_t size,
                                           size_t *needed, dlaunch_error *err);

/* dlaunch_library_close closes a library. It is unloaded at once if no kernel
 * holds it, which waits for its running kernels; else with its last kernel. */
dlaunch_status dlaunch_library_close(dlaunch_library library, dlaunch_error *err);

/* ----------------------------------------------------------------- kernels */

/*
 * dlaunch_kernel_get looks up a kernel by its name, or by a prototype, and
 * compiles what a launch of it needs.
 *
 * library  a handle from dlaunch_library_load.
 * text     borrowed. `saxpy`, or a prototype, which says what the driver cannot
 *          know and is checked against the kernel here and at every launch:
 *
 *            saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)
 *
 *          Types are bool i8...i64 u8...u64 f16 bf16 f32 f64 c64 c128, b8...b64
 *          for any type of that width, `any`, `ptr`, and bytes(size, align) for a
 *          struct by value. Brackets make a tensor and name its sizes; a size
 *          has one value in a launch. `out` or `inout` before the type says that
 *          the kernel writes; `?` after it allows a null; `= ...` is filled in
 *          and never passed. docs/prototypes.md has the whole grammar.
 *          The name is the kernel's symbol; or what options.names has for one;
 *          or what the source calls it, where that means one kernel only: for
 *          _ZN2ns1fIfLi3EEEvPT_ that is `void ns::f<float, 3>(float*)`, less
 *          `void`, `ns::f<float, 3>`, `ns::f`, or `f`. If it could be several,
 *          DLAUNCH_ERROR_NOT_FOUND lists them.
 *          A name alone takes the prototype that the image carries, if it does:
 *          DLAUNCH_PROTOTYPE in dlaunch_device.cuh leaves one there.
 * out      yours: dlaunch_kernel_close. Each call gives a handle of its own.
 *
 * The kernel keeps its library loaded: the two may be closed in any order, so
 * a garbage-collected caller need not sort its finalizers.
 */
dlaunch_status dlaunch_kernel_get(dlaunch_library library, const char *text, dlaunch_kernel *out, dlaunch_error *err);

/*
 * dlaunch_kernel_from_driver makes a kernel of a CUkernel or CUfunction that came
 * from elsewhere: another library's, or of dlaunch_kernel_native.
 *
 * cukernel_or_cufunction  one of dlaunch's own gives that kernel, which keeps its
 *            library loaded. Any other is borrowed: its library is kept loaded by
 *            you until the kernel is closed and its launches are done.
 * prototype  borrowed; may be NULL or "". Its name, if it has one, must be the
 *            kernel's. Needed where the driver cannot tell the parameters (before 12.4).
 * out        yours: dlaunch_kernel_close.
 *
 * 0, what is not aligned or not memory, and the driver's other handles (a library,
 * a stream, a context) are DLAUNCH_ERROR_HANDLE. A CUfunction is of one context:
 * device numbers of questions about it are not looked at. Beyond the promise:
 * what another library has unloaded. The simulator takes its own kernels.
 */
dlaunch_status dlaunch_kernel_from_driver(void *cukernel_or_cufunction, const char *prototype, dlaunch_kernel *out,
                                          dlaunch_error *err);

/* dlaunch_kernel_native gives the CUkernel (or the CUfunction that the kernel was
 * made of), for other libraries: ours. */
dlaunch_status dlaunch_kernel_native(dlaunch_kernel kernel, uint64_t *out, dlaunch_error *err);

/* dlaunch_kernel_name gives the name that the image has for it; the address, where a
 * driver before 12.3 does not know and no prototype says. */
dlaunch_status dlaunch_kernel_name(dlaunch_kernel kernel, char *buf, size_t size, size_t *needed, dlaunch_error *err);

/* dlaunch_kernel_load readies a kernel for launches on a device. The first launch
 * does it otherwise, which may wait for the GPU, and is best not done in a stream
 * capture: with DLAUNCH_CAPTURE_LOAD=error in the environment it is then
 * DLAUNCH_ERROR_CONFIG (`allow` is the default). */
dlaunch_status dlaunch_kernel_load(dlaunch_kernel kernel, int32_t device, dlaunch_error *err);

/* dlaunch_kernel_prototype gives the prototype that launches are checked by, the
 * caller's or the image's, in dlaunch's spelling and with the kernel's name; ""
 * if there is none. */
dlaunch_status dlaunch_kernel_prototype(dlaunch_kernel kernel, char *buf, size_t size, size_t *needed,
                                        dlaunch_error *err);

typedef struct dlaunch_parameter {
  uint32_t struct_size; /* sizeof(dlaunch_parameter) */
  uint32_t index;
  char name[128];  /* from the prototype, else the PTX; "" when unknown */
  char type[64];   /* as a prototype spells it, else the PTX type; "" when unknown */
  uint64_t offset; /* in the parameter buffer, in bytes */
  uint64_t size;
  uint32_t mode; /* DLAUNCH_IN | DLAUNCH_OUT, or neither when no prototype says; DLAUNCH_BOUND */
  uint32_t reserved;
} dlaunch_parameter;

#define DLAUNCH_PARAMETER_INIT {sizeof(dlaunch_parameter), 0, {0}, {0}, 0, 0, 0, 0}

#define DLAUNCH_BOUND 4u /* mode: dlaunch_kernel_bind has fixed it, and it is passed no more */

/* dlaunch_kernel_parameter describes parameter `index` of the full list, those
 * that `=` fills in included; past the end is DLAUNCH_ERROR_NOT_FOUND. */
dlaunch_status dlaunch_kernel_parameter(dlaunch_kernel kernel, uint32_t index, dlaunch_parameter *out,
                                        dlaunch_error *err);

/*
 * dlaunch_kernel_attribute reads a CUfunction_attribute of a kernel on a device, by
 * its number in cuda.h:
 *
 *    0 the most threads of a block        1 static shared memory of a block
 *    2 constant memory                     3 local memory of a thread
 *    4 registers of a thread               5, 6 architecture of the PTX, of the binary: 10 * major + minor
 *    7 whether global loads were compiled to be cached in L1
 *    8 * limit of dynamic shared memory    9 * preferred share of shared memory, in percent; -1: none
 *   10 whether a cluster must be given    11, 12, 13 * width, height, depth of the required cluster
 *   14 * whether clusters may have more blocks than are portable
 *   15 * how clusters are scheduled
 *
 * Memory is in bytes. An attribute that the driver does not know is
 * DLAUNCH_ERROR_UNSUPPORTED. On the simulator the registers are an estimate.
 */
dlaunch_status dlaunch_kernel_attribute(dlaunch_kernel kernel, int32_t attribute, int32_t device, int32_t *out,
                                        dlaunch_error *err);

/*
 * dlaunch_kernel_set_attribute sets one of those with a star, for every handle of
 * the kernel.
 *
 * Another one is DLAUNCH_ERROR_ARGUMENT; a value that does not fit the kernel or the
 * device DLAUNCH_ERROR_CONFIG; clusters (11 to 15) where the device has none
 * DLAUNCH_ERROR_UNSUPPORTED. A launch raises attribute 8 by itself.
 */
dlaunch_status dlaunch_kernel_set_attribute(dlaunch_kernel kernel, int32_t attribute, int32_t device, int32_t value,
                                            dlaunch_error *err);

/* dlaunch_kernel_close closes a kernel: its number is stale at once; launches
 * that have begun are not harmed. With the last kernel of a closed library that is
 * unloaded, which waits for its running kernels. */
dlaunch_status dlaunch_kernel_close(dlaunch_kernel kernel, dlaunch_error *err);

/* ---------------------------------------------------------------- launches */

#define DLAUNCH_ARG_NONE 0      /* a null pointer, for `?` and `ptr` */
#define DLAUNCH_ARG_TENSOR 1    /* value.tensor */
#define DLAUNCH_ARG_MANAGED 2   /* value.managed */
#define DLAUNCH_ARG_VERSIONED 3 /* value.versioned: the flags are obeyed */
#define DLAUNCH_ARG_INT 4       /* value.i */
#define DLAUNCH_ARG_UINT 5      /* value.u */
#define DLAUNCH_ARG_FLOAT 6     /* value.f */
#define DLAUNCH_ARG_BOOL 7      /* value.u: 0 or 1 */
#define DLAUNCH_ARG_BYTES 8     /* `size` bytes at value.bytes: a struct, a complex, an exact bit pattern */
#define DLAUNCH_ARG_POINTER 9   /* value.u: a device address, taken unchecked */
#define DLAUNCH_ARG_HANDLE 10   /* value.handle: a dlaunch_array or dlaunch_tensor */

#define DLAUNCH_IN 1u    /* flags: a host tensor that the kernel reads ... */
#define DLAUNCH_OUT 2u   /* ... or writes; both: inout */
#define DLAUNCH_WHOLE 4u /* ... and of which it writes every element, and reads none */

typedef struct dlaunch_arg { /* 16 bytes, for ever */
  uint16_t kind;             /* DLAUNCH_ARG_* */
  uint16_t flags;            /* DLAUNCH_IN, DLAUNCH_OUT, DLAUNCH_WHOLE */
  uint32_t size;             /* of BYTES; else 0 */
  union {
    const DLTensor *tensor;
    struct DLManagedTensor *managed;
    struct DLManagedTensorVersioned *versioned;
    int64_t i;
    uint64_t u;
    double f;
    const void *bytes;
    uint64_t handle;
  } value;
} dlaunch_arg;

typedef struct dlaunch_attribute { /* any CUlaunchAttribute of cuda.h: 72 bytes */
  uint32_t id;
  uint32_t reserved;
  uint8_t value[64];
} dlaunch_attribute;

#define DLAUNCH_COOPERATIVE 1u    /* flags: all blocks are resident at once */
#define DLAUNCH_ZERO_GRID_OK 2u   /* flags: a grid of 0 blocks is a launch that does nothing */
#define DLAUNCH_CHECK_POINTERS 4u /* flags: ask the driver about the memory of every tensor */

typedef struct dlaunch_config {
  uint32_t struct_size;                /* sizeof(dlaunch_config) */
  uint32_t grid[3];                    /* in blocks, always; 0 in y or z is 1, in x an error */
  uint32_t block[3];                   /* in threads; the same */
  uint32_t cluster[3];                 /* in blocks; 0 in x: none */
  uint32_t shared_bytes;               /* dynamic shared memory; above 48 KiB is opted into */
  uint32_t flags;                      /* DLAUNCH_COOPERATIVE, DLAUNCH_ZERO_GRID_OK, DLAUNCH_CHECK_POINTERS */
  uint64_t stream;                     /* see below */
  const dlaunch_attribute *attributes; /* borrowed */
  uint32_t num_attributes;             /* at most 14 */
  uint32_t reserved;
} dlaunch_config;

#define DLAUNCH_CONFIG_INIT {sizeof(dlaunch_config), {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0, 0, 0, NULL, 0, 0}

/*
 * A `uint64_t stream`, anywhere in this file, is a CUstream or cudaStream_t as
 * an integer (0 and 1: the legacy default stream; 2: the per-thread one), which
 * is taken unchecked; or a dlaunch_stream.
 */

/*
 * dlaunch_launch checks and packs the arguments and launches the kernel.
 *
 * kernel  from dlaunch_kernel_get.
 * config  borrowed.
 * args    num_args of them, borrowed, one for each parameter that is not filled
 *         in. The tensors' memory is kept alive by you.
 *
 * The launch's device is the stream's if it is a real one, else the first
 * device tensor's, else that of the thread's current context, else 0.
 *
 * A host tensor (kDLCPU) is refused unless it is marked: by the prototype, or by
 * DLAUNCH_IN and DLAUNCH_OUT in its flags; marks add to what the prototype says.
 * It is then copied to the device (also if it is out: a kernel may leave elements
 * as they are; DLAUNCH_WHOLE says that it leaves none) and, if out, back, and the
 * call returns when that is done. Host tensors that overlap are one piece of memory on
 * the device too. Without host tensors nothing waits for the GPU (but the driver does,
 * when some thousand launches are queued; and a launch waits while a library is
 * unloaded). On the simulator host tensors are used in place.
 *
 * With DLAUNCH_CHECK_POINTERS, or DLAUNCH_CHECK=pointers in the environment, the
 * driver is asked about the memory of every tensor (some 70 ns each): memory that
 * was freed, is the host's or another device's, or ends before the tensor does, is
 * DLAUNCH_ERROR_TENSOR.
 *
 * On a stream that is being captured, the launch becomes part of a CUDA graph, which
 * then holds the kernel, the arrays and tensors whose handles are among the
 * arguments, and the arrays in whose memory the other tensors lie (slices, exported
 * ones): they may be closed before the graph runs, and go in a call after it and all
 * that was instantiated from it are destroyed and have run. Other tensors' memory is
 * kept alive by you until then. A host tensor is refused, and a driver without
 * user objects is DLAUNCH_ERROR_UNSUPPORTED.
 *
 * err->argument is the index in args that is at fault.
 */
dlaunch_status dlaunch_launch(dlaunch_kernel kernel, const dlaunch_config *config, const dlaunch_arg *args,
                              uint32_t num_args, dlaunch_error *err);

/* dlaunch_launch_tensors is dlaunch_launch where every argument is a tensor. */
dlaunch_status dlaunch_launch_tensors(dlaunch_kernel kernel, const dlaunch_config *config,
                                      struct DLManagedTensorVersioned *const *tensors, uint32_t num,
                                      dlaunch_error *err);

/* dlaunch_launch_managed is the same for DLPack's unversioned struct. */
dlaunch_status dlaunch_launch_managed(dlaunch_kernel kernel, const dlaunch_config *config,
                                      struct DLManagedTensor *const *tensors, uint32_t num, dlaunch_error *err);

typedef struct dlaunch_call { /* 32 bytes, for ever: one launch of several */
  dlaunch_kernel kernel;
  const dlaunch_config *config;
  const dlaunch_arg *args;
  uint32_t num_args;
  uint32_t reserved; /* 0 */
} dlaunch_call;

/*
 * dlaunch_launch_many does what dlaunch_launch does with each call, in order: what a
 * language pays for a call of C, it pays once. The first that fails is the last.
 *
 * calls     num of them, borrowed with all that they point to. num may be 0.
 * launched  receives how many went, on failure too; may be NULL.
 *
 * err->argument is that of the call at fault, whose index the message begins with.
 */
dlaunch_status dlaunch_launch_many(const dlaunch_call *calls, uint32_t num, uint32_t *launched, dlaunch_error *err);

/* ------------------------------------------------------------------ graphs */

/*
 * dlaunch_graph_create makes a CUDA graph of launches, which dlaunch_graph_launch
 * then starts in one call of the driver.
 *
 * calls  num of them, at least 1, borrowed with all that they point to.
 * out    yours: dlaunch_graph_close.
 *
 * Everything is checked and fixed here: addresses, numbers, configurations. The
 * launches run one after the other; the streams of their configurations say on
 * which device, which is one for all, and no more. The graph holds what a captured
 * launch holds (see dlaunch_launch): kernels and arrays may be closed before it is
 * launched, and other tensors' memory is kept alive by you until it is closed and has run.
 * Host tensors are refused. DLAUNCH_ERROR_UNSUPPORTED where the driver has no
 * graphs that hold (before 11.4). On the simulator a graph is a list of launches.
 */
dlaunch_status dlaunch_graph_create(const dlaunch_call *calls, uint32_t num, dlaunch_graph *out, dlaunch_error *err);

/* dlaunch_graph_launch launches a graph on a stream of its device, which must not be
 * one that is being captured (DLAUNCH_ERROR_UNSUPPORTED). A graph runs once at a
 * time: later launches of it wait on the GPU, on whatever stream. */
dlaunch_status dlaunch_graph_launch(dlaunch_graph graph, uint64_t stream, dlaunch_error *err);

/* dlaunch_graph_close closes a graph: launches that have begun are not harmed. What
 * it held goes in a later call, when they are done. */
dlaunch_status dlaunch_graph_close(dlaunch_graph graph, dlaunch_error *err);

/* --------------------------------------------------------------- occupancy */

/*
 * What this chapter tells is the driver's answer; the simulator computes with the
 * limits of compute capability 9.0. A block of 0 threads, or of more than 2^31 - 1,
 * is DLAUNCH_ERROR_CONFIG. Asking about more dynamic shared memory than is allowed
 * opts the kernel in to it, as a launch would.
 *
 * dlaunch_kernel_max_active_blocks counts the blocks, with `shared` bytes of
 * dynamic shared memory each, that are active on a multiprocessor at once: 0 if
 * not one fits.
 */
dlaunch_status dlaunch_kernel_max_active_blocks(dlaunch_kernel kernel, int32_t device, uint32_t block_threads,
                                                size_t shared, int32_t *out, dlaunch_error *err);

/* dlaunch_kernel_max_potential_block_size gives the threads of a block with which
 * most threads are active, the largest such, if a block of b threads takes shared_base +
 * shared_per_thread * b bytes of dynamic shared memory; and the smallest grid that
 * fills the device. limit: the most threads that are wanted; 0 is any number. If
 * no block fits: DLAUNCH_ERROR_CONFIG. */
dlaunch_status dlaunch_kernel_max_potential_block_size(dlaunch_kernel kernel, int32_t device, size_t shared_base,
                                                       size_t shared_per_thread, uint32_t limit, int32_t *min_grid,
                                                       int32_t *block, dlaunch_error *err);

/* dlaunch_kernel_available_shared_bytes gives the dynamic shared memory that each
 * block may have for `blocks` of them to be active on a multiprocessor: no more
 * than attribute 8 is now. If so many do not fit: DLAUNCH_ERROR_CONFIG. */
dlaunch_status dlaunch_kernel_available_shared_bytes(dlaunch_kernel kernel, int32_t device, uint32_t blocks,
                                                     uint32_t block_threads, size_t *out, dlaunch_error *err);

/* dlaunch_kernel_max_cluster_size gives the most blocks that a cluster may have, in
 * a launch with this configuration: its cluster and stream do not matter.
 * dlaunch_kernel_max_active_clusters counts the clusters of that configuration that
 * are active on the device at once. The configuration is checked as a launch's. Both
 * are DLAUNCH_ERROR_UNSUPPORTED where the device has no clusters. */
dlaunch_status dlaunch_kernel_max_cluster_size(dlaunch_kernel kernel, int32_t device, const dlaunch_config *config,
                                               int32_t *out, dlaunch_error *err);
dlaunch_status dlaunch_kernel_max_active_clusters(dlaunch_kernel kernel, int32_t device, const dlaunch_config *config,
                                                  int32_t *out, dlaunch_error *err);

/* --------------------------------------------------------- bound arguments */

/*
 * dlaunch_kernel_bind makes a new kernel, in which one parameter is fixed, and
 * which is launched without it. Kernels that were made so can be bound again.
 *
 * kernel  stays as it is.
 * index   of the parameter, in the full list, as dlaunch_kernel_parameter counts;
 *         binding renumbers nothing there. Past the end is DLAUNCH_ERROR_NOT_FOUND;
 *         one that `=` fills in, or that is bound, is DLAUNCH_ERROR_ARGUMENT.
 * arg     borrowed. It is checked as a launch checks it, once and for all: what
 *         cannot be told alone (sizes, devices) is checked by each launch against
 *         its other arguments.
 * out     yours: dlaunch_kernel_close.
 *
 * Of a device tensor address, shape and strides are fixed; the contents are not:
 * what is written there later is seen by later launches, and kernels may write
 * to it. One that is given by its handle is held, and may be closed; the memory of
 * any other is kept alive by you, as long as the new kernel, or one that was bound
 * from it, is open or runs. A host tensor (kDLCPU) is copied to the device of the
 * kernel's bound tensors, else the thread's current one, else 0: what is bound is
 * that copy, which does not change; so an out or inout parameter, or a
 * DLAUNCH_OUT, is DLAUNCH_ERROR_ARGUMENT. Bind it after the device tensors.
 *
 * The new kernel keeps the library, and what it holds, until it is closed and its
 * launches are done. err->argument is index, if arg is at fault.
 */
dlaunch_status dlaunch_kernel_bind(dlaunch_kernel kernel, uint32_t index, const dlaunch_arg *arg, dlaunch_kernel *out,
                                   dlaunch_error *err);

/*
 * dlaunch_library_bind binds for all kernels of a library: it writes where a tensor
 * is into a symbol that says so.
 *
 * name  of a __device__ or __constant__ symbol: a pointer (8 bytes), or a
 *       dlaunch::view<T, rank> (8 + 16 * rank bytes), as its size tells.
 * arg   borrowed: a tensor, DLAUNCH_ARG_NONE for a null, or a number that is an
 *       address. Its memory is held or kept alive by you as dlaunch_kernel_bind
 *       says, and a host tensor is copied as there; types are not known, and
 *       not checked.
 *
 * Each device has symbols of its own. That of the tensor's device is written (of
 * memory that has none, the thread's current one, else 0; DLAUNCH_ARG_NONE: all on
 * which something is bound), once the device has done all earlier work, which this
 * waits for. Launches that other threads begin meanwhile may see either. What the
 * symbol held before is let go. What it holds is kept until the library is
 * unloaded, which its kernels put off.
 */
dlaunch_status dlaunch_library_bind(dlaunch_library library, const char *name, const dlaunch_arg *arg,
                                    dlaunch_error *err);

/* ------------------------------------------------------------------ arrays */

/*
 * dlaunch_array_create allocates device memory for a C-contiguous array.
 *
 * shape  ndim extents >= 0, borrowed; may be NULL if ndim is 0. Zero elements
 *        are fine.
 * out    yours: dlaunch_array_close. As a launch argument: DLAUNCH_ARG_HANDLE.
 *
 * The contents are undefined. Types of less than 8 bits are packed. Where memory
 * is short and closed arrays still hold some, this waits for the device's work.
 */
dlaunch_status dlaunch_array_create(int32_t device, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                    dlaunch_array *out, dlaunch_error *err);

/*
 * dlaunch_array_write copies from host to device, dlaunch_array_read back.
 *
 * bytes   must be the array's size.
 * stream  the copy comes after earlier work of this stream.
 *
 * They return when `host` may be reused or read, and are refused while the
 * stream is being captured into a graph.
 */
dlaunch_status dlaunch_array_write(dlaunch_array array, const void *host, size_t bytes, uint64_t stream,
                                   dlaunch_error *err);
dlaunch_status dlaunch_array_read(dlaunch_array array, void *host, size_t bytes, uint64_t stream, dlaunch_error *err);

/* dlaunch_array_tensor describes an array: *out borrows from it, until the array
 * is closed. On the simulator the device is kDLCPU. */
dlaunch_status dlaunch_array_tensor(dlaunch_array array, DLTensor *out, dlaunch_error *err);

/*
 * dlaunch_array_view makes an array of part of another one's memory.
 *
 * dtype        of the view's elements: the bytes are taken as they are.
 * shape        ndim extents >= 0, borrowed; may be NULL if ndim is 0.
 * strides      ndim steps, in elements, also negative or 0, borrowed; NULL: C order.
 * byte_offset  of the view's first element from the array's first, also negative.
 * out          yours: dlaunch_array_close.
 *
 * The view keeps the memory: the array may be closed before it. What would leave the
 * memory is DLAUNCH_ERROR_ARGUMENT. dlaunch_array_write and dlaunch_array_read take
 * views in C order only.
 */
dlaunch_status dlaunch_array_view(dlaunch_array array, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                  const int64_t *strides, int64_t byte_offset, dlaunch_array *out, dlaunch_error *err);

/*
 * dlaunch_array_wait makes a stream wait for all launches that were given the array,
 * or another view of its memory, so far: for those who hand it to another library.
 *
 * The device waits, not the caller, for launches on the legacy default stream and on
 * dlaunch_streams that are open; nothing waits for those on `stream` itself. Other
 * streams cannot be asked, since they may be gone: for launches on them, on the
 * per-thread default stream, on a closed dlaunch_stream, or on more than four streams,
 * the caller waits until the device is idle. (A foreign stream that was destroyed with
 * work in it, and whose number `stream` has been given since, passes for `stream`.)
 *
 * If an order is needed and one of the streams is being captured into a graph, this is
 * DLAUNCH_ERROR_DRIVER: export before the capture. What others did with an exported
 * array is theirs to order. On the simulator there is nothing to wait for.
 */
dlaunch_status dlaunch_array_wait(dlaunch_array array, uint64_t stream, dlaunch_error *err);

/* dlaunch_array_export gives a managed tensor that keeps the array's memory:
 * yours, by its deleter, from any thread. The array may be closed before. A consumer's
 * stream is ordered by dlaunch_array_wait. */
dlaunch_status dlaunch_array_export(dlaunch_array array, struct DLManagedTensorVersioned **out, dlaunch_error *err);

/* dlaunch_array_close closes an array. The memory goes when what was launched
 * with it is done: in this call if it is, else in a later one or dlaunch_drain. */
dlaunch_status dlaunch_array_close(dlaunch_array array, dlaunch_error *err);

/* -------------------------------------------------------- imported tensors */

/*
 * dlaunch_tensor_import takes another library's tensor, in any kind of memory, and
 * gives a handle to it: as a launch argument DLAUNCH_ARG_HANDLE.
 *
 * tensor  not yours any more, whatever the call answers, a NULL `out` included:
 *         dlaunch calls its deleter, once. If the call fails, before it returns.
 *         A NULL deleter is fine.
 * out     yours: dlaunch_tensor_close.
 *
 * The struct is checked here: DLAUNCH_ERROR_TENSOR if it can be no tensor's (a
 * negative extent, elements but no data ...). Whether the tensor fits is checked
 * by each launch, which keeps to what it does for the struct itself: marks of host
 * tensors, streams.
 *
 * Deleters are called by the dlaunch call that finds the tensor unused (a close, a
 * retire, a synchronize, dlaunch_drain ...), on its thread, as the last thing that
 * it does: with no lock held, so a deleter may call dlaunch, and take locks that
 * are not held round such calls. They are never called on a thread of dlaunch's or
 * the driver's, and not once exit() has begun or in a forked child: what is still
 * open then is left to the end of the process.
 */
dlaunch_status dlaunch_tensor_import(struct DLManagedTensor *tensor, dlaunch_tensor *out, dlaunch_error *err);

/* dlaunch_tensor_import_versioned is the same for the versioned struct. READ_ONLY
 * is obeyed: a launch that writes such a tensor is DLAUNCH_ERROR_TENSOR. So is
 * another major version than 1, of which nothing but the deleter is touched. */
dlaunch_status dlaunch_tensor_import_versioned(struct DLManagedTensorVersioned *tensor, dlaunch_tensor *out,
                                               dlaunch_error *err);

/* dlaunch_tensor_close closes a tensor. Its deleter is called when what was
 * launched with it is done: in this call if it is, else in a later one or
 * dlaunch_drain. */
dlaunch_status dlaunch_tensor_close(dlaunch_tensor tensor, dlaunch_error *err);

/* ----------------------------------------------------------------- streams */

#define DLAUNCH_STREAM_NON_BLOCKING 1u /* does not wait for the legacy default stream */

/* dlaunch_stream_create makes a stream on a device. out: yours, by
 * dlaunch_stream_close. */
dlaunch_status dlaunch_stream_create(int32_t device, uint32_t flags, dlaunch_stream *out, dlaunch_error *err);

/*
 * dlaunch_stream_create_with_priority is dlaunch_stream_create for a stream whose
 * waiting blocks go before those of others, or after them.
 *
 * priority  lower numbers go first; 0 is that of all other streams. Outside the
 *           device's range it is DLAUNCH_ERROR_ARGUMENT, and the range is told.
 */
dlaunch_status dlaunch_stream_create_with_priority(int32_t device, uint32_t flags, int32_t priority,
                                                   dlaunch_stream *out, dlaunch_error *err);

/* dlaunch_stream_priorities gives the range: the greatest priority is the lowest
 * number, mostly a negative one. */
dlaunch_status dlaunch_stream_priorities(int32_t device, int32_t *least, int32_t *greatest, dlaunch_error *err);

/* dlaunch_stream_native gives the CUstream, for other libraries: ours. */
dlaunch_status dlaunch_stream_native(dlaunch_stream stream, uint64_t *out, dlaunch_error *err);

/* dlaunch_stream_query sets *done to 1 if the work of a stream is done, and to 0 if
 * not. It does not wait; it reports what went wrong as dlaunch_stream_synchronize
 * does. */
dlaunch_status dlaunch_stream_query(uint64_t stream, int32_t *done, dlaunch_error *err);

/* dlaunch_stream_synchronize waits until the work of a stream is done, and
 * reports what went wrong in it. */
dlaunch_status dlaunch_stream_synchronize(uint64_t stream, dlaunch_error *err);

/* dlaunch_stream_close closes a stream; work that was submitted still runs. */
dlaunch_status dlaunch_stream_close(dlaunch_stream stream, dlaunch_error *err);

/* dlaunch_synchronize waits until all work of a device is done: that of its primary
 * context, and of the calling thread's current context if it is another of the
 * device. */
dlaunch_status dlaunch_synchronize(int32_t device, dlaunch_error *err);

/* ------------------------------------------------------------------ events */

#define DLAUNCH_EVENT_BLOCKING 1u  /* a thread that waits for it sleeps; without, it spins */
#define DLAUNCH_EVENT_NO_TIMING 2u /* it has no time: cheaper where only order is wanted */

/*
 * dlaunch_event_create makes a mark in the work of a device's streams, with a time
 * unless the flags say not.
 *
 * flags  DLAUNCH_EVENT_BLOCKING, DLAUNCH_EVENT_NO_TIMING, or 0.
 * out    yours: dlaunch_event_close.
 */
dlaunch_status dlaunch_event_create(int32_t device, uint32_t flags, dlaunch_event *out, dlaunch_error *err);

/* dlaunch_event_record puts the event behind what a stream of the event's device
 * has been given so far. Recorded again, it stands for the last place only. */
dlaunch_status dlaunch_event_record(dlaunch_event event, uint64_t stream, dlaunch_error *err);

/* dlaunch_event_wait makes what a stream, of any device, is given from now on wait
 * for the place where the event is now. The caller does not wait. An event that was
 * never recorded is passed at once. */
dlaunch_status dlaunch_event_wait(dlaunch_event event, uint64_t stream, dlaunch_error *err);

/* dlaunch_event_synchronize waits until the event is passed: at once if it was
 * never recorded. */
dlaunch_status dlaunch_event_synchronize(dlaunch_event event, dlaunch_error *err);

/* dlaunch_event_query sets *done to 1 if the event is passed, or was never
 * recorded, and to 0 if work before it is still running. It does not wait. */
dlaunch_status dlaunch_event_query(dlaunch_event event, int32_t *done, dlaunch_error *err);

/* dlaunch_event_elapsed gives the time between two events of one device, to about
 * half a microsecond. An event without a time, or never recorded, is
 * DLAUNCH_ERROR_ARGUMENT; one that is not passed yet is DLAUNCH_ERROR_DRIVER with
 * driver code 600 (CUDA_ERROR_NOT_READY). */
dlaunch_status dlaunch_event_elapsed(dlaunch_event start, dlaunch_event end, float *milliseconds, dlaunch_error *err);

/* dlaunch_event_close closes an event; what waits for it still does. */
dlaunch_status dlaunch_event_close(dlaunch_event event, dlaunch_error *err);

/* ---------------------------------------------------------- current device */

/*
 * dlaunch_device_enter makes a device's primary context the calling thread's
 * current one: what has neither a stream nor a tensor to tell the device runs
 * there, and the default streams are that device's.
 *
 * former  receives the context that was current, 0 for none: give it to
 *         dlaunch_device_leave on the same thread. Pairs may be nested.
 */
dlaunch_status dlaunch_device_enter(int32_t device, uint64_t *former, dlaunch_error *err);

/* dlaunch_device_leave makes the former context current again, whatever has become
 * of the device since. It takes what dlaunch_device_enter gave and nothing else. */
dlaunch_status dlaunch_device_leave(uint64_t former, dlaunch_error *err);

/* ------------------------------------------------------------ housekeeping */

/* dlaunch_annotate keeps a text beside a handle of any kind, in place of the one
 * before: where it was made. The log and the reports show it. text: borrowed. */
dlaunch_status dlaunch_annotate(uint64_t handle, const char *text, dlaunch_error *err);

/* dlaunch_disown says that a handle of any kind stays open until the process ends, on
 * purpose: DLAUNCH_LEAK does not count it. It may be used and closed as before. */
dlaunch_status dlaunch_disown(uint64_t handle, dlaunch_error *err);

/* dlaunch_retire closes any handle, without ever waiting: for finalizers. What
 * it leaves behind is done by later calls. */
dlaunch_status dlaunch_retire(uint64_t handle, dlaunch_error *err);

/* dlaunch_drain finishes what closing left: it waits for the work that still
 * uses closed things, and frees them. What a CUDA graph holds stays. */
dlaunch_status dlaunch_drain(dlaunch_error *err);

/*
 * dlaunch_report describes, as JSON, what is alive and what was done:
 *   {"live": {"library": 1, "kernel": 2, ...},
 *    "handles": [{"kind", "handle", "label", "open", "held_by", "created": a time, "origin": as annotated,
 *                 "bytes": on its device, "in_use": true if closed and used by submitted work, "disowned": true}...],
 *    "pending": n, "device_bytes": n, "leaked_bytes": n of a poisoned context,
 *    "device_memory": [address, size] of the simulator,
 *    "launches": {"fast": n, "slow": n, "reasons": {"host tensor": n, ...}}}
 * `pending` counts what is closed and waits for launches, devices or graphs. A
 * launch that a CUDA graph holds is a handle of kind "captured launch", which is never open.
 */
dlaunch_status dlaunch_report(char *buf, size_t size, size_t *needed, dlaunch_error *err);

/* ------------------------------------------------- for the Python package */

/* dlaunch_python_ready says whether CPython's functions were found in this process: 1,
 * or 0, and then none of those below may be called. */
int32_t dlaunch_python_ready(void);

/*
 * dlaunch_python_callable makes a CPython builtin that launches one kernel with
 * one configuration. It is called with the interpreter's lock held (ctypes:
 * PyDLL), in CPython 3.10 or newer.
 *
 * kernel   from dlaunch_kernel_get.
 * config   borrowed; attributes are not supported here.
 * support  a Python tuple that the package makes; see python/src/dlaunch.
 *
 * Gives a new reference, or NULL with a Python exception set; to None where the
 * interpreter differs from what is known: the package then launches through ctypes.
 */
void *dlaunch_python_callable(dlaunch_kernel kernel, const dlaunch_config *config, void *support);

/*
 * dlaunch_python_batch makes a CPython builtin without parameters that does what
 * dlaunch_launch_many does, with the interpreter's lock released. It is called as
 * dlaunch_python_callable is.
 *
 * calls  num of them, kept alive by `owner` with all that they point to.
 * raise  a Python function of status, driver code, argument and message.
 * owner  a Python object, which the builtin keeps.
 *
 * Gives a new reference, or NULL with a Python exception set.
 */
void *dlaunch_python_batch(const dlaunch_call *calls, uint32_t num, void *raise, void *owner);

/*
 * dlaunch_python_capsule makes the PyCapsule that __dlpack__ gives, of DLPack's
 * versioned struct or, if legacy is not 0, of the one before it. It is called
 * as dlaunch_python_callable is.
 *
 * tensor  if owner is NULL or None, yours no more: the capsule's to delete, on
 *         failure too. Else borrowed and copied, and the capsule keeps the
 *         Python object `owner` until it is deleted.
 *
 * Gives a new reference, or NULL as dlaunch_python_callable does.
 */
void *dlaunch_python_capsule(struct DLManagedTensorVersioned *tensor, void *owner, int32_t legacy);

/*
 * dlaunch_python_subscript makes what the package's class Kernel has for
 * __getitem__, and is called as dlaunch_python_callable is.
 *
 * kernel_type  the class, borrowed.
 * known_at     where a Kernel has its dictionary of launchers by key, in bytes.
 *
 * Gives a new reference, to None where Python's own __getitem__ must do.
 */
void *dlaunch_python_subscript(void *kernel_type, int64_t known_at);

#ifdef __cplusplus
}
#endif

#endif /* DLAUNCH_H */
