/*
 * What every launch runs, inlined into it: the way into and out of a section, and
 * from a handle to its object. The driver's call makes the processor forget branches, so
 * that those which are taken count more than instructions do.
 */
#ifndef DL_HOT_H
#define DL_HOT_H

#include <string.h>

#include "exec.h"

/* ---- numbers of 1, 2, 4 or 8 bytes, little-endian, without a call of memcpy */

static inline void dl_store(uint8_t *to, uint32_t size, uint64_t value) {
  switch (size) {
    case 8:
      memcpy(to, &value, 8);
      break;
    case 4:
      memcpy(to, &value, 4);
      break;
    case 2:
      memcpy(to, &value, 2);
      break;
    default:
      *to = (uint8_t)value;
  }
}

static inline uint64_t dl_load(const uint8_t *from, uint32_t size) {
  uint64_t value = 0;
  switch (size) {
    case 8:
      memcpy(&value, from, 8);
      break;
    case 4:
      memcpy(&value, from, 4);
      break;
    case 2:
      memcpy(&value, from, 2);
      break;
    default:
      value = *from;
  }
  return value;
}

/* ---- sections (section.c) */

extern __thread dl_thread *dl_this_thread __attribute__((tls_model("initial-exec")));
extern _Atomic bool dl_asymmetric; /* membarrier serves: a section need not fence */
dl_thread *dl_enrol(void);

/* NULL if this thread has no record, and there is no memory for one. */
static inline dl_thread *dl_enter(bool *nested) {
  dl_thread *t = dl_this_thread;
  if (__builtin_expect(t == NULL, 0) && (t = dl_enrol()) == NULL) return NULL;
  uint64_t section = atomic_load_explicit(&t->section, memory_order_relaxed);
  *nested = section & 1; /* a hook inside the driver launches: the outer section serves */
  if (__builtin_expect(*nested, 0)) return t;
  atomic_store_explicit(&t->section, section + 1, memory_order_relaxed);
  if (__builtin_expect(atomic_load_explicit(&dl_asymmetric, memory_order_relaxed), 1)) {
    atomic_signal_fence(memory_order_seq_cst); /* membarrier in dl_snapshot is the other half */
  } else {
    atomic_thread_fence(memory_order_seq_cst);
  }
  return t;
}

static inline void dl_leave(dl_thread *t, bool nested) {
  if (__builtin_expect(nested, 0)) return;
  uint64_t section = atomic_load_explicit(&t->section, memory_order_relaxed);
  atomic_store_explicit(&t->section, section + 1, memory_order_release);
}

/* ---- slots (slots.c) */

/* Two levels, since 2^24 slots are rare: chunks are made on demand, never freed. */
enum { DL_CHUNK_BITS = 12, DL_CHUNK = 1 << DL_CHUNK_BITS };
typedef _Atomic(dl_object *) dl_slot;
extern _Atomic(dl_slot *) dl_chunks[DL_CHUNK];

static inline uint32_t dl_slot_of(uint64_t handle) { return handle & 0xffffff; }

/* The open object of a handle, or NULL. Valid inside a section. */
static inline dl_object *dl_find(uint64_t handle) {
  uint32_t at = dl_slot_of(handle);
  dl_slot *chunk = atomic_load_explicit(&dl_chunks[at >> DL_CHUNK_BITS], memory_order_acquire);
  if (__builtin_expect(chunk == NULL, 0)) return NULL;
  dl_object *object = atomic_load_explicit(&chunk[at & (DL_CHUNK - 1)], memory_order_acquire);
  if (__builtin_expect(object == NULL, 0)) return NULL;
  return __builtin_expect(atomic_load_explicit(&object->id, memory_order_acquire) == handle, 1) ? object : NULL;
}

#endif
