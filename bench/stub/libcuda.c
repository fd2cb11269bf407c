/*
 * A stand-in for libcuda.so.1 whose launches succeed and do nothing: what is left
 * of a launch's cost is dlaunch's own. Built as libcuda.so.1 in a folder of its
 * own, it is used with DLAUNCH_DRIVER=cuda and that folder on LD_LIBRARY_PATH:
 *
 *   gcc -O2 -Wall -Werror -shared -fPIC bench/stub/libcuda.c -o FOLDER/libcuda.so.1
 *
 * It is driver 13.0 with one device that looks like an H200, and whose memory is
 * the host's. It takes any image, and does not look into it. cuLibraryGetKernel
 * finds a kernel of any name, and the name says what parameters
 * cuKernelGetParamInfo tells of it. Its words, between `_`, are:
 *
 *   args_N                    N parameters of 8 bytes
 *   ptr                       one of 8 bytes
 *   bool                      one of 1 byte
 *   i32, u8, f64, b128, ...   one of that many bits: 8, 16, 32, 64 or 128
 *   any other                 nothing
 *
 * Each lies at the next multiple of its size: args_26 has 26 pointers, scalar_i32
 * an int, and saxpy_f32_ptr_ptr_i64 four parameters at 0, 8, 16 and 24.
 *
 * For tests: stub_launch_count() counts the launches of the process, and
 * stub_last_launch() gives what the calling thread's last one was given.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  SUCCESS = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_DEVICE = 101,
  INVALID_CONTEXT = 201,
  NOT_FOUND = 500,
  NOT_SUPPORTED = 801,
};

enum { STATIC_SHARED = 48 << 10, MOST_SHARED = 227 << 10, MOST_PARAMETER_BYTES = 32764 };

typedef int result;

static char the_context; /* its address is the primary context */
static _Thread_local void *current;
static _Thread_local int capture_mode;

/* ---- the launch */

typedef struct launch_config { /* CUlaunchConfig */
  uint32_t grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  uint32_t num_attributes;
} launch_config;

typedef struct stub_launch {
  launch_config config;
  void *function;
  size_t size; /* of the packed parameters; 0 where there were none, or an array of pointers */
  uint8_t parameters[MOST_PARAMETER_BYTES];
} stub_launch;

/* Threads share no cache line, or they would not scale. */
static struct {
  _Alignas(64) _Atomic uint64_t launches;
} counters[64];

static _Thread_local _Atomic uint64_t *launches;
static _Thread_local stub_launch last;

static void count_launch(void) {
  static _Atomic unsigned threads;
  const unsigned num = sizeof counters / sizeof *counters;
  if (launches == NULL) launches = &counters[atomic_fetch_add(&threads, 1) % num].launches;
  atomic_fetch_add_explicit(launches, 1, memory_order_relaxed);
}

uint64_t stub_launch_count(void) {
  uint64_t sum = 0;
  for (unsigned i = 0; i < sizeof counters / sizeof *counters; i++) {
    sum += atomic_load_explicit(&counters[i].launches, memory_order_relaxed);
  }
  return sum;
}

const stub_launch *stub_last_launch(void) { return &last; }

/* Streams 0, 1 and 2 are the current context's. */
static int needs_context(const void *stream) { return (uintptr_t)stream <= 2; }

result cuLaunchKernelEx(const launch_config *config, void *function, void **parameters, void **extra) {
  const void *buffer = last.parameters; /* of none, where the list names none */
  size_t size = 0;
  if (config == NULL || (parameters != NULL && extra != NULL)) return INVALID_VALUE;
  if (current == NULL && needs_context(config->stream)) return INVALID_CONTEXT;
  if (extra != NULL) { /* {1, buffer, 2, &size, 0} */
    for (; *extra != NULL; extra += 2) {
      if (*extra == (void *)1) buffer = extra[1];
      if (*extra == (void *)2) size = *(const size_t *)extra[1];
    }
    if (buffer == NULL || size > MOST_PARAMETER_BYTES) return INVALID_VALUE;
    memmove(last.parameters, buffer, size);
  }
  last.config = *config;
  last.function = function;
  last.size = size;
  count_launch();
  return SUCCESS;
}

