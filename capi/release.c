#include "release.h"

#include <stdlib.h>

/* What Go let go on this thread since the gate last looked. */
static __thread dl_taken *let_go __attribute__((tls_model("initial-exec")));

dl_taken *dl_take(void *managed, bool versioned) {
  dl_taken *taken = malloc(sizeof *taken);
  if (taken != NULL) *taken = (dl_taken){NULL, managed, versioned};
  return taken;
}

/* A forked child has not what the deleter would free, and in a process that ends
 * its library may be gone. */
void dl_delete(void *managed, bool versioned) {
  if ((atomic_load(&dl_attention) & (DL_FORKED | DL_EXITING)) != 0) return;
  if (versioned) {
    DLManagedTensorVersioned *tensor = managed;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
  } else {
    DLManagedTensor *tensor = managed;
    if (tensor->deleter != NULL) tensor->deleter(tensor);
  }
}

void dl_give_back(uint64_t taken) {
  dl_taken *t = (dl_taken *)(uintptr_t)taken;
  t->next = let_go;
  let_go = t;
}

/* The list is this call's alone before the first deleter runs: one that calls
 * dlaunch waits for what it let go itself, and for nothing else. */
bool dl_call_deleters(void) {
  dl_taken *mine = let_go;
  bool any = mine != NULL;
  let_go = NULL;
  while (mine != NULL) {
    dl_taken taken = *mine;
    free(mine);
    mine = taken.next;
    dl_delete(taken.managed, taken.versioned); /* may not come back: longjmp, a thread's end */
  }
  return any;
}
