/*
 * The same launch as a function of apache-tvm-ffi: it asks for the stream, takes
 * the tensors' addresses and launches, and checks nothing. Built into
 * libburst_tvm.so against the headers and the library of its wheel.
 */
#include <stdint.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "burst.h"

static int (*driver_launch)(const launch_config *, uint64_t, void **, void **);
static uint64_t kernels[MAX_ARGS + 1]; /* by their number of arguments */

void burst_tvm_prepare(void *launch, uint32_t args, uint64_t kernel) {
  driver_launch = (int (*)(const launch_config *, uint64_t, void **, void **))launch;
  kernels[args] = kernel;
}

int __tvm_ffi_launch(void *self, const TVMFFIAny *args, int32_t num_args, TVMFFIAny *result) {
  uint64_t addresses[MAX_ARGS];
  void *params[MAX_ARGS];
  int32_t device = 0;
  (void)self, (void)result;
  if (num_args > MAX_ARGS) return -1;
  for (int32_t i = 0; i < num_args; i++) {
    const DLTensor *tensor = args[i].v_ptr;
    if (args[i].type_index == kTVMFFITensor) tensor = (const DLTensor *)((char *)args[i].v_obj + sizeof(TVMFFIObject));
    addresses[i] = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    params[i] = &addresses[i];
    device = tensor->device.device_id;
  }
  launch_config config = {{1, 1, 1}, {32, 1, 1}, 0, TVMFFIEnvGetStream(kDLCUDA, device), NULL, 0};
  return driver_launch(&config, kernels[num_args], params, NULL) == 0 ? 0 : -1;
}
