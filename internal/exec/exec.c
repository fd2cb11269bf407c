/* One launch, from a handle and arguments to the driver's call. */
#include "plain.h"

#include <alloca.h>
#include <string.h>

dl_driver dl_the_driver;

enum { CAPTURE_ACTIVE = 1 }; /* CUstreamCaptureStatus */
enum { CAPTURED = -1 };      /* in place of a CUresult */
/* CU_LAUNCH_PARAM_* keys of the `extra` list */
#define PARAM_END ((void *)0)
#define PARAM_BUFFER ((void *)1)
#define PARAM_SIZE ((void *)2)

enum { LEGACY_STREAMS = 1, DEFAULT_STREAMS = 2, SMALL_PARAMS = 4096, LARGE_PARAMS = 32768 };

/* ---------------------------------------------------------------- arguments */

static bool is_tensor(const dlaunch_arg *arg) {
  return (arg->kind >= DLAUNCH_ARG_TENSOR && arg->kind <= DLAUNCH_ARG_VERSIONED) || arg->kind == DLAUNCH_ARG_HANDLE;
}

static int64_t packed_integer(const uint8_t *at, uint8_t format, uint32_t width) {
  uint64_t value = dl_load(at, width);
  if (format == DL_FORMAT_SIGNED && width < 8) {
    uint32_t unused = 64 - 8 * width;
    return (int64_t)(value << unused) >> unused;
  }
  return (int64_t)value;
}

__attribute__((noinline)) int32_t dl_put_argument(dl_pack *pack, const dl_step *step, uint32_t index,
                                                  const dlaunch_arg *arg, dl_fault *fault) {
  uint8_t *to = pack->params + step->offset;
  int32_t reason = DL_KIND;
  const uint32_t marks = DLAUNCH_IN | DLAUNCH_OUT | DLAUNCH_WHOLE;
  if (__builtin_expect(arg->flags & ~marks, 0)) return dl_refuse(fault, DL_FLAGS, -1, arg->flags & ~marks, 0);
  if (is_tensor(arg)) {
    if (step->op == DL_OP_TENSOR || step->format == DL_FORMAT_ADDRESS) {
      return dl_put_tensor(pack, step, index, arg, fault);
    }
  } else if (arg->kind == DLAUNCH_ARG_NONE) {
    bool nullable = step->flags & DL_NULLABLE || step->format == DL_FORMAT_ADDRESS;
    if (!nullable) return dl_refuse(fault, DL_NULL, -1, 0, 0);
    memset(to, 0, step->size);
    return DL_OK;
  } else if (arg->kind == DLAUNCH_ARG_POINTER) {
    if (step->format == DL_FORMAT_ADDRESS) {
      memcpy(to, &arg->value.u, sizeof arg->value.u);
      return DL_OK;
    }
  } else if (step->op != DL_OP_TENSOR || arg->kind == DLAUNCH_ARG_BYTES) {
    reason = dl_put_scalar(to, step->format, step->size, arg);
  }
  if (reason == DL_OK && step->flags & DL_MULTIPLE) {
    int64_t value = packed_integer(to, step->format, step->size);
    int64_t multiple = pack->kernel->program.dims[step->dims].value;
    uint64_t rest =
        step->format == DL_FORMAT_UNSIGNED ? (uint64_t)value % (uint64_t)multiple : (uint64_t)(value % multiple);
    if (rest != 0) return dl_refuse(fault, DL_NOT_MULTIPLE, -1, value, multiple);
  }
  if (reason == DL_OK) return DL_OK;
  return reason == DL_BYTES ? dl_refuse(fault, reason, -1, arg->size, step->size)
                            : dl_refuse(fault, reason, -1, arg->kind, 0);
}

