/* What a launch would do, asked without one. */
#include "configure.h"

static int32_t configure(const dl_kernel *kernel, const dlaunch_config *config, int32_t device, dl_configured *to,
                         dl_fault *fault) {
  int32_t reason = check_struct(config, fault);
  if (reason != DL_OK) return reason;
  const dl_limits *limits = &kernel->limits[device];
  if (!atomic_load_explicit(&limits->ready, memory_order_acquire)) return dl_refuse(fault, DL_LIMITS, -1, device, 0);
  memset(to, 0, sizeof *to);
  reason = check_limits(&to->config, config, limits, fault);
  return reason == DL_OK ? gather_attributes(&to->config, config, to->attributes, fault) : reason;
}

int32_t dl_configure(uint64_t kernel, const dlaunch_config *config, int32_t device, dl_configured *to,
                     dl_fault *fault) {
  bool nested;
  dl_thread *thread = dl_enter(&nested);
  if (thread == NULL) return dl_refuse(fault, DL_ATTENTION, -1, 0, 0);
  dl_object *object = dl_kind(kernel) == DL_KIND_KERNEL ? dl_find(kernel) : NULL;
  int32_t reason = object == NULL ? dl_refuse(fault, DL_STALE_KERNEL, -1, (int64_t)kernel, 0)
                                  : configure((const dl_kernel *)object, config, device, to, fault);
  dl_leave(thread, nested);
  return reason;
}

/* The device of the first tensor that decides it. One that does not exist is for
 * dl_put_tensor to refuse. */
static int32_t device_of_tensors(const dl_program *program, const dlaunch_arg *args, uint32_t num_args) {
  if (program->device >= 0) return program->device;
  for (uint32_t i = 0; i < num_args && i < program->num_steps; i++) {
    const DLTensor *t;
    uint64_t flags;
    dl_fault unused;
    if (program->steps[i].flags & DL_PEER || !dl_is_tensor(&args[i])) continue;
    if (dl_tensor_of(&args[i], &t, &flags, &unused) != DL_OK || t->device.device_type != kDLCUDA) continue;
    int32_t device = t->device.device_id;
    if (device >= 0 && device < dl_the_driver.num_devices) return device;
  }
  return -1;
}

int32_t dl_device_of(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                     int32_t *device, dl_fault *fault) {
  bool nested;
  dl_thread *thread = dl_enter(&nested);
  if (thread == NULL) return dl_refuse(fault, DL_ATTENTION, -1, 0, 0);
  dl_object *object = dl_kind(kernel) == DL_KIND_KERNEL ? dl_find(kernel) : NULL;
  int32_t reason;
  if (object == NULL) {
    reason = dl_refuse(fault, DL_STALE_KERNEL, -1, (int64_t)kernel, 0);
  } else {
    uint64_t native;
    int32_t tensors = device_of_tensors(&((dl_kernel *)object)->program, args, num_args);
    reason = choose_device(config, tensors, &native, device, fault);
  }
  dl_leave(thread, nested);
  return reason;
}
