/*
 * A kernel is closed while another thread asks about it. Whichever call lets go of
 * what the kernel holds last calls the deleter: none is left to a thread that calls
 * nothing any more.
 */
#include "contract.h"

#include <pthread.h>

enum { ROUNDS = 400 };

typedef dlaunch_status (*question)(dlaunch_kernel kernel);

static dlaunch_status ask_attribute(dlaunch_kernel kernel) {
  int32_t value;
  return dlaunch_kernel_attribute(kernel, 0, 0, &value, NULL);
}

static dlaunch_status set_attribute(dlaunch_kernel kernel) {
  return dlaunch_kernel_set_attribute(kernel, 9, 0, 50, NULL);
}

static dlaunch_status load(dlaunch_kernel kernel) { return dlaunch_kernel_load(kernel, 0, NULL); }

static dlaunch_status ask_blocks(dlaunch_kernel kernel) {
  int32_t blocks;
  return dlaunch_kernel_max_active_blocks(kernel, 0, 32, 0, &blocks, NULL);
}

static dlaunch_status ask_shared(dlaunch_kernel kernel) {
  size_t bytes;
  return dlaunch_kernel_available_shared_bytes(kernel, 0, 1, 32, &bytes, NULL);
}

static const question questions[] = {ask_attribute, set_attribute, load, ask_blocks, ask_shared};

typedef struct round { /* what is asked, until the kernel is closed */
  question ask;
  uint64_t kernel;
  int asked;
} round_of;

static void *ask_until_closed(void *data) {
  round_of *r = (round_of *)data;
  while (r->ask(r->kernel) == DLAUNCH_OK) __atomic_store_n(&r->asked, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static int deleted;

static void count(DLManagedTensor *self) {
  (void)self;
  __atomic_fetch_add(&deleted, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library;
  dlaunch_kernel saxpy;
  dlaunch_array array;
  DLManagedTensor managed;
  DLDataType f32 = {kDLFloat, 32, 1};
  int64_t shape[] = {8};
  int i, rounds = 0;
  CHECK(argc == 3);
  library = load_kernels(argv[1], "saxpy");
  saxpy = get_kernel(library, SAXPY);
  OK(dlaunch_array_create(0, f32, 1, shape, &array, &err));
  memset(&managed, 0, sizeof managed);
  OK(dlaunch_array_tensor(array, &managed.dl_tensor, &err));
  managed.deleter = count;
  for (i = 0; i < ROUNDS * (int)(sizeof questions / sizeof *questions); i++) {
    dlaunch_tensor tensor;
    dlaunch_arg arg;
    round_of r;
    pthread_t thread;
    OK(dlaunch_tensor_import(&managed, &tensor, &err));
    arg = arg_handle(tensor);
    memset(&r, 0, sizeof r);
    r.ask = questions[i / ROUNDS];
    OK(dlaunch_kernel_bind(saxpy, 1, &arg, &r.kernel, &err));
    OK(dlaunch_tensor_close(tensor, &err));
    CHECK(pthread_create(&thread, NULL, ask_until_closed, &r) == 0);
    while (!__atomic_load_n(&r.asked, __ATOMIC_SEQ_CST)) continue;
    OK(dlaunch_kernel_close(r.kernel, &err));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(dlaunch_drain(&err));
    CHECK(deleted == ++rounds);
  }
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_kernel_close(saxpy, &err));
  OK(dlaunch_library_close(library, &err));
  return 0;
}
