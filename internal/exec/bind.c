/* Binding: an argument packed once and for all, by what packs it in a launch. */
#include "hot.h"

static int32_t bind_now(const dl_kernel *kernel, uint32_t step, uint32_t parameter, const dlaunch_arg *arg,
                        uint8_t *params, int64_t *sizes, dl_bound *bound, dl_fault *fault) {
  dl_pack pack = {.kernel = kernel,
                  .params = params,
                  .sizes = sizes,
                  .stream = DL_NO_STREAM, /* nothing is launched yet */
                  .device = kernel->program.device,
                  .checks_pointers = dl_the_driver.checks & DLAUNCH_CHECK_POINTERS,
                  .ranges = dl_the_driver.memory_size != 0 ? &bound->range : NULL};
  int32_t reason = dl_put_argument(&pack, &kernel->program.steps[step], DL_BOUND | parameter, arg, fault);
  if (reason != DL_OK) return reason;
  bound->device = pack.device;
  bound->num_ranges = pack.num_ranges;
  const DLTensor *t;
  uint64_t flags;
  dl_fault none;
  if (dl_tensor_of(arg, &t, &flags, &none) != DL_OK) return DL_OK; /* a number */
  for (int32_t axis = 0; axis < t->ndim; axis++) {
    if (!dl_stride_of(t, axis, &bound->strides[axis])) {
      return dl_refuse(fault, DL_OVERFLOW, axis, t->shape[axis], 0);
    }
  }
  return DL_OK;
}

int32_t dl_bind(const dl_kernel *kernel, uint32_t step, uint32_t parameter, const dlaunch_arg *arg, uint8_t *params,
                int64_t *sizes, dl_bound *bound, dl_fault *fault) {
  *fault = (dl_fault){.argument = (int32_t)step, .axis = -1};
  bool nested;
  dl_thread *thread = dl_enter(&nested); /* what a handle names stays, as in a launch */
  if (thread == NULL) return dl_refuse(fault, DL_ATTENTION, -1, 0, 0);
  int32_t reason = bind_now(kernel, step, parameter, arg, params, sizes, bound, fault);
  dl_leave(thread, nested);
  return reason;
}
