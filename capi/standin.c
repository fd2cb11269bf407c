/* One thread for the process, made when it is first wanted. It ends with the process. */
#define _GNU_SOURCE
#include "standin.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { SECOND = 1000 * 1000 * 1000 }; /* ns */
enum { SPINS = SECOND / 50000 };      /* a launch takes less */
enum { PATIENT = SECOND / 1000 };     /* a launch takes less on a busy machine too, and nobody minds */

static atomic_flag taken = ATOMIC_FLAG_INIT; /* guards the errand, from the caller's post to its answer */
static struct {
  int32_t (*call)(const void *);
  const void *what;
  int32_t answer;
} errand;
static sem_t posted, done;
static bool runs;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * (int64_t)SECOND + t.tv_nsec;
}

/* Without sleeping. */
static bool look_for(sem_t *event) {
  enum { AT_ONCE = 64 };
  for (int64_t end = now() + SPINS; now() < end;) {
    for (int i = 0; i < AT_ONCE; i++) {
      if (sem_trywait(event) == 0) return true;
      __builtin_ia32_pause();
    }
  }
  return false;
}

static void wait_for(sem_t *event) {
  while (sem_wait(event) != 0) { /* a signal's handler ran */
  }
}

static bool wait_a_little_for(sem_t *event) {
  int64_t end = now() + PATIENT;
  struct timespec until = {.tv_sec = end / SECOND, .tv_nsec = end % SECOND};
  int failed;
  while ((failed = sem_clockwait(event, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
  }
  return !failed;
}

static void *serve(void *unused) {
  (void)unused;
  for (;;) {
    if (!look_for(&posted)) wait_for(&posted);
    errand.answer = errand.call(errand.what);
    sem_post(&done);
  }
}

static void start(void) {
  sem_init(&posted, 0, 0);
  sem_init(&done, 0, 0);
  sigset_t all, former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former); /* signals are for the program's threads */
  pthread_t thread;
  runs = pthread_create(&thread, NULL, serve, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &former, NULL);
  if (!runs) return;
  pthread_setname_np(thread, "dlaunch");
  pthread_detach(thread);
}

static int32_t call_here(int32_t (*call)(const void *), const void *what, const dl_hooks *lock) {
  void *state = lock->before();
  int32_t answer = call(what);
  lock->after(state);
  return answer;
}

int32_t dl_stand_in(int32_t (*call)(const void *), const void *what, const dl_hooks *lock) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start);
  if (!runs || atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) return call_here(call, what, lock);
  errand.call = call;
  errand.what = what;
  sem_post(&posted);
  if (!look_for(&done) && !wait_a_little_for(&done)) {
    void *state = lock->before();
    wait_for(&done);
    lock->after(state);
  }
  int32_t answer = errand.answer;
  atomic_flag_clear_explicit(&taken, memory_order_release);
  return answer;
}
