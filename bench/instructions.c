/*
 * Launches for callgrind to count (capi/instructions_test.go): `measured` is
 * called once for each line of instructions.txt, in its order. Linked with a
 * driver that does nothing (bench/stub).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dlaunch.h"

/* cuda.h's, as far as they are needed to have a context current, as programs that use the GPU have. */
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);

enum { MAX_ARGS = 26, LAUNCHES = 100 };

static void check(dlaunch_status status, const dlaunch_error *err) {
  if (status == DLAUNCH_OK) return;
  fprintf(stderr, "%s\n", err->message);
  exit(1);
}

__attribute__((noinline)) void measured(dlaunch_kernel kernel, const dlaunch_config *config, const dlaunch_arg *args,
                                        uint32_t num_args) {
  for (int i = 0; i < LAUNCHES; i++) {
    if (dlaunch_launch(kernel, config, args, num_args, NULL) != DLAUNCH_OK) exit(2);
  }
}

/* A kernel of n parameters of 8 bytes, which the prototype declares to be of one type. */
static dlaunch_kernel get_kernel(uint32_t n, const char *type) {
  char ptx[4096], prototype[1024];
  dlaunch_library library;
  dlaunch_kernel kernel;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int end = sprintf(ptx, ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry args_%u(", n);
  int at = sprintf(prototype, "args_%u(", n);
  for (uint32_t i = 0; i < n; i++) {
    const char *comma = i > 0 ? ", " : "";
    end += sprintf(ptx + end, "%s.param .u64 p%u", comma, i);
    at += sprintf(prototype + at, "%sp%u: %s", comma, i, type);
  }
  sprintf(ptx + end, ")\n{\nret;\n}\n");
  sprintf(prototype + at, ")");
  check(dlaunch_library_load(ptx, strlen(ptx), NULL, &library, &err), &err);
  check(dlaunch_kernel_get(library, prototype, &kernel, &err), &err);
  return kernel;
}

static void launch(uint32_t n, const char *type, uint16_t kind, const uint64_t *values) {
  dlaunch_kernel kernel = get_kernel(n, type);
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  dlaunch_arg args[MAX_ARGS] = {{0}};
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  config.grid[0] = 1;
  config.block[0] = 32;
  for (uint32_t i = 0; i < n; i++) {
    args[i].kind = kind;
    args[i].value.u = values[i];
  }
  check(dlaunch_launch(kernel, &config, args, n, &err), &err); /* which leaves nothing to be done once */
  measured(kernel, &config, args, n);
}

int main(void) {
  static const uint32_t counts[] = {1, 3, MAX_ARGS};
  const DLDataType f32 = {kDLFloat, 32, 1};
  int64_t shape[] = {128};
  DLTensor tensors[MAX_ARGS];
  uint64_t pointers[MAX_ARGS], arrays[MAX_ARGS], integers[MAX_ARGS];
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  void *context;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 3;
  for (uint32_t i = 0; i < MAX_ARGS; i++) {
    check(dlaunch_array_create(0, f32, 1, shape, &arrays[i], &err), &err);
    check(dlaunch_array_tensor(arrays[i], &tensors[i], &err), &err);
    pointers[i] = (uintptr_t)&tensors[i];
    integers[i] = i;
  }
  for (int i = 0; i < 3; i++) launch(counts[i], "f32[n]", DLAUNCH_ARG_TENSOR, pointers);
  for (int i = 0; i < 3; i++) launch(counts[i], "f32[n]", DLAUNCH_ARG_HANDLE, arrays);
  for (int i = 0; i < 3; i++) launch(counts[i], "i64", DLAUNCH_ARG_INT, integers);
  return 0;
}