static int32_t put_derived(dl_pack *pack, const dlaunch_arg *args, uint32_t which, dl_fault *fault) {
  const dl_program *program = &pack->kernel->program;
  const dl_derived *derived = &program->derived[which];
  if (derived->is_scratch) {
    if (pack->scratch == NULL) return dl_refuse(fault, DL_SCRATCH, (int32_t)which, 0, 0);
    memcpy(pack->params + derived->offset, &pack->scratch[which], sizeof pack->scratch[which]);
    return DL_OK;
  }
  int64_t value = derived->factor;
  for (uint32_t i = 0; i < derived->num_terms; i++) {
    const dl_term *term = &program->terms[derived->terms + i];
    int64_t factor = 0;
    if (term->kind == DL_TERM_SIZE) {
      factor = pack->sizes[term->index];
      if (factor < 0) return dl_refuse(fault, DL_UNBOUND, (int32_t)which, term->index, 0);
    } else if (term->kind == DL_TERM_PARAMETER) {
      factor = packed_integer(pack->params + term->offset, term->format, term->width);
      if (term->format == DL_FORMAT_UNSIGNED && factor < 0) {
        return dl_refuse(fault, DL_DERIVED_OVERFLOW, (int32_t)which, 0, 0);
      }
    } else {
      const DLTensor *t;
      uint64_t flags;
      if (args[term->index].kind != DLAUNCH_ARG_NONE) { /* a null tensor's strides are 0 */
        int32_t reason = dl_tensor_of(&args[term->index], &t, &flags, fault);
        if (reason != DL_OK) return reason;
        if (!dl_stride_of(t, (int32_t)term->width, &factor))
          return dl_refuse(fault, DL_DERIVED_OVERFLOW, (int32_t)which, 0, 0);
      }
    }
    if (__builtin_mul_overflow(value, factor, &value)) {
      return dl_refuse(fault, DL_DERIVED_OVERFLOW, (int32_t)which, 0, 0);
    }
  }
  if (dl_put_integer(pack->params + derived->offset, derived->format, derived->size, value) != DL_OK) {
    return dl_refuse(fault, DL_DERIVED_RANGE, (int32_t)which, value, 0);
  }
  if (derived->multiple != 0 && value % derived->multiple != 0) {
    return dl_refuse(fault, DL_DERIVED_MULTIPLE, (int32_t)which, value, derived->multiple);
  }
  return DL_OK;
}

static int32_t put_all(dl_pack *pack, const dlaunch_arg *args, uint32_t num_args, dl_fault *fault) {
  const dl_program *program = &pack->kernel->program;
  if (num_args != program->num_steps) return dl_refuse(fault, DL_COUNT, -1, num_args, program->num_steps);
  if (num_args != 0 && args == NULL) return dl_refuse(fault, DL_ARGUMENTS, -1, num_args, 0);
  if (program->has_constants) memcpy(pack->params, program->params, program->params_size);
  for (uint32_t i = 0; i < program->num_sizes; i++) {
    pack->sizes[i] = program->sizes[i];
    __asm__("" ::: "memory"); /* a few words: no call of memcpy */
  }
  uint16_t short_way = pack->ranges == NULL && !pack->checks_pointers ? DL_PLAIN : 0;
  if (__builtin_expect(pack->kernel->use != NULL, 0)) {
    pack->has_arrays = true;
    dl_remember_stream(pack->kernel->use, pack->stream);
  }
  for (uint32_t i = 0; i < num_args; i++) {
    const dl_step *step = &program->steps[i];
    if (step->flags & short_way && dl_put_plain(pack, step, &args[i])) continue;
    int32_t reason = dl_put_argument(pack, step, i, &args[i], fault);
    if (__builtin_expect(reason != DL_OK, 0)) {
      fault->argument = (int32_t)i;
      return reason;
    }
  }
  for (uint32_t i = 0; i < program->num_derived; i++) {
    int32_t reason = put_derived(pack, args, i, fault);
    if (reason != DL_OK) return reason;
  }
  return DL_OK;
}

/* ------------------------------------------------------------ configuration */

static int32_t check_struct(const dlaunch_config *config, dl_fault *fault) {
  const uint32_t known = DLAUNCH_COOPERATIVE | DLAUNCH_ZERO_GRID_OK | DLAUNCH_CHECK_POINTERS;
  if (config == NULL) return dl_refuse(fault, DL_CONFIG, -1, -1, sizeof *config);
  if (config->struct_size < sizeof *config) {
    return dl_refuse(fault, DL_CONFIG, -1, config->struct_size, sizeof *config);
  }
  if (config->flags & ~known || config->reserved != 0)
    return dl_refuse(fault, DL_CONFIG_BITS, -1, config->flags & ~known, 0);
  return DL_OK;
}