/* ---- devices and contexts */

result cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }

static result give(int *to, int value) {
  *to = value;
  return SUCCESS;
}

result cuDriverGetVersion(int *version) { return give(version, 13000); }

result cuDeviceGetCount(int *count) { return give(count, 1); }

result cuDeviceGetName(char *name, int size, int device) {
  if (device != 0) return INVALID_DEVICE;
  if (size <= 0) return INVALID_VALUE;
  strncpy(name, "Stub H200", (size_t)size - 1);
  name[size - 1] = 0;
  return SUCCESS;
}

result cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (device != 0) return INVALID_DEVICE;
  switch (attribute) {
    case 1: /* threads a block: all, along x, along y, along z */
    case 2:
    case 3:
      return give(value, 1024);
    case 4:
      return give(value, 64);
    case 5: /* blocks a grid: along x, along y, along z */
      return give(value, INT32_MAX);
    case 6:
    case 7:
      return give(value, 65535);
    case 8: /* shared memory a block: at once, and after opting in */
      return give(value, STATIC_SHARED);
    case 97:
      return give(value, MOST_SHARED);
    case 10: /* threads a warp */
      return give(value, 32);
    case 16: /* multiprocessors */
      return give(value, 132);
    case 75: /* compute capability 9.0 */
      return give(value, 9);
    case 76:
      return give(value, 0);
    case 95: /* cooperative launches, clusters */
    case 120:
      return give(value, 1);
  }
  return INVALID_VALUE;
}

result cuDevicePrimaryCtxRetain(void **context, int device) {
  if (device != 0) return INVALID_DEVICE;
  *context = &the_context;
  return SUCCESS;
}

result cuCtxGetCurrent(void **context) {
  *context = current;
  return SUCCESS;
}

result cuCtxSetCurrent(void *context) {
  if (context != NULL && context != &the_context) return INVALID_CONTEXT;
  current = context;
  return SUCCESS;
}

result cuCtxGetDevice(int *device) {
  *device = 0;
  return current != NULL ? SUCCESS : INVALID_CONTEXT;
}

result cuCtxSynchronize(void) { return current != NULL ? SUCCESS : INVALID_CONTEXT; }

/* ---- libraries and kernels */

typedef struct kernel {
  struct kernel *next; /* of its library */
  _Atomic int shared;  /* dynamic shared memory that it has opted in to */
  char name[];
} kernel;

typedef struct library {
  kernel *kernels; /* those that were asked for */
} library;

static pthread_mutex_t kernels_lock = PTHREAD_MUTEX_INITIALIZER;

result cuLibraryLoadData(void **out, const void *image, int *options, void **values, unsigned num_options,
                         int *library_options, void **library_values, unsigned num_library_options) {
  (void)options, (void)values, (void)num_options;
  (void)library_options, (void)library_values, (void)num_library_options;
  if (image == NULL) return INVALID_VALUE;
  *out = calloc(1, sizeof(library));
  return *out != NULL ? SUCCESS : OUT_OF_MEMORY;
}

result cuLibraryUnload(void *handle) {
  library *unloaded = handle;
  while (unloaded->kernels != NULL) {
    kernel *next = unloaded->kernels->next;
    free(unloaded->kernels);
    unloaded->kernels = next;
  }
  free(unloaded);
  return SUCCESS;
}

static kernel *find_kernel(library *of, const char *name) {
  kernel *found = of->kernels;
  while (found != NULL && strcmp(found->name, name) != 0) found = found->next;
  if (found != NULL) return found;
  found = malloc(sizeof *found + strlen(name) + 1);
  if (found == NULL) return NULL;
  strcpy(found->name, name);
  found->shared = STATIC_SHARED;
  found->next = of->kernels;
  return of->kernels = found;
}

