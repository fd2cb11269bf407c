/* The last look at what is open: DLAUNCH_LEAK. */
#include "exit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "_cgo_export.h"

enum { LEAKED = 23 }; /* as LeakSanitizer has it */

static bool fails_then;

static void *look(void *found) {
  *(bool *)found = go_leaks();
  return NULL;
}

/* Go looks on a thread of its own. It keeps to the signal stack that a thread had when
 * it first entered Go, and that of Python's main thread may be gone by now: it was
 * faulthandler's (seen: Python 3.11, -X faulthandler). */
static bool anything_is_open(void) {
  pthread_t thread;
  bool found = false;
  if (pthread_create(&thread, NULL, look, &found) == 0) pthread_join(thread, NULL);
  return found;
}

/* An exit status that is not 0 tells of another failure, and stays. */
static void look_for_leaks(int status, void *unused) {
  (void)unused;
  if (atomic_load(&dl_attention) & DL_FORKED) return; /* they are the parent's */
  if (!anything_is_open() || !fails_then || status != 0) return;
  fflush(NULL);
  _exit(LEAKED);
}

void dl_look_for_leaks_at_exit(bool fails) {
  fails_then = fails;
  on_exit(look_for_leaks, NULL);
}

static char *log_setting, *leak_setting;

static char *copy_of(const char *name) {
  const char *value = getenv(name);
  return value != NULL ? strdup(value) : NULL;
}

/* Before Go's runtime starts, which is on another thread: main may setenv meanwhile. */
__attribute__((constructor(101))) static void read_settings(void) {
  log_setting = copy_of("DLAUNCH_LOG");
  leak_setting = copy_of("DLAUNCH_LEAK");
}

const char *dl_log_setting(void) { return log_setting != NULL ? log_setting : ""; }

const char *dl_leak_setting(void) { return leak_setting != NULL ? leak_setting : ""; }