/* Which limit it is that a configuration does not keep. */
static __attribute__((noinline)) int32_t refuse_limits(const dl_launch_config *config, bool zero_grid_ok,
                                                       const dl_limits *limits, uint32_t shared, dl_fault *fault) {
  for (int32_t axis = 0; axis < 3; axis++) {
    uint32_t grid = config->grid[axis], block = config->block[axis];
    if (grid > limits->grid[axis] || (grid == 0 && !zero_grid_ok)) {
      return dl_refuse(fault, DL_GRID, axis, grid, limits->grid[axis]);
    }
    if (block > limits->block[axis] || block == 0) return dl_refuse(fault, DL_BLOCK, axis, block, limits->block[axis]);
  }
  uint64_t threads = (uint64_t)config->block[0] * config->block[1] * config->block[2];
  if (threads > limits->threads) return dl_refuse(fault, DL_BLOCK, -1, (int64_t)threads, limits->threads);
  return dl_refuse(fault, DL_SHARED, -1, config->shared_bytes, shared);
}

/* One branch for all limits. */
static int32_t check_limits(dl_launch_config *out, const dlaunch_config *config, const dl_limits *limits,
                            dl_fault *fault) {
  const uint32_t *grid = config->grid, *block = config->block;
  out->grid[0] = grid[0];
  out->grid[1] = grid[1] + (grid[1] == 0); /* 0 in y or z reads as 1 */
  out->grid[2] = grid[2] + (grid[2] == 0);
  out->block[0] = block[0];
  out->block[1] = block[1] + (block[1] == 0);
  out->block[2] = block[2] + (block[2] == 0);
  out->shared_bytes = config->shared_bytes;
  uint64_t threads = (uint64_t)out->block[0] * out->block[1] * out->block[2]; /* may wrap: then an axis is too long */
  uint32_t shared = atomic_load_explicit(&limits->shared, memory_order_relaxed);
  bool zero_grid_ok = config->flags & DLAUNCH_ZERO_GRID_OK;
  bool exceeds = (out->grid[0] > limits->grid[0]) | (out->grid[1] > limits->grid[1]) |
                 (out->grid[2] > limits->grid[2]) | (out->block[0] > limits->block[0]) |
                 (out->block[1] > limits->block[1]) | (out->block[2] > limits->block[2]) | (threads > limits->threads) |
                 (out->shared_bytes > shared) | ((out->grid[0] == 0) & !zero_grid_ok) | (out->block[0] == 0);
  return __builtin_expect(exceeds, 0) ? refuse_limits(out, zero_grid_ok, limits, shared, fault) : DL_OK;
}

/* The caller's attributes, and those that the config's own fields stand for. */
static int32_t gather_attributes(dl_launch_config *out, const dlaunch_config *config, dlaunch_attribute *room,
                                 dl_fault *fault) {
  uint32_t n = config->num_attributes;
  if (n > DL_MAX_ATTRIBUTES - 2) return dl_refuse(fault, DL_ATTRIBUTES, -1, n, DL_MAX_ATTRIBUTES - 2);
  if (n != 0 && config->attributes == NULL) return dl_refuse(fault, DL_ATTRIBUTES, -1, n, 0);
  if (n != 0) memcpy(room, config->attributes, n * sizeof *room);
  if (config->flags & DLAUNCH_COOPERATIVE) {
    room[n++] = (dlaunch_attribute){.id = DL_ATTRIBUTE_COOPERATIVE, .value = {1}};
  }
  if ((config->cluster[0] | config->cluster[1] | config->cluster[2]) != 0) {
    if (config->cluster[0] == 0) return dl_refuse(fault, DL_CLUSTER, 0, 0, 0);
    uint32_t cluster[3];
    for (int32_t axis = 0; axis < 3; axis++) {
      cluster[axis] = config->cluster[axis] + (config->cluster[axis] == 0);
      if (out->grid[axis] % cluster[axis] != 0) {
        return dl_refuse(fault, DL_CLUSTER, axis, out->grid[axis], cluster[axis]);
      }
    }
    room[n] = (dlaunch_attribute){.id = DL_ATTRIBUTE_CLUSTER};
    memcpy(room[n++].value, cluster, sizeof cluster);
  }
  out->attributes = room;
  out->num_attributes = n;
  return DL_OK;
}

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

static int32_t device_of_context(const void *context) {
  for (int32_t i = 0; i < dl_the_driver.num_devices; i++) {
    if (atomic_load_explicit(&dl_the_driver.contexts[i], memory_order_relaxed) == context) return i;
  }
  return -1;
}