result cuLibraryGetKernel(void **out, void *of, const char *name) {
  pthread_mutex_lock(&kernels_lock);
  *out = find_kernel(of, name);
  pthread_mutex_unlock(&kernels_lock);
  return *out != NULL ? SUCCESS : OUT_OF_MEMORY;
}

/* A CUfunction is the kernel itself. */
result cuKernelGetFunction(void **out, void *kernel) {
  *out = kernel;
  return SUCCESS;
}

/* It links nothing. */
result cuLinkCreate_v2(void) { return NOT_SUPPORTED; }
result cuLinkAddData_v2(void) { return NOT_SUPPORTED; }
result cuLinkComplete(void) { return NOT_SUPPORTED; }
result cuLinkDestroy(void) { return NOT_SUPPORTED; }

/* It knows of no kernel before it is asked for one by name. */
result cuLibraryGetKernelCount(unsigned *count, void *of) {
  (void)of;
  *count = 0;
  return SUCCESS;
}

result cuLibraryEnumerateKernels(void **kernels, unsigned count, void *of) {
  (void)kernels, (void)count, (void)of;
  return SUCCESS;
}

result cuLibraryGetGlobal(uint64_t *address, size_t *bytes, void *of, const char *name) {
  (void)address, (void)bytes, (void)of, (void)name;
  return NOT_FOUND;
}

result cuKernelGetName(const char **name, const kernel *of) {
  *name = of->name;
  return SUCCESS;
}

/* The bytes of the parameter that a word says; 0 for none. */
static size_t parameter_bytes(const char *word, size_t length) {
  char *end;
  if (length == 3 && memcmp(word, "ptr", 3) == 0) return 8;
  if (length == 4 && memcmp(word, "bool", 4) == 0) return 1;
  if (length < 2 || strchr("iufb", *word) == NULL) return 0;
  unsigned long bits = strtoul(word + 1, &end, 10);
  if (end != word + length) return 0;
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? bits / 8 : 0;
}

result cuKernelGetParamInfo(const kernel *of, size_t index, size_t *offset, size_t *size) {
  size_t before = 0, end = 0; /* parameters so far, and where they end */
  if (current == NULL) return INVALID_CONTEXT;
  for (const char *word = of->name; *word != 0;) {
    size_t length = strcspn(word, "_"), bytes = parameter_bytes(word, length), count = 1;
    const char *next = word + length + (word[length] == '_');
    if (length == 4 && memcmp(word, "args", 4) == 0) {
      char *after;
      bytes = 8;
      count = strtoul(next, &after, 10);
      next = after + (*after == '_');
    }
    word = next;
    if (bytes == 0) continue;
    size_t begin = (end + bytes - 1) / bytes * bytes;
    if (index < before + count) {
      *offset = begin + (index - before) * bytes;
      *size = bytes;
      return SUCCESS;
    }
    before += count;
    if (count > 0) end = begin + count * bytes;
  }
  return INVALID_VALUE;
}

result cuKernelGetAttribute(int *value, int attribute, kernel *of, int device) {
  if (device != 0) return INVALID_DEVICE;
  return give(value, attribute == 0 ? 1024 : attribute == 8 ? of->shared : 0);
}

result cuKernelSetAttribute(int attribute, int value, kernel *of, int device) {
  if (device != 0) return INVALID_DEVICE;
  if (attribute != 8) return SUCCESS;
  if (value < 0 || value > MOST_SHARED) return INVALID_VALUE;
  of->shared = value;
  return SUCCESS;
}

/* ---- streams and events: each is memory of its own, so that memory checkers see one that is used too late */

static result new_handle(void **out) {
  *out = malloc(1);
  return *out != NULL ? SUCCESS : OUT_OF_MEMORY;
}

static result free_handle(void *handle) {
  free(handle);
  return SUCCESS;
}

