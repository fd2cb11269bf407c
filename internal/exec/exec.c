/* One launch, from a handle and arguments to the driver's call. */
#pragma GCC optimize("no-tree-slp-vectorize") /* it gathers a few words by more instructions than it saves */
#include "configure.h"
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

/* ---------------------------------------------------------------- arguments */

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
  if (dl_is_tensor(arg)) {
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

static __attribute__((noinline)) int32_t put_all_derived(dl_pack *pack, const dlaunch_arg *args, dl_fault *fault) {
  for (uint32_t i = 0; i < pack->kernel->program.num_derived; i++) {
    int32_t reason = put_derived(pack, args, i, fault);
    if (reason != DL_OK) return reason;
  }
  return DL_OK;
}

/* The values that sizes begin with: few without a loop. */
static inline void put_sizes(const dl_program *program, int64_t *sizes, bool few) {
  if (few) {
    memcpy(sizes, program->sizes, DL_FEW_SIZES * sizeof *sizes);
  } else {
    memcpy(sizes, program->sizes, program->num_sizes * sizeof *sizes);
  }
}

/* Both have room up to a multiple of 16 bytes. Few kernels have constants, and all that
 * are bound: without a call of memcpy, which has as many instructions as all of these. */
static inline void put_constants(const dl_program *program, uint8_t *params) {
  for (uint32_t at = 0; at < program->params_size; at += DL_CONSTANTS_AT_ONCE) {
    memcpy(params + at, program->params + at, DL_CONSTANTS_AT_ONCE);
  }
}

static inline __attribute__((always_inline)) int32_t put_all(dl_pack *pack, const dlaunch_arg *args, uint32_t num_args,
                                                             bool plain, dl_fault *fault) {
  const dl_program *program = &pack->kernel->program;
  if (num_args != program->num_steps) return dl_refuse(fault, DL_COUNT, -1, num_args, program->num_steps);
  if (num_args != 0 && args == NULL) return dl_refuse(fault, DL_ARGUMENTS, -1, num_args, 0);
  put_sizes(program, pack->sizes, plain);
  if (program->has_constants) put_constants(program, pack->params);
  if (__builtin_expect(pack->kernel->use != NULL, 0)) {
    pack->has_arrays = true;
    dl_remember_stream(pack->kernel->use, pack->stream);
  }
  for (uint32_t i = 0; i < num_args; i++) {
    if (plain && __builtin_expect((i = dl_put_plain(pack, args, i, num_args)) == num_args, 1)) break;
    int32_t reason = dl_put_argument(pack, &program->steps[i], i, &args[i], fault);
    if (__builtin_expect(reason != DL_OK, 0)) {
      fault->argument = (int32_t)i;
      return reason;
    }
  }
  if (__builtin_expect(program->num_derived == 0, 1)) return DL_OK;
  return put_all_derived(pack, args, fault);
}

/* ---------------------------------------------------------------- the launch */

/* What one call asks for, but the arguments. */
typedef struct request {
  const dlaunch_config *config;
  const dl_hooks *hooks;
  const uint64_t *scratch;
  bool held;
  bool nested; /* a hook inside the driver launches */
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
static void used_elsewhere(const dl_kernel *kernel, const dlaunch_arg *args, uint32_t num_args) {
  if (kernel->use != NULL) atomic_fetch_or(&kernel->use->elsewhere, DL_MORE_STREAMS);
  for (uint32_t i = 0; i < num_args; i++) {
    dl_object *object = args[i].kind == DLAUNCH_ARG_HANDLE ? dl_find(args[i].value.handle) : NULL;
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
  if (__builtin_expect(may_be, 0) && is_captured(config->stream)) return CAPTURED;
  return dl_the_driver.launch(config, function, NULL, extra);
}

static __attribute__((noinline)) int32_t launch_borrowing(const dl_kernel *kernel, const dl_launch_config *config,
                                                          void **extra, int32_t device, const dlaunch_arg *args,
                                                          uint32_t num_args, bool held) {
  void *former = NULL;
  bool other = false, borrowed = borrow_context(device, &former, &other);
  if (other) used_elsewhere(kernel, args, num_args);
  dl_this_thread->lacks_context = borrowed;
  int32_t code = launch_here(config, kernel->function, extra, held);
  if (borrowed) dl_the_driver.ctx_set_current(former);
  return code;
}

/* Whether the primary context is current. */
static inline bool is_at_home(int32_t device) {
  const dl_driver *driver = &dl_the_driver;
  void *current = NULL, *home = atomic_load_explicit(&driver->contexts[device], memory_order_acquire);
  return (driver->ctx_get_current(&current) == 0) & (current == home) & (home != NULL);
}

/* Where there is one device the current context is its, or none: the driver's own
 * answer says so, and saves asking before each launch. Asked are threads that had
 * none, until they have one; and launches with arrays of dlaunch's. */
static inline int32_t launch_in_context(const dl_pack *pack, const dl_launch_config *config, void **extra,
                                        int32_t device, const dlaunch_arg *args, uint32_t num_args, bool held) {
  enum { INVALID_CONTEXT = 201 }; /* no context is current */
  const dl_driver *driver = &dl_the_driver;
  bool any_context = config->stream > DEFAULT_STREAMS || driver->ctx_get_current == NULL;
  bool asks = (driver->num_devices != 1) | pack->has_arrays | dl_this_thread->lacks_context;
  if (__builtin_expect(any_context | !asks, 1) || __builtin_expect(is_at_home(device), 1)) {
    int32_t code = launch_here(config, pack->kernel->function, extra, held);
    if (__builtin_expect(code != INVALID_CONTEXT || any_context, 1)) return code;
  }
  return launch_borrowing(pack->kernel, config, extra, device, args, num_args, held);
}

/* The driver's call, for whatever thread makes it. */
typedef struct driver_call {
  const dl_pack *pack;
  const dl_launch_config *config;
  void **extra;
  const dlaunch_arg *args;
  uint32_t num_args;
  int32_t device;
  void *context; /* that is current on the thread that launches */
} driver_call;

static int32_t call_driver(const void *what) {
  enum { OUT_OF_MEMORY = 2 };
  const driver_call *call = what;
  if (dl_this_thread == NULL && dl_enrol() == NULL) return OUT_OF_MEMORY;
  if (dl_the_driver.ctx_set_current != NULL) {
    int32_t code = dl_the_driver.ctx_set_current(call->context);
    if (code != 0) return code;
  }
  return launch_in_context(call->pack, call->config, call->extra, call->device, call->args, call->num_args, false);
}

/* Not what means the calling thread, nor what it launches inside the driver, with whose locks; nor
 * the simulator's: it tells that thread what failed. */
static inline bool may_go_elsewhere(const request *r, const dl_launch_config *config) {
  return config->stream != PER_THREAD_STREAM && !r->nested && dl_the_driver.memory_size == 0;
}

static __attribute__((cold, noinline)) int32_t launch_elsewhere(driver_call *call, const dl_hooks *hooks) {
  if (dl_the_driver.ctx_get_current != NULL) {
    int32_t code = dl_the_driver.ctx_get_current(&call->context);
    if (code != 0) return code;
  }
  return hooks->elsewhere(call_driver, call, hooks);
}

/* Closed handles come before any other fault of a call. */
static __attribute__((cold, noinline)) int32_t prefer_stale(const dlaunch_config *config, const dlaunch_arg *args,
                                                            uint32_t num_args, dl_fault *fault) {
  if (config != NULL && config->struct_size >= sizeof *config && config->stream >> 48 != 0 &&
      (dl_kind(config->stream) != DL_KIND_STREAM || dl_find(config->stream) == NULL)) {
    fault->argument = -1;
    return dl_refuse(fault, DL_STALE_STREAM, -1, (int64_t)config->stream, 0);
  }
  for (uint32_t i = 0; args != NULL && i < num_args; i++) {
    const DLTensor *t;
    uint64_t flags;
    dl_fault stale = {.argument = (int32_t)i};
    if (args[i].kind == DLAUNCH_ARG_HANDLE && dl_tensor_of(&args[i], &t, &flags, &stale) == DL_STALE_ARGUMENT) {
      *fault = stale;
      break;
    }
  }
  return fault->reason;
}

/* plain, a constant, leaves out what few launches need. */
static inline __attribute__((always_inline)) int32_t check_and_launch(dl_pack *pack, const request *r,
                                                                      const dlaunch_arg *args, uint32_t num_args,
                                                                      bool plain, dl_fault *fault) {
  const dlaunch_config *config = r->config;
  const dl_kernel *kernel = pack->kernel;
  int32_t reason = plain ? DL_OK : check_struct(config, fault);
  if (reason != DL_OK) return reason;
  pack->stream = config->stream;
  if (!plain) pack->checks_pointers = (config->flags | dl_the_driver.checks) & DLAUNCH_CHECK_POINTERS;
  reason = put_all(pack, args, num_args, plain, fault);
  if (__builtin_expect(reason != DL_OK, 0)) return reason;

  dl_launch_config out = {.stream = config->stream};
  int32_t device = 0;
  if (__builtin_expect(!is_sole_device(config), 0)) {
    reason = choose_device(config, pack->device, &out.stream, &device, fault);
    if (reason != DL_OK) return reason;
  }
  const dl_limits *limits = &kernel->limits[device];
  if (!atomic_load_explicit(&limits->ready, memory_order_acquire)) return dl_refuse(fault, DL_LIMITS, -1, device, 0);
  reason = check_limits(&out, config, limits, fault);
  if (__builtin_expect(reason != DL_OK, 0)) return reason;
  dlaunch_attribute attributes[plain ? 1 : DL_MAX_ATTRIBUTES];
  if (!plain) {
    reason = gather_attributes(&out, config, attributes, fault);
    if (reason != DL_OK || out.grid[0] == 0) return reason;
  }

  size_t size = kernel->program.params_size;
  dl_call call;
  if (!plain)
    call = (dl_call){atomic_load_explicit(&kernel->object.id, memory_order_relaxed), pack->ranges, pack->num_ranges};
  void *extra[] = {PARAM_BUFFER, pack->params, PARAM_SIZE, &size, PARAM_END, plain ? NULL : &call};
  void **list = size != 0 ? extra : extra + 4;
  const dl_hooks *hooks = r->hooks;
  int32_t code;
  if (__builtin_expect(hooks != NULL && hooks->elsewhere != NULL && may_go_elsewhere(r, &out), 0)) {
    code = launch_elsewhere(&(driver_call){pack, &out, list, args, num_args, device}, hooks);
  } else {
    void *state = hooks != NULL ? hooks->before() : NULL;
    code = launch_in_context(pack, &out, list, device, args, num_args, !plain && r->held);
    if (hooks != NULL) hooks->after(state);
  }
  if (__builtin_expect(code == 0, 1)) return DL_OK;
  if (code == CAPTURED) return dl_refuse(fault, DL_CAPTURED, -1, 0, 0);
  fault->driver_code = code;
  return dl_refuse(fault, DL_DRIVER, -1, device, 0);
}

/* The launch of any kernel with any configuration. */
static __attribute__((noinline)) int32_t run_any(const dl_kernel *kernel, const request *r, const dlaunch_arg *args,
                                                 uint32_t num_args, dl_fault *fault) {
  _Alignas(16) uint8_t params[DL_MAX_PARAMS];
  int64_t sizes[DL_MAX_SIZES];
  const dl_program *p = &kernel->program;
  dl_pack pack = {.kernel = kernel, .params = params, .sizes = sizes, .scratch = r->scratch, .device = p->device};
  if (dl_the_driver.memory_size != 0) {
    pack.ranges = alloca((p->num_steps + p->num_ranges + 1) * sizeof(dl_range));
    for (; pack.num_ranges < p->num_ranges; pack.num_ranges++)
      pack.ranges[pack.num_ranges] = p->ranges[pack.num_ranges];
  }
  return check_and_launch(&pack, r, args, num_args, false, fault);
}

/* What nearly every launch is: laid out straight, with a small frame. */
static inline __attribute__((always_inline)) int32_t run_plain(const dl_kernel *kernel, const request *r,
                                                               const dlaunch_arg *args, uint32_t num_args,
                                                               dl_fault *fault) {
  _Alignas(16) uint8_t params[DL_PLAIN_PARAMS];
  int64_t sizes[DL_FEW_SIZES];
  dl_pack pack = {.kernel = kernel, .params = params, .sizes = sizes, .device = kernel->program.device};
  return check_and_launch(&pack, r, args, num_args, true, fault);
}

/* Right, without attributes, and without anything that is checked only when it is asked for. */
static inline bool is_plain(const dlaunch_config *config) {
  if (__builtin_expect(config == NULL, 0) || __builtin_expect(config->struct_size < sizeof *config, 0)) return false;
  uint32_t more = config->num_attributes | config->flags | config->reserved;
  return (more | config->cluster[0] | config->cluster[1] | config->cluster[2]) == 0;
}

static inline __attribute__((always_inline)) int32_t run(uint64_t handle, const request *r, const dlaunch_arg *args,
                                                         uint32_t num_args, bool first, dl_fault *fault) {
  dl_object *object = dl_kind(handle) == DL_KIND_KERNEL ? dl_find(handle) : NULL;
  if (object == NULL) return dl_refuse(fault, DL_STALE_KERNEL, -1, (int64_t)handle, 0);
  const dl_kernel *kernel = (const dl_kernel *)object;
  bool plain = first && kernel->program.is_plain & dl_the_driver.is_plain & is_plain(r->config);
  int32_t reason = __builtin_expect(!plain, 0) ? run_any(kernel, r, args, num_args, fault)
                                               : run_plain(kernel, r, args, num_args, fault);
  if (__builtin_expect(reason == DL_OK, 1) || reason == DL_DRIVER) return reason;
  return prefer_stale(r->config, args, num_args, fault);
}

/* The caller's first attempt counts as fast; one that Go has mended does not. */
static inline __attribute__((always_inline)) int32_t execute(uint64_t kernel, request *r, const dlaunch_arg *args,
                                                             uint32_t num_args, bool first, dl_fault *fault) {
  *fault = (dl_fault){.argument = -1, .axis = -1};
  dl_thread *thread = dl_enter(&r->nested);
  uint32_t attention = atomic_load_explicit(&dl_attention, memory_order_relaxed);
  if (!first) attention &= ~(uint32_t)DL_TRACING;
  if (thread == NULL) return dl_refuse(fault, DL_ATTENTION, -1, attention, 0);
  int32_t reason =
      attention != 0 ? dl_refuse(fault, DL_ATTENTION, -1, attention, 0) : run(kernel, r, args, num_args, first, fault);
  if (reason == DL_OK && first) {
    uint64_t fast = atomic_load_explicit(&thread->fast, memory_order_relaxed);
    atomic_store_explicit(&thread->fast, fast + 1, memory_order_relaxed);
  }
  dl_leave(thread, r->nested);
  return reason;
}

int32_t dl_execute(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                   const dl_hooks *hooks, dl_fault *fault) {
  request r = {.config = config, .hooks = hooks};
  return execute(kernel, &r, args, num_args, true, fault);
}

int32_t dl_execute_again(uint64_t kernel, const dlaunch_config *config, const dlaunch_arg *args, uint32_t num_args,
                         const uint64_t *scratch, bool held, dl_fault *fault) {
  request r = {.config = config, .scratch = scratch, .held = held};
  return execute(kernel, &r, args, num_args, false, fault);
}