/*
 * The launch's device: the stream's if it is a real one, else the first device
 * tensor's, else the current context's, else 0. *native receives the CUstream.
 */
static int32_t choose_device(const dlaunch_config *config, int32_t tensors, uint64_t *native, int32_t *device,
                             dl_fault *fault) {
  const dl_driver *driver = &dl_the_driver;
  int32_t streams = -1;
  *native = config->stream;
  if (config->stream >> 48 != 0) {
    dl_object *object = dl_kind(config->stream) == DL_KIND_STREAM ? dl_find(config->stream) : NULL;
    if (object == NULL) return dl_refuse(fault, DL_STALE_STREAM, -1, (int64_t)config->stream, 0);
    *native = ((dl_stream *)object)->native;
    streams = ((dl_stream *)object)->device;
  } else if (config->stream > DEFAULT_STREAMS && driver->num_devices > 1 && driver->stream_get_ctx != NULL) {
    void *context = NULL;
    if (driver->stream_get_ctx((void *)(uintptr_t)*native, &context) == 0) streams = device_of_context(context);
  }
  if (streams >= 0 && tensors >= 0 && streams != tensors) {
    return dl_refuse(fault, DL_STREAM_DEVICE, -1, streams, tensors);
  }
  *device = streams >= 0 ? streams : tensors;
  if (*device < 0 && driver->num_devices > 1 && driver->ctx_get_device != NULL) {
    int32_t current;
    if (driver->ctx_get_device(&current) == 0) *device = current;
  }
  if (*device < 0) *device = 0;
  return DL_OK;
}

/* The device of the first tensor that decides it. One that does not exist is for
 * dl_put_tensor to refuse. */
