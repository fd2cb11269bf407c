/*
 * The gate: every public name. It answers forked children and bad error structs
 * itself, runs launches in C, and hands the rest to Go, where each name has an
 * export of its own (go_ in place of dlaunch_). When Go has returned it calls the
 * deleters of what was let go.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "_cgo_export.h"
#include "exec.h"
#include "release.h"

#define VERSION "0.1.0"

static dlaunch_status refuse(dlaunch_error *err, dlaunch_status status, int32_t driver_code, const char *function,
                             const char *message) {
  if (err != NULL) {
    err->status = status;
    err->driver_code = driver_code;
    err->argument = -1;
    snprintf(err->message, sizeof err->message, "%s: %s", function, message);
  }
  return status;
}

/* What every call meets first. DLAUNCH_OK lets it pass. */
static dlaunch_status gate(dlaunch_error *err, const char *function) {
  enum { DEINITIALIZED = 4 }; /* CUDA_ERROR_DEINITIALIZED */
  if (__builtin_expect(err != NULL && err->struct_size < sizeof *err, 0)) return DLAUNCH_ERROR_ARGUMENT;
  uint32_t attention = atomic_load_explicit(&dl_attention, memory_order_relaxed);
  if (__builtin_expect((attention & (DL_FORKED | DL_EXITING)) == 0, 1)) return DLAUNCH_OK;
  if (attention & DL_FORKED) {
    return refuse(err, DLAUNCH_ERROR_FORKED, 0, function,
                  "this process was forked after libdlaunch.so was loaded, and neither CUDA nor the library "
                  "works in such a child; use exec or spawn (Python: multiprocessing.set_start_method(\"spawn\")), or "
                  "fork before the first call");
  }
  return refuse(err, DLAUNCH_ERROR_DRIVER, DEINITIALIZED, function,
                "the process is exiting; the driver is not touched any more");
}

#define GATE(err) GATE_AS(__func__, err)
#define GATE_AS(function, err)                    \
  do {                                            \
    dlaunch_status passed_ = gate(err, function); \
    if (passed_ != DLAUNCH_OK) return passed_;    \
  } while (0)

/* The same for what gives a handle: 0 on failure. */
#define GATE_HANDLE(out, err)      \
  do {                             \
    if ((out) != NULL) *(out) = 0; \
    GATE(err);                     \
  } while (0)

/* The end of every call of Go's. Any may be the last that needs an imported tensor: what
 * it asks about may be closed meanwhile. */
static dlaunch_status finish(dlaunch_status status) {
  dl_call_deleters();
  return status;
}

/* ---- versions */

uint32_t dlaunch_abi_version(void) { return DLAUNCH_ABI_VERSION; }

const char *dlaunch_version(void) { return VERSION; }

const char *dlaunch_status_name(dlaunch_status status) {
  static const char *const names[] = {
      "DLAUNCH_OK",
      "DLAUNCH_ERROR_ARGUMENT",
      "DLAUNCH_ERROR_HANDLE",
      "DLAUNCH_ERROR_TENSOR",
      "DLAUNCH_ERROR_CONFIG",
      "DLAUNCH_ERROR_IMAGE",
      "DLAUNCH_ERROR_NOT_FOUND",
      "DLAUNCH_ERROR_PROTOTYPE",
      "DLAUNCH_ERROR_NO_DRIVER",
      "DLAUNCH_ERROR_DRIVER",
      "DLAUNCH_ERROR_FAULT",
      "DLAUNCH_ERROR_FORKED",
      "DLAUNCH_ERROR_UNSUPPORTED",
      "DLAUNCH_ERROR_MEMORY",
      "DLAUNCH_ERROR_INTERNAL",
  };
  if (status < 0 || (size_t)status >= sizeof names / sizeof *names) return "DLAUNCH_STATUS_UNKNOWN";
  return names[status];
}

/* ---- driver */

dlaunch_status dlaunch_driver_info(dlaunch_driver_info_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_driver_info(out, err));
}

dlaunch_status dlaunch_device_count(int32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_device_count(out, err));
}

