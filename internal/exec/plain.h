/*
 * The short way of a tensor, inlined into the launch: for what nearly every one is,
 * of the dtype and rank that the prototype says, contiguous, with elements, on the
 * device. What is anything else goes the long way (tensor.c), which says what it is.
 */
#ifndef DL_PLAIN_H
#define DL_PLAIN_H

#include <stddef.h>
#include <string.h>

#include "hot.h"

/* The dl_tensor that a handle's DLTensor is part of. */
static inline dl_tensor *dl_owner_of(const DLTensor *t) {
  return (dl_tensor *)((uintptr_t)t - offsetof(dl_tensor, tensor));
}

/* Where an array is in use is what its memory waits for when it is closed, and what
 * others' streams wait for. */
static inline void dl_remember_stream(dl_tensor *tensor, uint64_t stream) {
  dl_tensor *owner = tensor->owner;
  for (int i = 0; i < DL_KNOWN_STREAMS; i++) {
    uint64_t known = atomic_load_explicit(&owner->streams[i], memory_order_relaxed);
    if (__builtin_expect(known == stream, 1)) return;
    if (known != DL_NO_STREAM) continue;
    if (atomic_compare_exchange_strong(&owner->streams[i], &known, stream) || known == stream) return;
  }
  if (stream != DL_NO_STREAM) atomic_fetch_or_explicit(&owner->elsewhere, DL_MORE_STREAMS, memory_order_relaxed);
}

/* An extent against what the prototype says of it; the first tensor to name a
 * size gives it its value. */
static inline bool dl_extent_fits(const dl_dim *dim, int64_t *sizes, int64_t extent, int64_t *wanted) {
  if (__builtin_expect(dim->size >= 0, 1)) {
    int64_t *size = &sizes[dim->size];
    if (*size < 0) *size = extent;
    *wanted = *size;
    return extent == *size;
  }
  *wanted = dim->value;
  return dim->size == -1 || extent == dim->value;
}

/* Whether shape or strides are where no int64 can be. */
static inline bool dl_is_crooked(const DLTensor *t) { return (((uintptr_t)t->shape | (uintptr_t)t->strides) & 7) != 0; }

/* Addresses and elements below this are surely within memory, items of up to 32 bytes each. */
enum { DL_MOST_PLAIN_BITS = 57 };

/* The tensor of an argument without marks and flags, NULL if it is none. */
static inline const DLTensor *dl_plain_tensor(const dlaunch_arg *arg) {
  if (arg->flags != 0) return NULL;
  if (__builtin_expect(arg->kind == DLAUNCH_ARG_TENSOR || arg->kind == DLAUNCH_ARG_MANAGED, 1)) {
    return arg->value.tensor; /* a managed tensor's comes first */
  }
  if (arg->kind == DLAUNCH_ARG_HANDLE) {
    uint64_t kind = dl_kind(arg->value.handle);
    dl_tensor *owner = (dl_tensor *)dl_find(arg->value.handle);
    bool is_tensor = owner != NULL && (kind == DL_KIND_ARRAY || kind == DL_KIND_TENSOR);
    return is_tensor && owner->flags == 0 ? &owner->tensor : NULL;
  }
  if (arg->kind != DLAUNCH_ARG_VERSIONED || arg->value.versioned == NULL) return NULL;
  const DLManagedTensorVersioned *v = arg->value.versioned;
  return v->version.major == DLPACK_MAJOR_VERSION && v->flags == 0 ? &v->dl_tensor : NULL;
}

/* False leaves sizes that were given here: the long way finds them again. */
static inline bool dl_put_plain(dl_pack *pack, const dl_step *step, const dlaunch_arg *arg) {
  const DLTensor *t = dl_plain_tensor(arg);
  if (__builtin_expect(t == NULL || t->device.device_type != kDLCUDA, 0)) return false;
  uint32_t dtype;
  memcpy(&dtype, &t->dtype, sizeof dtype); /* little-endian: as a step has it */
  int32_t rank = step->rank;
  if (__builtin_expect(dtype != step->dtype || t->ndim != rank, 0)) return false;
  const int64_t *shape = t->shape, *strides = t->strides;
  const dl_dim *dims = pack->kernel->program.dims + step->dims;
  if (__builtin_expect(rank != 0 && (shape == NULL || dl_is_crooked(t)), 0)) return false;
  int64_t contiguous = 1;
  for (int32_t axis = rank - 1; axis >= 0; axis--) {
    int64_t extent = shape[axis], wanted;
    if (__builtin_expect(extent <= 0 || !dl_extent_fits(&dims[axis], pack->sizes, extent, &wanted), 0)) return false;
    if (strides != NULL && __builtin_expect(strides[axis] != contiguous && extent != 1, 0)) return false;
    if (__builtin_mul_overflow(contiguous, extent, &contiguous)) return false;
  }
  uint64_t address = (uint64_t)(uintptr_t)t->data;
  if (__builtin_expect(address == 0 || __builtin_add_overflow(address, t->byte_offset, &address), 0)) return false;
  bool far = (address | (uint64_t)contiguous) >> DL_MOST_PLAIN_BITS != 0;
  if (__builtin_expect(far || (address & (step->align - 1)) != 0, 0)) return false;
  int32_t device = t->device.device_id;
  if (__builtin_expect(device != pack->device || device < 0, 0)) {
    if (pack->device >= 0 || device < 0 || device >= dl_the_driver.num_devices) return false;
    pack->device = device;
  }
  memcpy(pack->params + step->offset, &address, sizeof address);
  if (arg->kind == DLAUNCH_ARG_HANDLE) {
    pack->has_arrays = true;
    dl_remember_stream(dl_owner_of(t), pack->stream);
  }
  return true;
}

#endif