static int32_t device_of_tensors(const dl_program *program, const dlaunch_arg *args, uint32_t num_args) {
  if (program->device >= 0) return program->device;
  for (uint32_t i = 0; i < num_args && i < program->num_steps; i++) {
    const DLTensor *t;
    uint64_t flags;
    dl_fault unused;
    if (program->steps[i].flags & DL_PEER || !is_tensor(&args[i])) continue;
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

/* ---------------------------------------------------------------- the launch */

/* What one call asks for. */
typedef struct request {
  uint64_t kernel;
  const dlaunch_config *config;
  const dlaunch_arg *args;
  uint32_t num_args;
  bool held;
  const dl_hooks *hooks;
  const uint64_t *scratch;
} request;

/* The default streams are the current context's: where that is none, or another
 * device's, the device's own is current for the call. *other: it is the device's,
 * but not its primary one. */
static bool borrow_context(int32_t device, void **former, bool *other) {
  const dl_driver *driver = &dl_the_driver;
  void *wanted = atomic_load_explicit(&driver->contexts[device], memory_order_acquire);
  if (driver->ctx_get_current(former) != 0 || *former == wanted) return false;
  int32_t current;
  *other = *former != NULL && driver->ctx_get_device(&current) == 0 && current == device;
  return !*other && driver->ctx_set_current(wanted) == 0;
}

/* A default stream of a context that is not the primary one cannot be asked later
 * whether it has passed: so its arrays wait for all. */
static __attribute__((noinline)) void used_elsewhere(const dl_pack *pack, const request *r) {
  if (pack->kernel->use != NULL) atomic_fetch_or(&pack->kernel->use->elsewhere, DL_MORE_STREAMS);
  for (uint32_t i = 0; i < r->num_args; i++) {
    dl_object *object = r->args[i].kind == DLAUNCH_ARG_HANDLE ? dl_find(r->args[i].value.handle) : NULL;
    if (object != NULL) atomic_fetch_or(&((dl_tensor *)object)->owner->elsewhere, DL_MORE_STREAMS);
  }
}

/* A capture that has failed is left to the launch, which says so. Not inlined: it
 * would cost the launches that need not ask. */
static __attribute__((noinline)) bool is_captured(uint64_t stream) {
  const dl_driver *driver = &dl_the_driver;
  int32_t status;
  return driver->stream_is_capturing != NULL && driver->stream_is_capturing((void *)(uintptr_t)stream, &status) == 0 &&
         status == CAPTURE_ACTIVE;
}

static inline int32_t launch_here(const dl_launch_config *config, void *function, void **extra, bool held) {
  /* The legacy default stream cannot be captured. */
  bool may_be = config->stream > LEGACY_STREAMS && !held;
  if (may_be && __builtin_expect(is_captured(config->stream), 0)) return CAPTURED;
  return dl_the_driver.launch(config, function, NULL, extra);
}

/* Where there is one device the current context is its, or none: the driver's own
 * answer says so, and saves asking before each launch. Asked are threads that had
 * none, until they have one; and launches with arrays of dlaunch's. */
static int32_t launch_in_context(const dl_pack *pack, const dl_launch_config *config, void **extra, int32_t device,
                                 const request *r) {
  enum { INVALID_CONTEXT = 201 }; /* no context is current */
  const dl_driver *driver = &dl_the_driver;
  void *function = pack->kernel->function;
  bool any_context = config->stream > DEFAULT_STREAMS || driver->ctx_get_current == NULL;
  bool unasked = driver->num_devices == 1 && !pack->has_arrays && !dl_this_thread->lacks_context;
  if (any_context || unasked) {
    int32_t code = launch_here(config, function, extra, r->held);
    if (__builtin_expect(code != INVALID_CONTEXT || any_context, 1)) return code;
  }
  void *former = NULL;
  bool other = false, borrowed = borrow_context(device, &former, &other);
  if (__builtin_expect(other, 0)) used_elsewhere(pack, r);
  dl_this_thread->lacks_context = borrowed;
  int32_t code = launch_here(config, function, extra, r->held);
  if (borrowed) driver->ctx_set_current(former);
  return code;
}

static int32_t launch(dl_pack *pack, const dl_launch_config *config, int32_t device, const request *r,
                      dl_fault *fault) {
  const dl_kernel *kernel = pack->kernel;
  size_t size = kernel->program.params_size;
  dl_call call = {atomic_load_explicit(&kernel->object.id, memory_order_relaxed), pack->ranges, pack->num_ranges};
  void *with[] = {PARAM_BUFFER, pack->params, PARAM_SIZE, &size, PARAM_END, &call};
  void *without[] = {PARAM_END, &call};
  void *state = r->hooks ? r->hooks->before() : NULL;
  int32_t code = launch_in_context(pack, config, size ? with : without, device, r);
  if (r->hooks) r->hooks->after(state);
  if (__builtin_expect(code == 0, 1)) return DL_OK;
  if (code == CAPTURED) return dl_refuse(fault, DL_CAPTURED, -1, 0, 0);
  fault->driver_code = code;
  return dl_refuse(fault, DL_DRIVER, -1, device, 0);
}

/* Closed handles come before any other fault of a call. */
static int32_t prefer_stale(const request *r, dl_fault *fault) {
  if (r->config != NULL && r->config->struct_size >= sizeof *r->config && r->config->stream >> 48 != 0 &&
      (dl_kind(r->config->stream) != DL_KIND_STREAM || dl_find(r->config->stream) == NULL)) {
    fault->argument = -1;
    return dl_refuse(fault, DL_STALE_STREAM, -1, (int64_t)r->config->stream, 0);
  }
  for (uint32_t i = 0; r->args != NULL && i < r->num_args; i++) {
    const DLTensor *t;
    uint64_t flags;
    dl_fault stale = {.argument = (int32_t)i};
    if (r->args[i].kind == DLAUNCH_ARG_HANDLE && dl_tensor_of(&r->args[i], &t, &flags, &stale) == DL_STALE_ARGUMENT) {
      *fault = stale;
      break;
    }
  }
  return fault->reason;
}

static int32_t check_and_launch(dl_pack *pack, const request *r, dl_fault *fault) {
  const dlaunch_config *config = r->config;
  uint64_t stream;
  int32_t device;
  int32_t reason = check_struct(config, fault);
  if (reason != DL_OK) return reason;
  pack->checks_pointers = (config->flags | dl_the_driver.checks) & DLAUNCH_CHECK_POINTERS;
  reason = put_all(pack, r->args, r->num_args, fault);
  if (reason == DL_OK) reason = choose_device(config, pack->device, &stream, &device, fault);
  if (reason != DL_OK) return reason;

  const dl_limits *limits = &pack->kernel->limits[device];
  if (!atomic_load_explicit(&limits->ready, memory_order_acquire)) return dl_refuse(fault, DL_LIMITS, -1, device, 0);
  dl_launch_config out = {.stream = stream};
  reason = check_limits(&out, config, limits, fault);
  if (reason != DL_OK) return reason;
  if (config->num_attributes == 0 && (config->cluster[0] | config->cluster[1] | config->cluster[2]) == 0 &&
      !(config->flags & DLAUNCH_COOPERATIVE)) {
    return out.grid[0] == 0 ? DL_OK : launch(pack, &out, device, r, fault);
  }
  dlaunch_attribute attributes[DL_MAX_ATTRIBUTES];
  reason = gather_attributes(&out, config, attributes, fault);
  if (reason != DL_OK || out.grid[0] == 0) return reason;
  return launch(pack, &out, device, r, fault);
}

/* Scratch on the stack: a frame that is not written costs nothing, but most
 * kernels need not even reserve the large one. */
#define WITH_STACK(name, bytes)                                                                                      \
  static __attribute__((noinline)) int32_t name(const dl_kernel *kernel, const request *r, dl_fault *fault) {        \
    _Alignas(16) uint8_t params[bytes];                                                                              \
    int64_t sizes[DL_MAX_SIZES];                                                                                     \
    const dl_program *p = &kernel->program;                                                                          \
    dl_pack pack = {.kernel = kernel, .params = params, .sizes = sizes, .scratch = r->scratch, .device = p->device}; \
    if (r->config != NULL) pack.stream = r->config->stream;                                                          \
    if (dl_the_driver.memory_size != 0) {                                                                            \
      pack.ranges = alloca((p->num_steps + p->num_ranges + 1) * sizeof(dl_range));                                   \
      for (; pack.num_ranges < p->num_ranges; pack.num_ranges++)                                                     \
        pack.ranges[pack.num_ranges] = p->ranges[pack.num_ranges];                                                   \
    }                                                                                                                \
    return check_and_launch(&pack, r, fault);                                                                        \
  }
WITH_STACK(with_small_stack, SMALL_PARAMS)
WITH_STACK(with_large_stack, LARGE_PARAMS)

static int32_t run(const request *r, dl_fault *fault) {
  dl_object *object = dl_kind(r->kernel) == DL_KIND_KERNEL ? dl_find(r->kernel) : NULL;
  if (__builtin_expect(object == NULL, 0)) return dl_refuse(fault, DL_STALE_KERNEL, -1, (int64_t)r->kernel, 0);
  const dl_kernel *kernel = (const dl_kernel *)object;
  bool small = kernel->program.params_size <= SMALL_PARAMS;
  int32_t reason = (small ? with_small_stack : with_large_stack)(kernel, r, fault);
  if (__builtin_expect(reason == DL_OK || reason == DL_DRIVER, 1)) return reason;
  return prefer_stale(r, fault);
}

/* The caller's first attempt counts as fast; one that Go has mended does not. */
static int32_t execute(const request *r, bool first, dl_fault *fault) {
  *fault = (dl_fault){.argument = -1, .axis = -1};
  bool nested;
  dl_thread *thread = dl_enter(&nested);
  uint32_t attention = atomic_load_explicit(&dl_attention, memory_order_relaxed);
  if (!first) attention &= ~(uint32_t)DL_TRACING;
  if (__builtin_expect(thread == NULL, 0)) return dl_refuse(fault, DL_ATTENTION, -1, attention, 0);
  int32_t reason =
      __builtin_expect(attention != 0, 0) ? dl_refuse(fault, DL_ATTENTION, -1, attention, 0) : run(r, fault);
  if (reason == DL_OK && first) {
    uint64_t fast = atomic_load_explicit(&thread->fast, memory_order_relaxed);
    atomic_store_explicit(&thread->fast, fast + 1, memory_order_relaxed);
  }
  dl_leave(thread, nested);
  return reason;
}

int32_t dl_execute(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                   const dl_hooks *hooks, dl_fault *fault) {
  request r = {kernel, config, args, num_args, false, hooks, NULL};
  return execute(&r, true, fault);
}

int32_t dl_execute_again(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                         const uint64_t *scratch, bool held, dl_fault *fault) {
  request r = {kernel, config, args, num_args, held, NULL, scratch};
  return execute(&r, false, fault);
}
