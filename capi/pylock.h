/*
 * When a launch lets go of the interpreter's lock. It must, as the driver may wait for room in
 * a queue that empties only once Python code has run. But beside a busy Python thread a lock
 * that was let go of comes back after 5 ms, the interpreter's switch interval. So one launch
 * in some is timed, and where the lock came back late, the next are made by a thread which
 * stands in for the launching one: that looks on with the lock, and lets go of it only if
 * the driver makes the launch wait.
 */
#ifndef DL_PYLOCK_H
#define DL_PYLOCK_H

#include "exec.h"
#include "python.h"

typedef struct dl_lock {
  dl_hooks released, timed, kept;
} dl_lock;

dl_lock dl_lock_of(const dl_python *py);

/* Of this thread: launches before one is timed; if negative, those that keep the lock. */
extern __thread int32_t dl_lock_turns __attribute__((tls_model("initial-exec")));

const dl_hooks *dl_lock_turn(const dl_lock *lock);

/* For one launch. */
static inline const dl_hooks *dl_lock_next(const dl_lock *lock) {
  if (__builtin_expect(dl_lock_turns <= 0, 0)) return dl_lock_turn(lock);
  dl_lock_turns--;
  return &lock->released;
}

#endif
