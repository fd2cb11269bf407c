/* One thread for the process, made when it is first wanted. It ends with the process. */
#define _GNU_SOURCE
#include "standin.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { SECOND = 1000 * 1000 * 1000 }; /* ns */
enum { PATIENT = SECOND / 1000 };     /* a launch takes less on a busy machine too, and nobody minds */

static atomic_flag taken = ATOMIC_FLAG_INIT; /* guards the errand, from the caller's post to its answer */
static struct {
  int32_t (*call)(const void *);
  const void *what;
  int32_t answer;
} errand;
static sem_t posted, done;
static bool runs;

static void wait_for(sem_t *event) {
  while (sem_wait(event) != 0) { /* a signal's handler ran */
  }
}

static bool wait_a_little_for(sem_t *event) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  int64_t ns = until.tv_nsec + (int64_t)PATIENT;
  until.tv_sec += ns / SECOND;
  until.tv_nsec = ns % SECOND;
  int failed;
  while ((failed = sem_clockwait(event, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
  }
  return !failed;
}

static void *serve(void *unused) {
  (void)unused;
  for (;;) {
    wait_for(&posted);
    errand.answer = errand.call(errand.what);
    sem_post(&done);
  }
}

/* Signals are for the program's threads, but for those that tell what this one did. */
static void block_signals(sigset_t *former) {
  static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
  sigset_t others;
  sigfillset(&others);
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(&others, own[i]);
  pthread_sigmask(SIG_SETMASK, &others, former);
}

/* Where the process may run and as it is scheduled, whatever thread is the first to want this. */
static void start(void) {
  sem_init(&posted, 0, 0);
  sem_init(&done, 0, 0);
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
  cpu_set_t processors;
  if (sched_getaffinity(getpid(), sizeof processors, &processors) == 0) {
    pthread_attr_setaffinity_np(&attributes, sizeof processors, &processors);
  }
  sigset_t former;
  block_signals(&former);
  pthread_t thread;
  runs = pthread_create(&thread, &attributes, serve, NULL) == 0;
  pthread_sigmask(SIG_SETMASK, &former, NULL);
  pthread_attr_destroy(&attributes);
  if (runs) pthread_setname_np(thread, "dlaunch");
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
  bool in_time = wait_a_little_for(&done);
  void *state = in_time ? NULL : lock->before();
  if (!in_time) wait_for(&done);
  int32_t answer = errand.answer;
  atomic_flag_clear_explicit(&taken, memory_order_release);
  if (!in_time) lock->after(state);
  return answer;
}
