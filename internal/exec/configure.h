/*
 * A configuration, checked and in the driver's form, and the device that it means:
 * for the launch, which inlines this, and for questions about one (ask.c).
 */
#ifndef DL_CONFIGURE_H
#define DL_CONFIGURE_H

#include <string.h>

#include "hot.h"

enum { LEGACY_STREAMS = 1, DEFAULT_STREAMS = 2 }; /* and what is below */
enum { PER_THREAD_STREAM = 2 };

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
static inline __attribute__((always_inline)) int32_t check_limits(dl_launch_config *out, const dlaunch_config *config,
                                                                  const dl_limits *limits, dl_fault *fault) {
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

static int32_t device_of_context(const void *context) {
  for (int32_t i = 0; i < dl_the_driver.num_devices; i++) {
    if (atomic_load_explicit(&dl_the_driver.contexts[i], memory_order_relaxed) == context) return i;
  }
  return -1;
}

/* Nothing is to be found out: tensors are on the one device, or nowhere. */
static inline bool is_sole_device(const dlaunch_config *config) {
  return (dl_the_driver.num_devices == 1) & (config->stream >> 48 == 0);
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

#endif