dlaunch_status dlaunch_device_attribute(int32_t device, int32_t attribute, int32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_device_attribute(device, attribute, out, err));
}

dlaunch_status dlaunch_memory_info(int32_t device, size_t *free_bytes, size_t *total_bytes, dlaunch_error *err) {
  GATE(err);
  return finish(go_memory_info(device, free_bytes, total_bytes, err));
}

/* ---- libraries */

dlaunch_status dlaunch_library_load(const void *image, size_t size, const dlaunch_library_options *options,
                                    dlaunch_library *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_library_load((void *)image, size, (dlaunch_library_options *)options, out, err));
}

dlaunch_status dlaunch_library_load_file(const char *path, const dlaunch_library_options *options, dlaunch_library *out,
                                         dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_library_load_file((char *)path, (dlaunch_library_options *)options, out, err));
}

dlaunch_status dlaunch_link(const dlaunch_link_input *inputs, uint32_t num, const dlaunch_library_options *options,
                            dlaunch_library *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_link((dlaunch_link_input *)inputs, num, (dlaunch_library_options *)options, out, err));
}

dlaunch_status dlaunch_library_architectures(dlaunch_library library, char *buf, size_t size, size_t *needed,
                                             dlaunch_error *err) {
  GATE(err);
  return finish(go_library_architectures(library, buf, size, needed, err));
}

dlaunch_status dlaunch_library_kernel_count(dlaunch_library library, uint32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_library_kernel_count(library, out, err));
}

dlaunch_status dlaunch_library_kernel_name(dlaunch_library library, uint32_t index, char *buf, size_t size,
                                           size_t *needed, dlaunch_error *err) {
  GATE(err);
  return finish(go_library_kernel_name(library, index, buf, size, needed, err));
}

dlaunch_status dlaunch_library_global(dlaunch_library library, int32_t device, const char *name, uint64_t *address,
                                      size_t *bytes, dlaunch_error *err) {
  GATE(err);
  return finish(go_library_global(library, device, (char *)name, address, bytes, err));
}

dlaunch_status dlaunch_library_global_name(dlaunch_library library, uint32_t index, char *buf, size_t size,
                                           size_t *needed, dlaunch_error *err) {
  GATE(err);
  return finish(go_library_global_name(library, index, buf, size, needed, err));
}

dlaunch_status dlaunch_library_close(dlaunch_library library, dlaunch_error *err) {
  GATE(err);
  return finish(go_library_close(library, err));
}

/* ---- kernels */

dlaunch_status dlaunch_kernel_get(dlaunch_library library, const char *text, dlaunch_kernel *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_kernel_get(library, (char *)text, out, err));
}

dlaunch_status dlaunch_kernel_from_driver(void *cukernel_or_cufunction, const char *prototype, dlaunch_kernel *out,
                                          dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_kernel_from_driver(cukernel_or_cufunction, (char *)prototype, out, err));
}

dlaunch_status dlaunch_kernel_native(dlaunch_kernel kernel, uint64_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_native(kernel, out, err));
}

dlaunch_status dlaunch_kernel_name(dlaunch_kernel kernel, char *buf, size_t size, size_t *needed, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_name(kernel, buf, size, needed, err));
}

dlaunch_status dlaunch_kernel_load(dlaunch_kernel kernel, int32_t device, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_load(kernel, device, err));
}

dlaunch_status dlaunch_kernel_prototype(dlaunch_kernel kernel, char *buf, size_t size, size_t *needed,
                                        dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_prototype(kernel, buf, size, needed, err));
}

dlaunch_status dlaunch_kernel_parameter(dlaunch_kernel kernel, uint32_t index, dlaunch_parameter *out,
                                        dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_parameter(kernel, index, out, err));
}

dlaunch_status dlaunch_kernel_attribute(dlaunch_kernel kernel, int32_t attribute, int32_t device, int32_t *out,
                                        dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_attribute(kernel, attribute, device, out, err));
}

dlaunch_status dlaunch_kernel_set_attribute(dlaunch_kernel kernel, int32_t attribute, int32_t device, int32_t value,
                                            dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_set_attribute(kernel, attribute, device, value, err));
}

