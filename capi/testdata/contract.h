/*
 * What the contract programs share. Each is compiled as C99, C11 and C++17, is
 * run as a process of its own as `PROGRAM FOLDER_OF_KERNELS LIBRARY`, and ends
 * with 0 or says on stderr which line did not hold. None knows which driver it
 * runs on.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#ifndef _GNU_SOURCE /* which g++ defines by itself */
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlaunch.h>

#define CHECK(what)                                                      \
  do {                                                                   \
    if (!(what)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
      exit(1);                                                           \
    }                                                                    \
  } while (0)

/* Both use a dlaunch_error named err that is in scope. */
#define OK(call) expect(__FILE__, __LINE__, #call, (call), DLAUNCH_OK, "", &err)
#define REFUSED(wanted, says, call) expect(__FILE__, __LINE__, #call, (call), wanted, says, &err)

static inline void expect(const char *file, int line, const char *call, dlaunch_status got, dlaunch_status wanted,
                          const char *says, dlaunch_error *err) {
  if (got != wanted || (got != DLAUNCH_OK && (err->status != got || strstr(err->message, says) == NULL))) {
    fprintf(stderr, "%s:%d: %s\n  gave %s: %s\n  wanted %s, saying \"%s\"\n", file, line, call,
            dlaunch_status_name(got), got == DLAUNCH_OK ? "" : err->message, dlaunch_status_name(wanted), says);
    exit(1);
  }
  err->status = 0;
  err->argument = -1;
  err->message[0] = 0;
}

#define SAXPY "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)"
#define VECTOR_ADD "vector_add(a: f32[n], b: f32[n], c: out f32[n], n: i32 = n)"

static inline dlaunch_library load_kernels(const char *folder, const char *name) {
  char path[4096];
  dlaunch_library library = 0;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
  OK(dlaunch_library_load_file(path, NULL, &library, &err));
  CHECK(library != 0 && library < (UINT64_C(1) << 53));
  return library;
}

static inline dlaunch_kernel get_kernel(dlaunch_library library, const char *text) {
  dlaunch_kernel kernel = 0;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  OK(dlaunch_kernel_get(library, text, &kernel, &err));
  CHECK(kernel != 0 && kernel < (UINT64_C(1) << 53));
  return kernel;
}

static inline DLDataType dtype_of(int code, int bits) {
  DLDataType dtype;
  dtype.code = (uint8_t)code;
  dtype.bits = (uint8_t)bits;
  dtype.lanes = 1;
  return dtype;
}

static inline dlaunch_array make_array(int64_t n) {
  dlaunch_array array = 0;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  OK(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 1, &n, &array, &err));
  CHECK(array != 0 && array < (UINT64_C(1) << 53));
  return array;
}

/* A host tensor of floats in C order. */
static inline DLTensor host_tensor(float *data, int32_t ndim, int64_t *shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = ndim;
  t.dtype = dtype_of(kDLFloat, 32);
  t.shape = shape;
  return t;
}

static inline dlaunch_arg make_arg(uint16_t kind, uint16_t flags) {
  dlaunch_arg arg;
  memset(&arg, 0, sizeof arg);
  arg.kind = kind;
  arg.flags = flags;
  return arg;
}

static inline dlaunch_arg arg_float(double f) {
  dlaunch_arg arg = make_arg(DLAUNCH_ARG_FLOAT, 0);
  arg.value.f = f;
  return arg;
}

static inline dlaunch_arg arg_int(int64_t i) {
  dlaunch_arg arg = make_arg(DLAUNCH_ARG_INT, 0);
  arg.value.i = i;
  return arg;
}

static inline dlaunch_arg arg_handle(uint64_t handle) {
  dlaunch_arg arg = make_arg(DLAUNCH_ARG_HANDLE, 0);
  arg.value.handle = handle;
  return arg;
}

static inline dlaunch_arg arg_tensor(const DLTensor *tensor, uint16_t flags) {
  dlaunch_arg arg = make_arg(DLAUNCH_ARG_TENSOR, flags);
  arg.value.tensor = tensor;
  return arg;
}

static inline dlaunch_config make_config(uint32_t grid, uint32_t block) {
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  config.grid[0] = grid;
  config.block[0] = block;
  return config;
}

/* The report, in memory of the caller's. It may grow between two calls. */
static inline char *get_report(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  size_t size = 0, needed = 0;
  char *text = NULL;
  OK(dlaunch_report(NULL, 0, &needed, &err));
  do {
    size = needed;
    text = (char *)realloc(text, size);
    CHECK(text != NULL);
  } while (dlaunch_report(text, size, &needed, &err) == DLAUNCH_ERROR_ARGUMENT && needed > size);
  CHECK(needed <= size);
  return text;
}

/* A number of the report that has this key: the first such. */
static inline long report_number(const char *key) {
  char *text = get_report(), *at = strstr(text, key);
  long number;
  CHECK(at != NULL);
  number = strtol(at + strlen(key), NULL, 10);
  free(text);
  return number;
}

/* Nothing is open, and once drained nothing is left of what was. */
static inline void check_nothing_lives(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  char *text;
  OK(dlaunch_drain(&err));
  text = get_report();
  if (strstr(text, "\"live\":{}") == NULL || strstr(text, "\"handles\":[]") == NULL ||
      strstr(text, "\"pending\":0") == NULL || strstr(text, "\"device_bytes\":0") == NULL) {
    fprintf(stderr, "something lives on: %s\n", text);
    exit(1);
  }
  free(text);
}

#endif
