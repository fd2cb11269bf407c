/*
 * Bursts of launches, timed from within C: the driver's own call, and dlaunch's,
 * in one process with what is measured from Python, which drives this through
 * ctypes (bursts.py). Built into libburst.so together with burst.cpp.
 */
#define _GNU_SOURCE
#include "burst.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dlaunch.h"

static struct {
  void *context;
  int (*set_current)(void *);
  int (*load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
  int (*get)(uint64_t *, void *, const char *);
  int (*launch)(const launch_config *, uint64_t, void **, void **);
  int (*synchronize)(void);
} driver;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Opens the driver by its own functions, and makes its primary context current. */
int burst_open(const char *libcuda) {
  void *cuda = dlopen(libcuda, RTLD_NOW);
  if (cuda == NULL) return -1;
  int (*init)(unsigned) = dlsym(cuda, "cuInit");
  int (*retain)(void **, int) = dlsym(cuda, "cuDevicePrimaryCtxRetain");
  driver.set_current = dlsym(cuda, "cuCtxSetCurrent");
  driver.load = dlsym(cuda, "cuLibraryLoadData");
  driver.get = dlsym(cuda, "cuLibraryGetKernel");
  driver.launch = dlsym(cuda, "cuLaunchKernelEx");
  driver.synchronize = dlsym(cuda, "cuCtxSynchronize");
  int code = init(0);
  if (code == 0) code = retain(&driver.context, 0);
  return code != 0 ? code : driver.set_current(driver.context);
}

/* Kernels 0 to num - 1 of an image by empty.py, as CUkernels. */
int burst_kernels(const char *ptx, uint32_t args, uint32_t num, uint64_t *out) {
  void *library;
  int code = driver.load(&library, ptx, NULL, NULL, 0, NULL, NULL, 0);
  for (uint32_t i = 0; i < num && code == 0; i++) {
    char name[32];
    snprintf(name, sizeof name, "args_%u_k%u", args, i);
    code = driver.get(&out[i], library, name);
  }
  return code;
}

int burst_launch(const launch_config *config, uint64_t kernel, void **params) {
  return driver.launch(config, kernel, params, NULL);
}

/* ---- bursts: ns a launch, or -1 if one failed */

static uint64_t next_kernel(burst *b) {
  uint64_t kernel = b->kernels[b->next];
  b->next = b->next + 1 < b->num_kernels ? b->next + 1 : 0;
  return kernel;
}

static double burst_raw(burst *b, uint32_t launches) {
  launch_config config = {{1, 1, 1}, {32, 1, 1}, 0, NULL, NULL, 0};
  void *params[MAX_ARGS];
  for (uint32_t i = 0; i < b->num_args; i++) params[i] = (void *)&b->values[i];
  double begin = now();
  for (uint32_t i = 0; i < launches; i++) {
    if (driver.launch(&config, next_kernel(b), params, NULL)) return -1;
  }
  return (now() - begin) / launches;
}

double burst_time(burst *b, uint32_t launches) {
  if (b->kind == RAW) return burst_raw(b, launches);
  int64_t shape[] = {128}, strides[] = {1};
  DLTensor views[MAX_ARGS];
  dlaunch_arg args[MAX_ARGS];
  memset(args, 0, sizeof args);
  for (uint32_t i = 0; i < b->num_args; i++) {
    views[i] = (DLTensor){(void *)(uintptr_t)b->values[i], {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
    args[i].kind = (uint16_t)b->kind;
    if (b->kind == DLAUNCH_ARG_TENSOR) {
      args[i].value.tensor = &views[i];
    } else {
      args[i].value.handle = b->values[i];
    }
  }
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  config.grid[0] = 1;
  config.block[0] = 32;
  double begin = now();
  for (uint32_t i = 0; i < launches; i++) {
    if (dlaunch_launch(next_kernel(b), &config, args, b->num_args, NULL)) return -1;
  }
  return (now() - begin) / launches;
}

/* ---- many threads */

typedef struct worker {
  pthread_t thread;
  pthread_barrier_t *start;
  const burst *burst;
  uint32_t launches;
  double begin, end; /* begin is negative if a launch failed */
} worker;

static void *work(void *of) {
  worker *w = of;
  burst own = *w->burst; /* whose position shares no cache line with another thread's */
  driver.set_current(driver.context);
  int failed = burst_time(&own, 1) < 0; /* warms the thread up */
  pthread_barrier_wait(w->start);
  w->begin = now();
  failed |= burst_time(&own, w->launches) < 0;
  w->end = now();
  if (failed) w->begin = -1;
  return NULL;
}

/* Launches a microsecond of a burst in each of several threads; -1 if one failed. */
double burst_rate(const burst *bursts, uint32_t threads, uint32_t launches) {
  enum { MAX_THREADS = 64 };
  worker workers[MAX_THREADS];
  pthread_barrier_t start;
  uint32_t started = 0;
  if (threads > MAX_THREADS || pthread_barrier_init(&start, NULL, threads)) return -1;
  for (; started < threads; started++) {
    workers[started] = (worker){.start = &start, .burst = &bursts[started], .launches = launches};
    if (pthread_create(&workers[started].thread, NULL, work, &workers[started])) return -1;
  }
  double begin = 1e300, end = 0;
  for (uint32_t i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    if (workers[i].begin < begin) begin = workers[i].begin;
    if (workers[i].end > end) end = workers[i].end;
  }
  pthread_barrier_destroy(&start);
  return begin < 0 ? -1 : 1e3 * launches * threads / (end - begin);
}

/* ---- cold: ms to open the driver, and to load, get and launch for the first time; each in a fresh process */

int burst_cold_driver(const char *libcuda, const char *ptx, double *ms) {
  uint64_t kernel, address = 4096;
  burst first = {.kernels = &kernel, .values = &address, .num_kernels = 1, .num_args = 1, .kind = RAW};
  double begin = now();
  if (burst_open(libcuda)) return -1;
  double opened = now();
  if (burst_kernels(ptx, 1, 1, &kernel) || burst_time(&first, 1) < 0) return -1;
  ms[0] = (opened - begin) / 1e6;
  ms[1] = (now() - opened) / 1e6;
  return driver.synchronize();
}

int burst_cold_dlaunch(const char *ptx, const char *prototype, double *ms) {
  dlaunch_library library;
  dlaunch_kernel kernel;
  dlaunch_array array;
  int64_t shape[] = {128};
  DLDataType f32 = {kDLFloat, 32, 1};
  double begin = now();
  if (dlaunch_array_create(0, f32, 1, shape, &array, NULL)) return -1; /* what it takes to have a context */
  double opened = now();
  burst first = {.kernels = &kernel, .values = &array, .num_kernels = 1, .num_args = 1, .kind = DLAUNCH_ARG_HANDLE};
  if (dlaunch_library_load(ptx, strlen(ptx), NULL, &library, NULL)) return -1;
  if (dlaunch_kernel_get(library, prototype, &kernel, NULL) || burst_time(&first, 1) < 0) return -1;
  ms[0] = (opened - begin) / 1e6;
  ms[1] = (now() - opened) / 1e6;
  return dlaunch_synchronize(0, NULL);
}
