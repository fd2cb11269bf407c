#include "pylock.h"

#include "standin.h"

enum {
  RELEASED = 8,   /* launches between two that are timed: so many may be late before it is seen */
  KEPT = 1000,    /* so that the 5 ms of the next that is timed are 5 µs of each */
  LATE = 1 << 18, /* of the processor's time stamps, some 100 µs: none but a busy thread keeps the lock so long */
};

__thread int32_t dl_lock_turns __attribute__((tls_model("initial-exec")));
static __thread bool was_late __attribute__((tls_model("initial-exec")));

static void take_timed(void *state) {
  uint64_t begin = __builtin_ia32_rdtsc();
  dl_find_python()->PyEval_RestoreThread(state);
  bool is_late = __builtin_ia32_rdtsc() - begin >= LATE;
  if (!is_late) {
    dl_lock_turns = RELEASED;
  } else if (was_late) { /* once may be anything that took this thread's processor away */
    dl_lock_turns = -KEPT;
  }
  was_late = is_late;
}

dl_lock dl_lock_of(const dl_python *py) {
  dl_hooks released = {py->PyEval_SaveThread, py->PyEval_RestoreThread, NULL};
  return (dl_lock){
      .released = released,
      .timed = {released.before, take_timed, NULL},
      .kept = {released.before, released.after, dl_stand_in},
  };
}

const dl_hooks *dl_lock_turn(const dl_lock *lock) {
  if (dl_lock_turns == 0) return &lock->timed;
  dl_lock_turns++;
  return &lock->kept;
}
