/*
 * A libcuda.so.1 for the tests of package driver. Each function notes its name and
 * arguments for the thread that called it (stub_note), gives values that the tests
 * know, and answers what stub_answer_with was given, below a register half of junk.
 *
 * Variants, by -D: VERSION, VERSION_ANSWER, INIT_ANSWER and DEVICES give other
 * values; WITHOUT_VERSION, WITHOUT_INIT, WITHOUT_LAUNCH and WITHOUT_OPTIONAL leave
 * functions out; UNRESOLVED makes one that cannot be loaded.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifndef VERSION
#define VERSION 13010
#endif
#ifndef VERSION_ANSWER
#define VERSION_ANSWER 0
#endif
#ifndef INIT_ANSWER
#define INIT_ANSWER 0
#endif
#ifndef DEVICES
#define DEVICES 3
#endif

#define JUNK 0x5eed5eed00000000u
#define ADDRESS 0xfedcba9876543210u
#define SIZE 0x0123456789abcdefu

typedef uint64_t result; /* libcuda's is 32 bits wide: a caller must cut it */

struct note {
  const char *function;
  uint64_t num_args;
  uint64_t args[8];
  char text[64]; /* what an argument pointed to */
};
static _Thread_local struct note last;
static _Thread_local uint64_t answer;

const struct note *stub_note(void) { return &last; }
void stub_answer_with(uint64_t code) { answer = code; }

static result note(const char *function, const uint64_t *args, size_t bytes) {
  last.function = function;
  last.num_args = bytes / sizeof *args;
  memcpy(last.args, args, bytes);
  return JUNK | answer;
}

static void note_text(const char *text) { strncpy(last.text, text, sizeof last.text - 1); }