result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return current != NULL ? SUCCESS : INVALID_CONTEXT;
}

result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  (void)flags, (void)priority;
  return current != NULL ? new_handle(stream) : INVALID_CONTEXT;
}

result cuStreamDestroy_v2(void *stream) { return free_handle(stream); }

result cuStreamSynchronize(void *stream) {
  return current == NULL && needs_context(stream) ? INVALID_CONTEXT : SUCCESS;
}

result cuStreamQuery(void *stream) { return cuStreamSynchronize(stream); }

/* All memory is one allocation of the device's: what is not asked for here stays 0. */
result cuPointerGetAttributes(unsigned count, const int *ids, void **to, uint64_t address) {
  (void)address;
  for (unsigned i = 0; i < count; i++) {
    if (ids[i] == 1) *(void **)to[i] = &the_context;
    if (ids[i] == 2) *(unsigned *)to[i] = 2; /* CU_MEMORYTYPE_DEVICE */
    if (ids[i] == 12) *(uint64_t *)to[i] = UINT64_MAX;
  }
  return SUCCESS;
}

result cuStreamGetCtx(void *stream, void **context) {
  if (current == NULL && needs_context(stream)) return INVALID_CONTEXT;
  *context = &the_context;
  return SUCCESS;
}

result cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
  (void)stream, (void)event, (void)flags;
  return SUCCESS;
}

result cuThreadExchangeStreamCaptureMode(int *mode) {
  int former = capture_mode;
  if (*mode < 0 || *mode > 2) return INVALID_VALUE;
  capture_mode = *mode;
  *mode = former;
  return SUCCESS;
}

result cuEventCreate(void **event, unsigned flags) {
  (void)flags;
  return current != NULL ? new_handle(event) : INVALID_CONTEXT;
}

result cuEventDestroy_v2(void *event) { return free_handle(event); }

result cuEventRecord(void *event, void *stream) {
  (void)event, (void)stream;
  return SUCCESS;
}

result cuEventQuery(void *event) {
  (void)event;
  return SUCCESS;
}

result cuEventSynchronize(void *event) {
  (void)event;
  return SUCCESS;
}

result cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  (void)start, (void)end;
  *milliseconds = 0;
  return SUCCESS;
}

/* ---- graphs */

#include "graphs.h"

/* ---- memory */

static result allocate(uint64_t *address, size_t bytes) {
  const size_t align = 256;
  if (bytes == 0) return INVALID_VALUE;
  if (bytes > SIZE_MAX - align) return OUT_OF_MEMORY;
  *address = (uintptr_t)aligned_alloc(align, (bytes + align - 1) / align * align);
  return *address != 0 ? SUCCESS : OUT_OF_MEMORY;
}

result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return current != NULL ? allocate(address, bytes) : INVALID_CONTEXT;
}

result cuMemFree_v2(uint64_t address) { return free_handle((void *)(uintptr_t)address); }

result cuMemAllocAsync(uint64_t *address, size_t bytes, void *stream) {
  if (current == NULL && needs_context(stream)) return INVALID_CONTEXT;
  return allocate(address, bytes);
}

result cuMemFreeAsync(uint64_t address, void *stream) {
  (void)stream;
  return cuMemFree_v2(address);
}

result cuMemHostAlloc(void **host, size_t bytes, unsigned flags) {
  uint64_t address = 0;
  (void)flags;
  result answer = cuMemAlloc_v2(&address, bytes);
  *host = (void *)(uintptr_t)address;
  return answer;
}

result cuMemFreeHost(void *host) { return free_handle(host); }

result cuMemGetInfo_v2(size_t *available, size_t *total) {
  *total = (size_t)141 << 30;
  *available = *total;
  return current != NULL ? SUCCESS : INVALID_CONTEXT;
}

result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  (void)stream;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}

result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  (void)stream;
  memcpy(to, (const void *)(uintptr_t)from, bytes);
  return SUCCESS;
}
