/*
 * Some threads launch with a kernel, an array and a stream while another closes
 * them and makes new ones: each launch is done, or its handle was closed.
 */
#include "contract.h"

#include <pthread.h>
#include <time.h>

enum { LAUNCHERS = 3, ROUNDS = 150, N = 32 };

typedef struct place { /* what is open now, for all to read */
  uint64_t kernel, array, stream;
  int done;
} place;

static place here;
static const char *folder;

static uint64_t get(const uint64_t *from) { return __atomic_load_n(from, __ATOMIC_SEQ_CST); }
static uint64_t put(uint64_t *to, uint64_t value) { return __atomic_exchange_n(to, value, __ATOMIC_SEQ_CST); }

/* Threads that launch without a pause keep libcuda's locks from those that close
 * (seen: 580): the test would be of that. */
static void rest(void) {
  static const struct timespec moment = {0, 100000};
  nanosleep(&moment, NULL);
}

static void *launch_all_the_time(void *done) {
  long *launched = (long *)done;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, N);
  dlaunch_arg args[3];
  dlaunch_status status;
  args[0] = arg_float(0);
  while (!__atomic_load_n(&here.done, __ATOMIC_SEQ_CST)) {
    config.stream = get(&here.stream);
    args[1] = args[2] = arg_handle(get(&here.array));
    status = dlaunch_launch(get(&here.kernel), &config, args, 3, &err);
    if (status == DLAUNCH_OK) {
      if (++*launched % 16 == 0) rest();
      continue;
    }
    if (status != DLAUNCH_ERROR_HANDLE) fprintf(stderr, "%s\n", err.message);
    CHECK(status == DLAUNCH_ERROR_HANDLE);
  }
  return NULL;
}

/* Reports and housekeeping run beside it all. */
static void *look_all_the_time(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&here.done, __ATOMIC_SEQ_CST)) {
    free(get_report());
    CHECK(dlaunch_drain(NULL) == DLAUNCH_OK);
  }
  return NULL;
}

static void open_kernel(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "saxpy");
  uint64_t old = put(&here.kernel, get_kernel(library, SAXPY));
  OK(dlaunch_library_close(library, &err));
  if (old != 0) OK(dlaunch_kernel_close(old, &err));
}

static void open_array(void) {
  static const float zeros[N] = {0};
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array array = make_array(N);
  uint64_t old;
  OK(dlaunch_array_write(array, zeros, sizeof zeros, 0, &err));
  old = put(&here.array, array);
  if (old != 0) OK(dlaunch_retire(old, &err));
}

static void open_stream(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_stream stream = 0;
  uint64_t old;
  OK(dlaunch_stream_create(0, 0, &stream, &err));
  old = put(&here.stream, stream);
  if (old != 0) OK(dlaunch_stream_close(old, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  pthread_t launchers[LAUNCHERS], looker;
  long launched[LAUNCHERS] = {0}, total = 0;
  int i;
  CHECK(argc > 1);
  folder = argv[1];
  open_kernel();
  open_array();
  open_stream();
  for (i = 0; i < LAUNCHERS; i++) CHECK(pthread_create(&launchers[i], NULL, launch_all_the_time, &launched[i]) == 0);
  CHECK(pthread_create(&looker, NULL, look_all_the_time, NULL) == 0);
  for (i = 0; i < ROUNDS; i++) {
    open_kernel();
    open_array();
    open_stream();
  }
  __atomic_store_n(&here.done, 1, __ATOMIC_SEQ_CST);
  for (i = 0; i < LAUNCHERS; i++) {
    CHECK(pthread_join(launchers[i], NULL) == 0);
    total += launched[i];
  }
  CHECK(pthread_join(looker, NULL) == 0);
  CHECK(total > 0);
  OK(dlaunch_kernel_close(here.kernel, &err));
  OK(dlaunch_array_close(here.array, &err));
  OK(dlaunch_stream_close(here.stream, &err));
  check_nothing_lives();
  return 0;
}