/* A function, its parameters, what it does, and the arguments to note. */
#define FUNCTION(name, parameters, body, ...) \
  result name parameters {                    \
    const uint64_t args[] = {__VA_ARGS__};    \
    body;                                     \
    return note(#name, args, sizeof args);    \
  }
#define HANDLE(x) (uint64_t)(uintptr_t)(x)

#ifdef UNRESOLVED
void nobody_has_this(void);
void *needed = (void *)nobody_has_this;
#endif

#ifndef WITHOUT_VERSION
result cuDriverGetVersion(int *version) { return *version = VERSION, JUNK | VERSION_ANSWER; }
#endif
#ifndef WITHOUT_INIT
result cuInit(unsigned flags) { return JUNK | (flags == 0 ? INIT_ANSWER : 1); }
#endif
result cuDeviceGetCount(int *n) { return *n = DEVICES, JUNK | answer; }

FUNCTION(cuDeviceGetAttribute, (int *value, int id, int device), *value = -7, id, device)
FUNCTION(cuDevicePrimaryCtxRetain, (uint64_t *context, int device), *context = ADDRESS, device)
FUNCTION(cuCtxGetCurrent, (uint64_t *context), *context = ADDRESS)
FUNCTION(cuCtxSetCurrent, (void *context), , HANDLE(context))
FUNCTION(cuCtxGetDevice, (int *device), *device = 2)
FUNCTION(cuCtxSynchronize, (void), )

FUNCTION(cuLibraryLoadData,
         (uint64_t *library, const char *image, const int *ids, const uint64_t *values, unsigned n, void *library_ids,
          void *library_values, unsigned num_library),
         *library = ADDRESS;
         note_text(image), n, n > 0 ? ids[0] : 0, n > 0 ? values[0] : 0, n > 1 ? ids[1] : 0, n > 1 ? values[1] : 0,
         HANDLE(library_ids), HANDLE(library_values), num_library)
FUNCTION(cuLibraryUnload, (void *library), , HANDLE(library))
FUNCTION(cuLibraryGetKernel, (uint64_t *kernel, void *library, const char *name), *kernel = strlen(name);
         note_text(name), HANDLE(library))
FUNCTION(cuLibraryGetGlobal, (uint64_t *address, size_t *bytes, void *library, const char *name), *address = ADDRESS;
         *bytes = SIZE; note_text(name), HANDLE(library))
FUNCTION(cuKernelGetAttribute, (int *value, int id, void *kernel, int device), *value = -7, id, HANDLE(kernel), device)
FUNCTION(cuKernelSetAttribute, (int id, int value, void *kernel, int device), , id, value, HANDLE(kernel), device)

FUNCTION(cuCtxGetStreamPriorityRange, (int *least, int *greatest), *least = 1; *greatest = -5)
FUNCTION(cuStreamCreateWithPriority, (uint64_t *stream, unsigned flags, int priority), *stream = ADDRESS, flags,
         priority)
FUNCTION(cuStreamDestroy_v2, (void *stream), , HANDLE(stream))
FUNCTION(cuStreamSynchronize, (void *stream), , HANDLE(stream))
FUNCTION(cuStreamQuery, (void *stream), , HANDLE(stream))
FUNCTION(cuStreamGetCtx, (void *stream, uint64_t *context), *context = ADDRESS, HANDLE(stream))
FUNCTION(cuStreamIsCapturing, (void *stream, int *status), *status = stream == NULL ? 0 : 1, HANDLE(stream))
FUNCTION(cuStreamWaitEvent, (void *stream, void *event, unsigned flags), , HANDLE(stream), HANDLE(event), flags)
FUNCTION(cuEventCreate, (uint64_t *event, unsigned flags), *event = ADDRESS, flags)
FUNCTION(cuEventRecord, (void *event, void *stream), , HANDLE(event), HANDLE(stream))
FUNCTION(cuEventQuery, (void *event), , HANDLE(event))
FUNCTION(cuEventSynchronize, (void *event), , HANDLE(event))
FUNCTION(cuEventDestroy_v2, (void *event), , HANDLE(event))
FUNCTION(cuEventElapsedTime, (float *ms, void *start, void *end), *ms = 1.5f, HANDLE(start), HANDLE(end))

FUNCTION(cuMemAlloc_v2, (uint64_t *address, size_t bytes), *address = ADDRESS, bytes)
FUNCTION(cuMemFree_v2, (uint64_t address), , address)
FUNCTION(cuMemAllocAsync, (uint64_t *address, size_t bytes, void *stream), *address = ADDRESS, bytes, HANDLE(stream))
FUNCTION(cuMemFreeAsync, (uint64_t address, void *stream), , address, HANDLE(stream))
FUNCTION(cuMemcpyHtoDAsync_v2, (uint64_t to, void *from, size_t bytes, void *stream), , to, HANDLE(from), bytes,
         HANDLE(stream))
FUNCTION(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t bytes, void *stream), , HANDLE(to), from, bytes,
         HANDLE(stream))

result cuPointerGetAttributes(void) { return JUNK; } /* called by the executor alone, as a launch is */

#ifndef WITHOUT_LAUNCH
result cuLaunchKernelEx(void) { return JUNK; }
#endif

#ifndef WITHOUT_OPTIONAL
FUNCTION(cuLibraryGetKernelCount, (unsigned *n, void *library), *n = 4, HANDLE(library))
FUNCTION(cuLibraryEnumerateKernels, (uint64_t *kernels, unsigned n, void *library),
         for (unsigned i = 0; i < n; i++) kernels[i] = ADDRESS + i, n, HANDLE(library))
FUNCTION(cuKernelGetName, (const char **name, void *kernel), *name = "saxpy", HANDLE(kernel))
FUNCTION(cuKernelGetParamInfo, (void *kernel, size_t index, size_t *offset, size_t *size), *offset = SIZE;
         *size = 24, HANDLE(kernel), index)
FUNCTION(cuKernelGetFunction, (uint64_t *function, void *kernel), *function = ADDRESS, HANDLE(kernel))
FUNCTION(cuFuncGetModule, (uint64_t *module, void *function), *module = ADDRESS, HANDLE(function))
FUNCTION(cuFuncGetAttribute, (int *value, int id, void *function), *value = -7, id, HANDLE(function))
FUNCTION(cuFuncSetAttribute, (void *function, int id, int value), , HANDLE(function), id, value)
FUNCTION(cuKernelGetLibrary, (uint64_t *library, void *kernel), *library = ADDRESS, HANDLE(kernel))
FUNCTION(cuFuncGetName, (const char **name, void *function), *name = "saxpy", HANDLE(function))
FUNCTION(cuFuncGetParamInfo, (void *function, size_t index, size_t *offset, size_t *size), *offset = SIZE;
         *size = 24, HANDLE(function), index)
