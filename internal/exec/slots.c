/* Slots: from a handle to what it stands for, without a lock. */
#include <stdlib.h>

#include "hot.h"

_Atomic(dl_slot *) dl_chunks[DL_CHUNK];

bool dl_publish(uint64_t handle, dl_object *object) {
  uint32_t at = dl_slot_of(handle);
  dl_slot *chunk = atomic_load(&dl_chunks[at >> DL_CHUNK_BITS]);
  if (chunk == NULL) {
    dl_slot *made = calloc(DL_CHUNK, sizeof *made);
    if (made == NULL) return false;
    if (atomic_compare_exchange_strong(&dl_chunks[at >> DL_CHUNK_BITS], &chunk, made)) {
      chunk = made;
    } else {
      free(made);
    }
  }
  atomic_store(&object->id, handle);
  atomic_store_explicit(&chunk[at & (DL_CHUNK - 1)], object, memory_order_release);
  return true;
}

void dl_unpublish(uint64_t handle) {
  uint32_t at = dl_slot_of(handle);
  dl_slot *chunk = atomic_load(&dl_chunks[at >> DL_CHUNK_BITS]);
  if (chunk == NULL) return;
  dl_object *object = atomic_load(&chunk[at & (DL_CHUNK - 1)]);
  if (object == NULL || atomic_load(&object->id) != handle) return;
  atomic_store(&object->id, 0);
  atomic_store(&chunk[at & (DL_CHUNK - 1)], NULL);
}
