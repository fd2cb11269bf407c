/*
 * A stand-in for libcuda.so.1 whose launches succeed and do nothing: what is left
 * of a launch's cost is dlaunch's own. One device that looks like an H200, driver
 * 13.0. Device memory is the host's. It takes any image, and finds any kernel.
 *
 * For tests: stub_launches() counts launches, and stub_last() points to the
 * packed parameters of the last one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_DEVICE = 101, NOT_SUPPORTED = 801 };

typedef int result;
typedef struct launch_config {
  uint32_t grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  uint32_t num_attributes;
} launch_config;

static char context, library, kernel, stream, event;
static __thread void *current;
static __thread uint64_t launches;
static __thread struct {
  size_t size;
  uint8_t params[4096];
} last;

uint64_t stub_launches(void) { return launches; }
const void *stub_last(void) { return &last; }

result cuInit(unsigned flags) { return flags ? INVALID_VALUE : SUCCESS; }
result cuDriverGetVersion(int *version) {
  *version = 13000;
  return SUCCESS;
}

/* ---- devices and contexts */

result cuDeviceGetCount(int *count) {
  *count = 1;
  return SUCCESS;
}
result cuDeviceGetName(char *name, int size, int device) {
  (void)device;
  strncpy(name, "Stub H200", (size_t)size);
  return SUCCESS;
}
result cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const struct {
    int id, value;
  } table[] = {{1, 1024}, {2, 1024},  {3, 1024},   {4, 64},    {5, 2147483647}, {6, 65535}, {7, 65535},
               {8, 49152}, {10, 32},  {16, 132},   {75, 9},    {76, 0},         {95, 1},    {97, 232448},
               {120, 1}};
  if (device != 0) return INVALID_DEVICE;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (table[i].id == attribute) {
      *value = table[i].value;
      return SUCCESS;
    }
  }
  return INVALID_VALUE;
}
result cuDevicePrimaryCtxRetain(void **out, int device) {
  *out = &context;
  return device ? INVALID_DEVICE : SUCCESS;
}
result cuCtxGetCurrent(void **out) {
  *out = current;
  return SUCCESS;
}
result cuCtxSetCurrent(void *wanted) {
  current = wanted;
  return SUCCESS;
}
result cuCtxGetDevice(int *device) {
  *device = 0;
  return SUCCESS;
}
result cuCtxSynchronize(void) { return SUCCESS; }
result cuCtxGetId(void *which, uint64_t *id) {
  (void)which;
  *id = 1;
  return SUCCESS;
}

/* ---- libraries and kernels */

result cuLibraryLoadData(void **out, const void *image, int *options, void **values, unsigned n, void *a, void *b,
                         unsigned c) {
  (void)image, (void)options, (void)values, (void)n, (void)a, (void)b, (void)c;
  *out = &library;
  return SUCCESS;
}
result cuLibraryUnload(void *which) {
  (void)which;
  return SUCCESS;
}
result cuLibraryGetKernel(void **out, void *which, const char *name) {
  (void)which, (void)name;
  *out = &kernel;
  return SUCCESS;
}
result cuLibraryGetGlobal(uint64_t *address, size_t *bytes, void *which, const char *name) {
  (void)address, (void)bytes, (void)which, (void)name;
  return NOT_SUPPORTED;
}
result cuKernelGetAttribute(int *value, int attribute, void *which, int device) {
  (void)which, (void)device;
  *value = attribute == 0 ? 1024 : attribute == 8 ? 49152 : 0;
  return SUCCESS;
}
result cuKernelSetAttribute(int attribute, int value, void *which, int device) {
  (void)attribute, (void)value, (void)which, (void)device;
  return SUCCESS;
}

/* ---- the launch */

result cuLaunchKernelEx(const launch_config *config, void *function, void **params, void **extra) {
  (void)config, (void)function, (void)params;
  launches++;
  if (extra != NULL && extra[0] == (void *)1) {
    last.size = *(size_t *)extra[3];
    memcpy(last.params, extra[1], last.size < sizeof last.params ? last.size : sizeof last.params);
  }
  return SUCCESS;
}

/* ---- streams and events */

result cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  (void)flags, (void)priority;
  *out = &stream;
  return SUCCESS;
}
result cuStreamGetCtx(void *which, void **out) {
  (void)which;
  *out = &context;
  return SUCCESS;
}
result cuStreamIsCapturing(void *which, int *capturing) {
  (void)which;
  *capturing = 0;
  return SUCCESS;
}
result cuEventCreate(void **out, unsigned flags) {
  (void)flags;
  *out = &event;
  return SUCCESS;
}
result cuEventElapsedTime(float *ms, void *start, void *end) {
  (void)start, (void)end;
  *ms = 0;
  return SUCCESS;
}
#define DOES_NOTHING(name)     \
  result name(void *handle) {  \
    (void)handle;              \
    return SUCCESS;            \
  }
DOES_NOTHING(cuStreamDestroy_v2)
DOES_NOTHING(cuStreamSynchronize)
DOES_NOTHING(cuStreamQuery)
DOES_NOTHING(cuStreamWaitEvent)
DOES_NOTHING(cuEventRecord)
DOES_NOTHING(cuEventQuery)
DOES_NOTHING(cuEventSynchronize)
DOES_NOTHING(cuEventDestroy_v2)
DOES_NOTHING(cuThreadExchangeStreamCaptureMode)

/* ---- memory */

result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  *address = (uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *address ? SUCCESS : 2;
}
result cuMemFree_v2(uint64_t address) {
  free((void *)(uintptr_t)address);
  return SUCCESS;
}
result cuMemAllocAsync(uint64_t *address, size_t bytes, void *on) {
  (void)on;
  return cuMemAlloc_v2(address, bytes);
}
result cuMemFreeAsync(uint64_t address, void *on) {
  (void)on;
  return cuMemFree_v2(address);
}
result cuMemGetInfo_v2(size_t *unused, size_t *total) {
  *unused = *total = (size_t)1 << 37;
  return SUCCESS;
}
result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *on) {
  (void)on;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return SUCCESS;
}
result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on) {
  (void)on;
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return SUCCESS;
}