dlaunch_status dlaunch_kernel_close(dlaunch_kernel kernel, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_close(kernel, err));
}

/* ---- launches */

/* Words what the executor has refused, or mends it and launches. */
static __attribute__((cold, noinline)) dlaunch_status launch_in_go(char *function, dlaunch_kernel kernel,
                                                                   const dlaunch_config *config,
                                                                   const dlaunch_arg *args, uint32_t num_args,
                                                                   dl_fault *fault, dlaunch_error *err) {
  GATE_AS(function, err);
  return finish(go_launch(function, kernel, (dlaunch_config *)config, (dlaunch_arg *)args, num_args, fault, err));
}

/* The executor asks itself what the gate asks but for the error struct. */
static inline dlaunch_status launch(char *function, dlaunch_kernel kernel, const dlaunch_config *config,
                                    const dlaunch_arg *args, uint32_t num_args, dlaunch_error *err) {
  if (__builtin_expect(err != NULL && err->struct_size < sizeof *err, 0)) return DLAUNCH_ERROR_ARGUMENT;
  dl_fault fault;
  if (__builtin_expect(dl_execute(kernel, config, args, num_args, NULL, &fault) == DL_OK, 1)) return DLAUNCH_OK;
  return launch_in_go(function, kernel, config, args, num_args, &fault, err);
}

dlaunch_status dlaunch_launch(dlaunch_kernel kernel, const dlaunch_config *config, const dlaunch_arg *args,
                              uint32_t num_args, dlaunch_error *err) {
  return launch("dlaunch_launch", kernel, config, args, num_args, err);
}

enum { FEW_TENSORS = 64 }; /* so many arguments fit the stack; more are rare */

static dlaunch_status launch_all(char *function, dlaunch_kernel kernel, const dlaunch_config *config, uint16_t kind,
                                 const void *const *tensors, uint32_t num, dlaunch_error *err) {
  GATE_AS(function, err); /* before memory is asked for */
  dlaunch_arg few[FEW_TENSORS], *args = few;
  if (num > FEW_TENSORS && tensors != NULL && (args = malloc(num * sizeof *args)) == NULL) {
    return refuse(err, DLAUNCH_ERROR_MEMORY, 0, function, "out of host memory for the arguments");
  }
  for (uint32_t i = 0; tensors != NULL && i < num; i++) {
    args[i] = (dlaunch_arg){.kind = kind, .value.bytes = tensors[i]};
  }
  dlaunch_status status = launch(function, kernel, config, tensors != NULL ? args : NULL, num, err);
  if (args != few) free(args);
  return status;
}

dlaunch_status dlaunch_launch_tensors(dlaunch_kernel kernel, const dlaunch_config *config,
                                      struct DLManagedTensorVersioned *const *tensors, uint32_t num,
                                      dlaunch_error *err) {
  return launch_all("dlaunch_launch_tensors", kernel, config, DLAUNCH_ARG_VERSIONED, (const void *const *)tensors, num,
                    err);
}

dlaunch_status dlaunch_launch_managed(dlaunch_kernel kernel, const dlaunch_config *config,
                                      struct DLManagedTensor *const *tensors, uint32_t num, dlaunch_error *err) {
  return launch_all("dlaunch_launch_managed", kernel, config, DLAUNCH_ARG_MANAGED, (const void *const *)tensors, num,
                    err);
}

/* The name of a call says in messages which of many it is. */
static dlaunch_status launch_call(const dlaunch_call *call, uint32_t index, dlaunch_error *err) {
  dl_fault fault;
  bool is_known = call->reserved == 0;
  if (__builtin_expect(is_known, 1) &&
      __builtin_expect(dl_execute(call->kernel, call->config, call->args, call->num_args, NULL, &fault) == DL_OK, 1)) {
    return DLAUNCH_OK;
  }
  char name[sizeof "dlaunch_launch_many: call 4294967295"];
  snprintf(name, sizeof name, "dlaunch_launch_many: call %" PRIu32, index);
  if (!is_known) return refuse(err, DLAUNCH_ERROR_ARGUMENT, 0, name, "reserved is not 0");
  return finish(go_launch(name, call->kernel, (dlaunch_config *)call->config, (dlaunch_arg *)call->args, call->num_args,
                          &fault, err));
}

