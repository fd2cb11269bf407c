/* What the short way of a tensor (plain.h) and the long one (tensor.c) share. */
#ifndef DL_TENSOR_H
#define DL_TENSOR_H

#include <stddef.h>

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
    if (__builtin_expect(*size < 0, 0)) *size = extent;
    *wanted = *size;
    return extent == *size;
  }
  *wanted = dim->value;
  return dim->size == -1 || extent == dim->value;
}

/* Whether shape or strides are where no int64 can be. */
static inline bool dl_is_crooked(const DLTensor *t) { return (((uintptr_t)t->shape | (uintptr_t)t->strides) & 7) != 0; }

/* Addresses, offsets and elements below this are surely within memory, items of up to 32 bytes each. */
enum { DL_MOST_PLAIN_BITS = 57 };

#endif