FUNCTION(cuFuncLoad, (void *function), , HANDLE(function))

FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *n, void *function, int block, size_t shared), *n = -7,
         HANDLE(function), block, shared)
FUNCTION(cuOccupancyAvailableDynamicSMemPerBlock, (size_t *shared, void *function, int blocks, int block),
         *shared = SIZE, HANDLE(function), blocks, block)
FUNCTION(cuOccupancyMaxPotentialClusterSize, (int *n, void *function, void *config), *n = -7, HANDLE(function),
         HANDLE(config))
FUNCTION(cuOccupancyMaxActiveClusters, (int *n, void *function, void *config), *n = -7, HANDLE(function),
         HANDLE(config))

/* What is linked is the account of how: the linker's memory, gone with its state. */
static _Thread_local char linked[64];
#define ACCOUNT(...) snprintf(linked + strlen(linked), sizeof linked - strlen(linked), __VA_ARGS__)
FUNCTION(cuLinkCreate_v2, (unsigned n, const int *ids, const uint64_t *values, uint64_t *state), *state = ADDRESS;
         linked[0] = 0; ACCOUNT("%u %d=%u", n, ids[n - 1], (unsigned)values[n - 1]), n)
FUNCTION(cuLinkAddData_v2,
         (void *state, int kind, const char *data, size_t size, const char *name, unsigned n, void *ids, void *values),
         ACCOUNT(" %d,%u,%s,%d", kind, (unsigned)size, name, data[size - 1]), HANDLE(state), n, HANDLE(ids),
         HANDLE(values))
FUNCTION(cuLinkComplete, (void *state, void **cubin, size_t *size), *cubin = linked;
         *size = strlen(linked), HANDLE(state))
FUNCTION(cuLinkDestroy, (void *state), memset(linked, 'x', sizeof linked - 1), HANDLE(state))
FUNCTION(cuMemHostAlloc, (uint64_t *host, size_t bytes, unsigned flags), *host = ADDRESS, bytes, flags)
FUNCTION(cuMemFreeHost, (void *host), , HANDLE(host))
FUNCTION(cuMemGetInfo_v2, (size_t *unused, size_t *total), *unused = SIZE; *total = ADDRESS)
FUNCTION(cuThreadExchangeStreamCaptureMode, (int *mode), *mode = 1, *mode)
FUNCTION(cuStreamGetCaptureInfo_v2,
         (void *stream, int *status, void *id, uint64_t *graph, void *dependencies, void *num_dependencies),
         *status = HANDLE(stream) & 3;
         *graph = ADDRESS, HANDLE(stream), HANDLE(id), HANDLE(dependencies), HANDLE(num_dependencies))
FUNCTION(cuUserObjectCreate, (uint64_t *object, void *data, void *destroy, unsigned references, unsigned flags),
         *object = ADDRESS, HANDLE(data), HANDLE(destroy), references, flags)
FUNCTION(cuUserObjectRelease, (void *object, unsigned count), , HANDLE(object), count)
FUNCTION(cuGraphRetainUserObject, (void *graph, void *object, unsigned count, unsigned flags), , HANDLE(graph),
         HANDLE(object), count, flags)
FUNCTION(cuStreamBeginCapture_v2, (void *stream, int mode), , HANDLE(stream), mode)
FUNCTION(cuStreamEndCapture, (void *stream, uint64_t *graph), *graph = ADDRESS, HANDLE(stream))
FUNCTION(cuGraphInstantiateWithFlags, (uint64_t *exec, void *graph, uint64_t flags), *exec = ADDRESS, HANDLE(graph),
         flags)
FUNCTION(cuGraphLaunch, (void *exec, void *stream), , HANDLE(exec), HANDLE(stream))
FUNCTION(cuGraphDestroy, (void *graph), , HANDLE(graph))
FUNCTION(cuGraphExecDestroy, (void *exec), , HANDLE(exec))
#endif
