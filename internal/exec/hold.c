/* What CUDA graphs held: the driver says on a thread of its own that it needs it no more. */
#include <stdlib.h>

#include "exec.h"

struct dl_hold {
  struct dl_hold *next;
  uint64_t id;
};

static _Atomic(dl_hold *) ended;

dl_hold *dl_hold_new(uint64_t id) {
  dl_hold *hold = malloc(sizeof *hold);
  if (hold != NULL) *hold = (dl_hold){NULL, id};
  return hold;
}

/* CUDA may not be called here, and what Go or Python would wait for may be held by
 * whoever waits for this: so the end is only written down. */
void dl_hold_ends(void *of) {
  dl_hold *hold = of;
  hold->next = atomic_load_explicit(&ended, memory_order_relaxed);
  while (
      !atomic_compare_exchange_weak_explicit(&ended, &hold->next, hold, memory_order_release, memory_order_relaxed)) {
  }
}

dl_hold *dl_holds_ended(void) {
  if (atomic_load_explicit(&ended, memory_order_relaxed) == NULL) return NULL;
  return atomic_exchange_explicit(&ended, NULL, memory_order_acquire);
}

uint64_t dl_hold_take(dl_hold **list) {
  dl_hold *hold = *list;
  uint64_t id = hold->id;
  *list = hold->next;
  free(hold);
  return id;
}
