/* Sections: how closing waits for launches, at no cost to the launches. */
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hot.h"

_Atomic uint32_t dl_attention;

static _Atomic(dl_thread *) threads; /* every record ever made; none is freed */
static pthread_key_t leaving;        /* its destructor gives a record back */
_Atomic bool dl_asymmetric;
__thread dl_thread *dl_this_thread __attribute__((tls_model("initial-exec")));

static void thread_ends(void *record) {
  dl_thread *t = record;
  dl_this_thread = NULL; /* a later destructor of this thread that launches enrols again */
  uint64_t section = atomic_load_explicit(&t->section, memory_order_relaxed);
  if (section & 1) dl_leave(t, false); /* the thread ended inside a launch */
  atomic_store_explicit(&t->used, 0, memory_order_release);
}

static void forked(void) { atomic_fetch_or(&dl_attention, DL_FORKED); }

/* When the library is loaded: a fork before its first call is a fork all the same. */
__attribute__((constructor)) static void load(void) {
  pthread_key_create(&leaving, thread_ends);
  pthread_atfork(NULL, NULL, forked);
}

static void exiting(void) { atomic_fetch_or(&dl_attention, DL_EXITING); }

void dl_driver_opened(void) {
  atexit(exiting);
  /* In a process with threads this takes some 10 ms (seen: Linux 6.1), so not when
   * the library is loaded. Until it is done, sections fence. */
  bool registered = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  atomic_store(&dl_asymmetric, registered);
}

dl_thread *dl_enrol(void) {
  dl_thread *t;
  for (t = atomic_load(&threads); t != NULL; t = t->next) {
    uint32_t unused = 0;
    if (atomic_compare_exchange_strong(&t->used, &unused, 1)) break;
  }
  if (t == NULL) {
    t = aligned_alloc(_Alignof(dl_thread), sizeof *t);
    if (t == NULL) return NULL;
    *t = (dl_thread){.used = 1};
    t->next = atomic_load(&threads);
    while (!atomic_compare_exchange_weak(&threads, &t->next, t)) {
    }
  }
  pthread_setspecific(leaving, t);
  return dl_this_thread = t;
}

uint32_t dl_snapshot(dl_reader *readers, uint32_t max) {
  if (dl_asymmetric) {
    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  } else {
    atomic_thread_fence(memory_order_seq_cst);
  }
  uint32_t n = 0;
  for (dl_thread *t = atomic_load(&threads); t != NULL; t = t->next) {
    uint64_t section = atomic_load_explicit(&t->section, memory_order_acquire);
    if (!(section & 1)) continue;
    if (n < max) readers[n] = (dl_reader){t, section};
    n++;
  }
  return n;
}

bool dl_has_left(const dl_reader *reader) {
  return atomic_load_explicit(&reader->thread->section, memory_order_acquire) != reader->section;
}

uint64_t dl_fast_launches(void) {
  uint64_t sum = 0;
  for (dl_thread *t = atomic_load(&threads); t != NULL; t = t->next) {
    sum += atomic_load_explicit(&t->fast, memory_order_relaxed);
  }
  return sum;
}
