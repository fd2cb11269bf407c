/*
 * The short way of a tensor, inlined into the launch: for what nearly every one is,
 * of the dtype and rank that the prototype says, contiguous, with elements, on the
 * device. What is anything else goes the long way (tensor.c), which says what it is.
 */
#ifndef DL_PLAIN_H
#define DL_PLAIN_H

#include <string.h>

#include "tensor.h"

/* The kind of an argument and its marks, as one number: few arguments have any. */
static inline uint32_t dl_kind_and_marks(const dlaunch_arg *arg) { return arg->kind | (uint32_t)arg->flags << 16; }

/* The tensor of an argument without marks and flags, NULL if it is none. */
static inline const DLTensor *dl_plain_tensor(const dlaunch_arg *arg) {
  uint32_t kind = dl_kind_and_marks(arg);
  if (__builtin_expect(kind == DLAUNCH_ARG_TENSOR, 1)) return arg->value.tensor;
  if (kind == DLAUNCH_ARG_MANAGED) return arg->value.tensor; /* which comes first in it */
  if (kind != DLAUNCH_ARG_VERSIONED || arg->value.versioned == NULL) return NULL;
  const DLManagedTensorVersioned *v = arg->value.versioned;
  return v->version.major == DLPACK_MAJOR_VERSION && v->flags == 0 ? &v->dl_tensor : NULL;
}

/* The array of a handle, in C order and without flags; or NULL. */
static inline dl_tensor *dl_plain_array(const dlaunch_arg *arg) {
  uint64_t kind = dl_kind(arg->value.handle);
  if (__builtin_expect(kind != DL_KIND_ARRAY && kind != DL_KIND_TENSOR, 0)) return NULL;
  dl_tensor *array = (dl_tensor *)dl_find(arg->value.handle);
  return array != NULL && array->in_order ? array : NULL;
}

/* What the short way of one argument after the other needs of dl_pack. */
typedef struct dl_short_way {
  uint8_t *params;
  int64_t *sizes;
  const dl_dim *dims;
  int32_t device;
} dl_short_way;

/* Whether a tensor is what a step wants, on the GPU where the launch's first one is. */
static inline bool dl_is_wanted(dl_short_way *way, const dl_step *step, const DLTensor *t) {
  uint32_t dtype;
  memcpy(&dtype, &t->dtype, sizeof dtype); /* little-endian: as a step has it */
  uint32_t differs = (dtype ^ step->dtype) | ((uint32_t)t->ndim ^ step->rank) | (t->device.device_type ^ kDLCUDA);
  if (__builtin_expect(differs != 0, 0)) return false;
  int32_t device = t->device.device_id;
  if (__builtin_expect(device != way->device, 0)) {
    if (way->device >= 0 || device >= dl_the_driver.num_devices) return false;
    way->device = device;
  }
  return device >= 0;
}

static inline bool dl_put_address(const dl_short_way *way, const dl_step *step, uint64_t address) {
  if (__builtin_expect((address & (step->align - 1)) != 0, 0)) return false;
  memcpy(way->params + step->offset, &address, sizeof address);
  return true;
}

/* These leave sizes that were given where they say false: the long way finds them again. */

static inline bool dl_put_plain_array(dl_short_way *way, const dl_step *step, const dl_tensor *array) {
  const DLTensor *t = &array->tensor;
  if (__builtin_expect(!dl_is_wanted(way, step, t), 0)) return false;
  const dl_dim *dim = way->dims + step->dims;
  int64_t wanted;
  uint32_t axis = step->rank;
  if (__builtin_expect(axis != 0, 1)) {
    do { /* from the last, as everywhere: what is said of two that differ depends on it */
      axis--;
      if (__builtin_expect(!dl_extent_fits(&dim[axis], way->sizes, t->shape[axis], &wanted), 0)) return false;
    } while (__builtin_expect(axis != 0, 0));
  }
  return dl_put_address(way, step, (uint64_t)(uintptr_t)t->data);
}