dlaunch_status dlaunch_launch_many(const dlaunch_call *calls, uint32_t num, uint32_t *launched, dlaunch_error *err) {
  if (launched != NULL) *launched = 0;
  GATE(err);
  if (calls == NULL && num != 0) return refuse(err, DLAUNCH_ERROR_ARGUMENT, 0, __func__, "calls is NULL");
  dlaunch_status status = DLAUNCH_OK;
  uint32_t done = 0;
  while (done < num && (status = launch_call(&calls[done], done, err)) == DLAUNCH_OK) done++;
  if (launched != NULL) *launched = done;
  return status;
}

/* ---- graphs */

dlaunch_status dlaunch_graph_create(const dlaunch_call *calls, uint32_t num, dlaunch_graph *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_graph_create((dlaunch_call *)calls, num, out, err));
}

dlaunch_status dlaunch_graph_launch(dlaunch_graph graph, uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_graph_launch(graph, stream, err));
}

dlaunch_status dlaunch_graph_close(dlaunch_graph graph, dlaunch_error *err) {
  GATE(err);
  return finish(go_graph_close(graph, err));
}

/* ---- occupancy */

dlaunch_status dlaunch_kernel_max_active_blocks(dlaunch_kernel kernel, int32_t device, uint32_t block_threads,
                                                size_t shared, int32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_max_active_blocks(kernel, device, block_threads, shared, out, err));
}

dlaunch_status dlaunch_kernel_max_potential_block_size(dlaunch_kernel kernel, int32_t device, size_t shared_base,
                                                       size_t shared_per_thread, uint32_t limit, int32_t *min_grid,
                                                       int32_t *block, dlaunch_error *err) {
  GATE(err);
  return finish(
      go_kernel_max_potential_block_size(kernel, device, shared_base, shared_per_thread, limit, min_grid, block, err));
}

dlaunch_status dlaunch_kernel_available_shared_bytes(dlaunch_kernel kernel, int32_t device, uint32_t blocks,
                                                     uint32_t block_threads, size_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_available_shared_bytes(kernel, device, blocks, block_threads, out, err));
}

dlaunch_status dlaunch_kernel_max_cluster_size(dlaunch_kernel kernel, int32_t device, const dlaunch_config *config,
                                               int32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_max_cluster_size(kernel, device, (dlaunch_config *)config, out, err));
}

dlaunch_status dlaunch_kernel_max_active_clusters(dlaunch_kernel kernel, int32_t device, const dlaunch_config *config,
                                                  int32_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_kernel_max_active_clusters(kernel, device, (dlaunch_config *)config, out, err));
}

/* ---- bound arguments */

dlaunch_status dlaunch_kernel_bind(dlaunch_kernel kernel, uint32_t index, const dlaunch_arg *arg, dlaunch_kernel *out,
                                   dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_kernel_bind(kernel, index, (dlaunch_arg *)arg, out, err));
}

dlaunch_status dlaunch_library_bind(dlaunch_library library, const char *name, const dlaunch_arg *arg,
                                    dlaunch_error *err) {
  GATE(err);
  return finish(go_library_bind(library, (char *)name, (dlaunch_arg *)arg, err));
}

/* ---- arrays */

dlaunch_status dlaunch_array_create(int32_t device, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                    dlaunch_array *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_array_create(device, dtype, ndim, (int64_t *)shape, out, err));
}

dlaunch_status dlaunch_array_write(dlaunch_array array, const void *host, size_t bytes, uint64_t stream,
                                   dlaunch_error *err) {
  GATE(err);
  return finish(go_array_write(array, (void *)host, bytes, stream, err));
}

dlaunch_status dlaunch_array_read(dlaunch_array array, void *host, size_t bytes, uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_array_read(array, host, bytes, stream, err));
}

