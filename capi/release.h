/*
 * Tensors that dlaunch has taken over. Their deleters are other people's code,
 * which may take locks, call dlaunch or unwind: so never under a Go frame. Go
 * only says which tensors it is done with; the gate calls their deleters when
 * Go has returned, on the same thread.
 */
#ifndef DL_RELEASE_H
#define DL_RELEASE_H

#include <stdbool.h>

#include "exec.h"

typedef struct dl_taken {
  struct dl_taken *next;
  void *managed; /* a DLManagedTensor, or a DLManagedTensorVersioned */
  bool versioned;
} dl_taken;

/* dl_take remembers a tensor, or gives NULL if out of memory. */
dl_taken *dl_take(void *managed, bool versioned);

/* dl_delete calls a tensor's deleter. */
void dl_delete(void *managed, bool versioned);

/* dl_give_back says that a dl_taken, by its address, is not needed any more. */
void dl_give_back(uint64_t taken);

/* dl_call_deleters ends what this thread's calls let go: false if that is nothing.
 * Not beneath Go. */
bool dl_call_deleters(void);

#endif