static inline bool dl_put_plain_tensor(dl_short_way *way, const dl_step *step, const DLTensor *t) {
  if (__builtin_expect(!dl_is_wanted(way, step, t), 0)) return false;
  const int64_t *shape = t->shape, *strides = t->strides;
  const dl_dim *dim = way->dims + step->dims;
  int64_t contiguous = 1, wanted;
  uint32_t axis = step->rank;
  if (__builtin_expect(axis != 0, 1)) {
    if (__builtin_expect(shape == NULL || dl_is_crooked(t), 0)) return false;
    do {
      int64_t extent = shape[--axis];
      if (__builtin_expect(extent <= 0, 0)) return false;
      if (__builtin_expect(!dl_extent_fits(&dim[axis], way->sizes, extent, &wanted), 0)) return false;
      bool steps = __builtin_expect(strides != NULL, 1) && strides[axis] != contiguous;
      if (__builtin_expect(steps && extent != 1, 0)) return false;
      if (__builtin_expect(__builtin_mul_overflow(contiguous, extent, &contiguous), 0)) return false;
    } while (__builtin_expect(axis != 0, 0));
  }
  uint64_t data = (uint64_t)(uintptr_t)t->data;
  if (__builtin_expect(data < DL_FIRST_PAGE, 0)) return false;
  if (__builtin_expect((data | t->byte_offset | (uint64_t)contiguous) >> DL_MOST_PLAIN_BITS != 0, 0)) return false;
  return dl_put_address(way, step, data + t->byte_offset);
}

/* Integers and floats of 4 or 8 bytes. */
static inline bool dl_put_plain_number(dl_short_way *way, const dl_step *step, const dlaunch_arg *arg) {
  uint8_t *to = way->params + step->offset;
  uint64_t value = arg->value.u;
  uint32_t kind = dl_kind_and_marks(arg);
  if (step->format == DL_FORMAT_FLOAT) {
    if (kind != DLAUNCH_ARG_FLOAT) return false;
    if (step->size == sizeof(double)) {
      memcpy(to, &value, sizeof value);
      return true;
    }
    float narrow = (float)arg->value.f;
    if (__builtin_expect(__builtin_isinf(narrow), 0)) return false; /* the number may be finite */
    memcpy(to, &narrow, sizeof narrow);
    return true;
  }
  if (kind != DLAUNCH_ARG_INT) return false;
  if (__builtin_expect((arg->value.i < 0) & (step->format == DL_FORMAT_UNSIGNED), 0)) return false;
  if (step->size == sizeof value) {
    memcpy(to, &value, sizeof value);
    return true;
  }
  uint32_t low = (uint32_t)value;
  bool fits = step->format == DL_FORMAT_UNSIGNED ? low == value : (int64_t)(int32_t)low == arg->value.i;
  memcpy(to, &low, sizeof low);
  return fits;
}

/* Packs arguments from the one at `from` on, and gives the index of the first that is
 * not for the short way. */
static __attribute__((noinline)) uint32_t dl_put_plain(dl_pack *pack, const dlaunch_arg *args, uint32_t from,
                                                       uint32_t num_args) {
  const dl_program *program = &pack->kernel->program;
  const dl_step *step = program->steps + from;
  dl_short_way way = {pack->params, pack->sizes, program->dims, pack->device};
  uint32_t i = from;
  for (; i < num_args && step->flags & DL_PLAIN; i++, step++) {
    const dlaunch_arg *arg = &args[i];
    bool done;
    if (__builtin_expect(step->op != DL_OP_TENSOR, 0)) {
      done = dl_put_plain_number(&way, step, arg);
    } else if (__builtin_expect(dl_kind_and_marks(arg) == DLAUNCH_ARG_HANDLE, 1)) {
      dl_tensor *array = dl_plain_array(arg);
      done = array != NULL && dl_put_plain_array(&way, step, array);
      if (__builtin_expect(done, 1)) {
        pack->has_arrays = true;
        dl_remember_stream(array, pack->stream);
      }
    } else {
      const DLTensor *t = dl_plain_tensor(arg);
      done = t != NULL && dl_put_plain_tensor(&way, step, t);
    }
    if (__builtin_expect(!done, 0)) break;
  }
  pack->device = way.device;
  return i;
}

#endif