dlaunch_status dlaunch_array_tensor(dlaunch_array array, DLTensor *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_array_tensor(array, out, err));
}

dlaunch_status dlaunch_array_view(dlaunch_array array, DLDataType dtype, int32_t ndim, const int64_t *shape,
                                  const int64_t *strides, int64_t byte_offset, dlaunch_array *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_array_view(array, dtype, ndim, (int64_t *)shape, (int64_t *)strides, byte_offset, out, err));
}

dlaunch_status dlaunch_array_wait(dlaunch_array array, uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_array_wait(array, stream, err));
}

/* An exported array: the struct that the consumer gets, and its shape. */
typedef struct exported {
  DLManagedTensorVersioned managed;
  uint64_t id; /* what Go holds for it */
  int64_t shape_and_strides[];
} exported;

/* Called by the consumer, on any thread, at any time: a forked child or an
 * exiting process leaves what Go holds. */
static void release_exported(DLManagedTensorVersioned *managed) {
  exported *e = managed->manager_ctx;
  if ((atomic_load(&dl_attention) & (DL_FORKED | DL_EXITING)) == 0) {
    go_release_export(e->id);
    dl_call_deleters();
  }
  free(e);
}

dlaunch_status dlaunch_array_export(dlaunch_array array, struct DLManagedTensorVersioned **out, dlaunch_error *err) {
  GATE(err);
  DLTensor *tensor = NULL;
  uint64_t id = 0;
  dlaunch_status status = go_array_export(array, out != NULL, &tensor, &id, err);
  if (status != DLAUNCH_OK) return finish(status);
  size_t axes = (size_t)tensor->ndim;
  exported *e = calloc(1, sizeof *e + 2 * axes * sizeof(int64_t));
  if (e == NULL) {
    go_release_export(id);
    return finish(refuse(err, DLAUNCH_ERROR_MEMORY, 0, __func__, "out of host memory"));
  }
  e->id = id;
  e->managed.version = (DLPackVersion){DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  e->managed.manager_ctx = e;
  e->managed.deleter = release_exported;
  e->managed.dl_tensor = *tensor;
  if (axes != 0) {
    memcpy(e->shape_and_strides, tensor->shape, axes * sizeof(int64_t));
    memcpy(e->shape_and_strides + axes, tensor->strides, axes * sizeof(int64_t));
    e->managed.dl_tensor.shape = e->shape_and_strides;
    e->managed.dl_tensor.strides = e->shape_and_strides + axes;
  }
  *out = &e->managed;
  return finish(DLAUNCH_OK);
}

dlaunch_status dlaunch_array_close(dlaunch_array array, dlaunch_error *err) {
  GATE(err);
  return finish(go_array_close(array, err));
}

/* ---- imported tensors */

/* Whatever is wrong, the tensor is the caller's no more. */
static dlaunch_status import_tensor(char *function, void *managed, bool versioned, dlaunch_tensor *out,
                                    dlaunch_error *err) {
  if (out != NULL) *out = 0;
  dlaunch_status status = gate(err, function);
  if (managed == NULL) {
    return status != DLAUNCH_OK ? status : refuse(err, DLAUNCH_ERROR_ARGUMENT, 0, function, "tensor is NULL");
  }
  dl_taken *taken = NULL;
  if (status == DLAUNCH_OK) {
    taken = dl_take(managed, versioned);
    status = taken != NULL ? go_tensor_import(function, taken, out, err)
                           : refuse(err, DLAUNCH_ERROR_MEMORY, 0, function, "out of host memory");
  }
  if (status != DLAUNCH_OK) {
    free(taken);
    dl_delete(managed, versioned);
  }
  return finish(status);
}

dlaunch_status dlaunch_tensor_import(struct DLManagedTensor *tensor, dlaunch_tensor *out, dlaunch_error *err) {
  return import_tensor("dlaunch_tensor_import", tensor, false, out, err);
}

dlaunch_status dlaunch_tensor_import_versioned(struct DLManagedTensorVersioned *tensor, dlaunch_tensor *out,
                                               dlaunch_error *err) {
  return import_tensor("dlaunch_tensor_import_versioned", tensor, true, out, err);
}

dlaunch_status dlaunch_tensor_close(dlaunch_tensor tensor, dlaunch_error *err) {
  GATE(err);
  return finish(go_tensor_close(tensor, err));
}

/* ---- streams */

dlaunch_status dlaunch_stream_create(int32_t device, uint32_t flags, dlaunch_stream *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_stream_create(device, flags, out, err));
}

