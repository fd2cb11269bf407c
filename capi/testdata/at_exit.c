/*
 * exit() with everything open and threads that launch: the process ends with
 * its own code. What runs before dlaunch's handler still works; what runs after
 * it is answered, and touches nothing.
 */
#include "producer.h"

#include <pthread.h>
#include <unistd.h>

static dlaunch_kernel kernel;
static dlaunch_array array;
static struct DLManagedTensorVersioned *exported;
static product imported, closed, late;
static dlaunch_tensor tensor, to_close;
static int late_handler_ran;

/* _exit from a handler is the only way to be heard. */
#define CHECK_EXITING(what)                                                                \
  do {                                                                                     \
    if (!(what)) {                                                                         \
      fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, err.message); \
      _exit(1);                                                                            \
    }                                                                                      \
  } while (0)

static dlaunch_status launch_once(dlaunch_error *err) {
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(array);
  return dlaunch_launch(kernel, &config, args, 3, err);
}

static void *launch_for_ever(void *unused) {
  (void)unused;
  for (;;) launch_once(NULL);
  return NULL;
}

/* Registered after the driver was opened, so run before dlaunch's handler. */
static void runs_before(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  late_handler_ran = 1;
  CHECK_EXITING(launch_once(&err) == DLAUNCH_OK);
  CHECK_EXITING(dlaunch_tensor_close(to_close, &err) == DLAUNCH_OK);
}

/* Registered before, so run after. */
static void runs_after(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t count = 0;
  CHECK_EXITING(late_handler_ran);
  CHECK_EXITING(launch_once(&err) == DLAUNCH_ERROR_DRIVER && err.driver_code == 4);
  CHECK_EXITING(dlaunch_device_count(&count, &err) == DLAUNCH_ERROR_DRIVER && err.driver_code == 4);
  CHECK_EXITING(dlaunch_array_close(array, &err) == DLAUNCH_ERROR_DRIVER && err.driver_code == 4);
  exported->deleter(exported);
  /* What a deleter frees may be gone: tensors are left, also those that come now. */
  CHECK_EXITING(dlaunch_tensor_close(tensor, &err) == DLAUNCH_ERROR_DRIVER && err.driver_code == 4);
  CHECK_EXITING(import_product(&late, &tensor, &err) == DLAUNCH_ERROR_DRIVER && err.driver_code == 4);
  CHECK_EXITING(tensor == 0 && times_deleted(&late) == 0 && times_deleted(&imported) == 0);
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  pthread_t thread;
  int i;
  CHECK(argc > 1);
  CHECK(atexit(runs_after) == 0);
  kernel = get_kernel(load_kernels(argv[1], "saxpy"), SAXPY);
  array = make_array(4);
  OK(dlaunch_array_export(array, &exported, &err));
  produce(&imported, 1);
  produce(&closed, 0);
  produce(&late, 1);
  OK(import_product(&imported, &tensor, &err));
  OK(import_product(&closed, &to_close, &err));
  OK(launch_once(&err));
  CHECK(atexit(runs_before) == 0);
  for (i = 0; i < 2; i++) CHECK(pthread_create(&thread, NULL, launch_for_ever, NULL) == 0);
  usleep(20000);
  exit(0);
}
