/* Slots: from a handle to what it stands for, without a lock. */
#include <stdlib.h>

#include "exec.h"

/* Two levels, since 2^24 slots are rare: chunks are made on demand, never freed. */
enum { CHUNK_BITS = 12, CHUNK = 1 << CHUNK_BITS };

typedef _Atomic(dl_object *) slot;
static _Atomic(slot *) chunks[CHUNK];

static uint32_t slot_of(uint64_t handle) { return handle & 0xffffff; }

dl_object *dl_find(uint64_t handle) {
  uint32_t at = slot_of(handle);
  slot *chunk = atomic_load_explicit(&chunks[at >> CHUNK_BITS], memory_order_acquire);
  if (chunk == NULL) return NULL;
  dl_object *object = atomic_load_explicit(&chunk[at & (CHUNK - 1)], memory_order_acquire);
  if (object == NULL || atomic_load_explicit(&object->id, memory_order_acquire) != handle) return NULL;
  return object;
}

bool dl_publish(uint64_t handle, dl_object *object) {
  uint32_t at = slot_of(handle);
  slot *chunk = atomic_load(&chunks[at >> CHUNK_BITS]);
  if (chunk == NULL) {
    slot *made = calloc(CHUNK, sizeof *made);
    if (made == NULL) return false;
    if (atomic_compare_exchange_strong(&chunks[at >> CHUNK_BITS], &chunk, made)) {
      chunk = made;
    } else {
      free(made);
    }
  }
  atomic_store(&object->id, handle);
  atomic_store_explicit(&chunk[at & (CHUNK - 1)], object, memory_order_release);
  return true;
}

void dl_unpublish(uint64_t handle) {
  uint32_t at = slot_of(handle);
  slot *chunk = atomic_load(&chunks[at >> CHUNK_BITS]);
  if (chunk == NULL) return;
  dl_object *object = atomic_load(&chunk[at & (CHUNK - 1)]);
  if (object == NULL || atomic_load(&object->id) != handle) return;
  atomic_store(&object->id, 0);
  atomic_store(&chunk[at & (CHUNK - 1)], NULL);
}
