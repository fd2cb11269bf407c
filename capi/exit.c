/* The last look at what is open: DLAUNCH_LEAK. */
#include "exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "_cgo_export.h"

enum { LEAKED = 23 }; /* as LeakSanitizer has it */

static bool fails_then;

/* An exit status that is not 0 tells of another failure, and stays. */
static void look_for_leaks(int status, void *unused) {
  (void)unused;
  if (atomic_load(&dl_attention) & DL_FORKED) return; /* they are the parent's */
  if (!go_leaks() || !fails_then || status != 0) return;
  fflush(NULL);
  _exit(LEAKED);
}

void dl_look_for_leaks_at_exit(bool fails) {
  fails_then = fails;
  on_exit(look_for_leaks, NULL);
}
