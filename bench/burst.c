/*
 * Bursts of launches, timed from within C: the driver's own call, and dlaunch's,
 * in one process with what is measured from Python. Built by `make bench` into
 * build/bench/libburst.so; launch_cost.py drives it through ctypes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "dlaunch.h"

enum { MAX_TENSORS = 64 };

typedef struct launch_config { /* CUlaunchConfig */
  uint32_t grid[3], block[3], shared_bytes;
  void *stream, *attributes;
  uint32_t num_attributes;
} launch_config;

typedef int (*launch_function)(const launch_config *, void *, void **, void **);

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The driver's kernel of a PTX image, by its own functions; NULL on failure. */
void *burst_kernel(const char *libcuda, const void *ptx, const char *name) {
  void *cuda = dlopen(libcuda, RTLD_NOW), *library = NULL, *kernel = NULL, *context = NULL;
  if (cuda == NULL) return NULL;
  int (*init)(unsigned) = dlsym(cuda, "cuInit");
  int (*retain)(void **, int) = dlsym(cuda, "cuDevicePrimaryCtxRetain");
  int (*set_current)(void *) = dlsym(cuda, "cuCtxSetCurrent");
  int (*load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned) =
      dlsym(cuda, "cuLibraryLoadData");
  int (*get)(void **, void *, const char *) = dlsym(cuda, "cuLibraryGetKernel");
  if (init(0) || retain(&context, 0) || set_current(context)) return NULL;
  if (load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0)) return NULL;
  return get(&kernel, library, name) ? NULL : kernel;
}

/* ns a launch by cuLaunchKernelEx, with the parameters ready; -1 on failure. */
double burst_raw(const char *libcuda, void *kernel, void *stream, const uint64_t *pointers, uint32_t launches) {
  launch_function launch = (launch_function)dlsym(dlopen(libcuda, RTLD_NOW), "cuLaunchKernelEx");
  launch_config config = {{1, 1, 1}, {32, 1, 1}, 0, stream, NULL, 0};
  void *params[MAX_TENSORS];
  for (int i = 0; i < MAX_TENSORS; i++) params[i] = (void *)&pointers[i];
  double begin = now();
  for (uint32_t i = 0; i < launches; i++) {
    if (launch(&config, kernel, params, NULL)) return -1;
  }
  return (now() - begin) / launches;
}

/* ns a launch by dlaunch_launch on f32[n] tensors; -1 on failure. */
double burst_dlaunch(dlaunch_kernel kernel, uint64_t stream, const uint64_t *pointers, uint32_t tensors,
                     uint32_t launches) {
  int64_t shape[] = {128}, strides[] = {1};
  DLTensor views[MAX_TENSORS];
  dlaunch_arg args[MAX_TENSORS];
  memset(args, 0, sizeof args);
  for (uint32_t i = 0; i < tensors; i++) {
    views[i] = (DLTensor){(void *)(uintptr_t)pointers[i], {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
    args[i].kind = DLAUNCH_ARG_TENSOR;
    args[i].value.tensor = &views[i];
  }
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  config.grid[0] = 1;
  config.block[0] = 32;
  config.stream = stream;
  double begin = now();
  for (uint32_t i = 0; i < launches; i++) {
    if (dlaunch_launch(kernel, &config, args, tensors, NULL)) return -1;
  }
  return (now() - begin) / launches;
}

/* An empty METH_FASTCALL builtin: what calling anything from Python costs. */
typedef struct method_def {
  const char *name;
  void *function;
  int flags;
  const char *doc;
} method_def;

static void (*increase)(void *);
static void *none;

static void *do_nothing(void *self, void *const *args, long count) {
  (void)self, (void)args, (void)count;
  increase(none);
  return none;
}

void *burst_empty_builtin(void) {
  enum { METH_FASTCALL = 0x80 };
  static method_def method = {"nothing", (void *)do_nothing, METH_FASTCALL, NULL};
  void *(*make)(method_def *, void *, void *) = dlsym(RTLD_DEFAULT, "PyCFunction_NewEx");
  increase = dlsym(RTLD_DEFAULT, "Py_IncRef");
  none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
  return make && increase && none ? make(&method, NULL, NULL) : NULL;
}