dlaunch_status dlaunch_stream_create_with_priority(int32_t device, uint32_t flags, int32_t priority,
                                                   dlaunch_stream *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_stream_create_with_priority(device, flags, priority, out, err));
}

dlaunch_status dlaunch_stream_priorities(int32_t device, int32_t *least, int32_t *greatest, dlaunch_error *err) {
  GATE(err);
  return finish(go_stream_priorities(device, least, greatest, err));
}

dlaunch_status dlaunch_stream_native(dlaunch_stream stream, uint64_t *out, dlaunch_error *err) {
  GATE(err);
  return finish(go_stream_native(stream, out, err));
}

dlaunch_status dlaunch_stream_query(uint64_t stream, int32_t *done, dlaunch_error *err) {
  GATE(err);
  return finish(go_stream_query(stream, done, err));
}

dlaunch_status dlaunch_stream_synchronize(uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_stream_synchronize(stream, err));
}

dlaunch_status dlaunch_stream_close(dlaunch_stream stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_stream_close(stream, err));
}

/* ---- events */

dlaunch_status dlaunch_event_create(int32_t device, uint32_t flags, dlaunch_event *out, dlaunch_error *err) {
  GATE_HANDLE(out, err);
  return finish(go_event_create(device, flags, out, err));
}

dlaunch_status dlaunch_event_record(dlaunch_event event, uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_record(event, stream, err));
}

dlaunch_status dlaunch_event_wait(dlaunch_event event, uint64_t stream, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_wait(event, stream, err));
}

dlaunch_status dlaunch_event_synchronize(dlaunch_event event, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_synchronize(event, err));
}

dlaunch_status dlaunch_event_query(dlaunch_event event, int32_t *done, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_query(event, done, err));
}

dlaunch_status dlaunch_event_elapsed(dlaunch_event start, dlaunch_event end, float *milliseconds, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_elapsed(start, end, milliseconds, err));
}

dlaunch_status dlaunch_event_close(dlaunch_event event, dlaunch_error *err) {
  GATE(err);
  return finish(go_event_close(event, err));
}

/* ---- devices and housekeeping */

dlaunch_status dlaunch_synchronize(int32_t device, dlaunch_error *err) {
  GATE(err);
  return finish(go_synchronize(device, err));
}

dlaunch_status dlaunch_device_enter(int32_t device, uint64_t *former, dlaunch_error *err) {
  GATE(err);
  return finish(go_device_enter(device, former, err));
}

dlaunch_status dlaunch_device_leave(uint64_t former, dlaunch_error *err) {
  GATE(err);
  return finish(go_device_leave(former, err));
}

dlaunch_status dlaunch_annotate(uint64_t handle, const char *text, dlaunch_error *err) {
  GATE(err);
  return finish(go_annotate(handle, (char *)text, err));
}

dlaunch_status dlaunch_disown(uint64_t handle, dlaunch_error *err) {
  GATE(err);
  return finish(go_disown(handle, err));
}

dlaunch_status dlaunch_retire(uint64_t handle, dlaunch_error *err) {
  GATE(err);
  return finish(go_retire(handle, err));
}

dlaunch_status dlaunch_drain(dlaunch_error *err) {
  GATE(err);
  dlaunch_status status = go_drain(err);
  while (dl_call_deleters() && status == DLAUNCH_OK) status = go_drain(err); /* deleters may have let more go */
  return status;
}

dlaunch_status dlaunch_report(char *buf, size_t size, size_t *needed, dlaunch_error *err) {
  GATE(err);
  return finish(go_report(buf, size, needed, err));
}
