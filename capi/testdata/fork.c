/* A forked child gets DLAUNCH_ERROR_FORKED, from every function, and at once. */
#include "producer.h"

#include <sys/wait.h>
#include <unistd.h>

#define FORKED(call) REFUSED(DLAUNCH_ERROR_FORKED, "forked", call)

static dlaunch_library library;
static dlaunch_kernel kernel;
static dlaunch_array array;
static struct DLManagedTensorVersioned *exported;
static product imported, left;
static dlaunch_tensor tensor_handle;

static void in_the_child(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT;
  dlaunch_config config = make_config(1, 32);
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  DLTensor tensor;
  struct DLManagedTensorVersioned *more;
  dlaunch_arg args[3];
  dlaunch_library out = 7;
  int32_t number;
  uint32_t count;
  uint64_t address;
  float data[4];
  size_t bytes;
  alarm(20); /* to hang is to fail */
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(array);

  CHECK(dlaunch_abi_version() == DLAUNCH_ABI_VERSION);
  CHECK(dlaunch_version()[0] != 0);
  CHECK(strcmp(dlaunch_status_name(DLAUNCH_ERROR_FORKED), "DLAUNCH_ERROR_FORKED") == 0);
  FORKED(dlaunch_driver_info(&info, &err));
  FORKED(dlaunch_device_count(&number, &err));
  FORKED(dlaunch_device_attribute(0, 1, &number, &err));
  FORKED(dlaunch_memory_info(0, &bytes, &bytes, &err));
  FORKED(dlaunch_library_load("x", 1, NULL, &out, &err));
  CHECK(out == 0);
  FORKED(dlaunch_library_load_file("x", NULL, &out, &err));
  FORKED(dlaunch_link(NULL, 0, NULL, &out, &err));
  CHECK(out == 0);
  FORKED(dlaunch_library_architectures(library, NULL, 0, &bytes, &err));
  FORKED(dlaunch_library_kernel_count(library, &count, &err));
  FORKED(dlaunch_library_kernel_name(library, 0, NULL, 0, &bytes, &err));
  FORKED(dlaunch_library_global(library, 0, "x", &address, &bytes, &err));
  FORKED(dlaunch_library_global_name(library, 0, NULL, 0, &bytes, &err));
  FORKED(dlaunch_library_close(library, &err));
  FORKED(dlaunch_kernel_get(library, "saxpy", &out, &err));
  FORKED(dlaunch_kernel_prototype(kernel, NULL, 0, &bytes, &err));
  FORKED(dlaunch_kernel_parameter(kernel, 0, &parameter, &err));
  FORKED(dlaunch_kernel_close(kernel, &err));
  FORKED(dlaunch_launch(kernel, &config, args, 3, &err));
  FORKED(dlaunch_launch_tensors(kernel, &config, &exported, 1, &err));
  FORKED(dlaunch_launch_managed(kernel, &config, NULL, 0, &err));
  FORKED(dlaunch_launch_many(NULL, 0, &count, &err));
  out = 7;
  FORKED(dlaunch_graph_create(NULL, 0, &out, &err));
  CHECK(out == 0);
  FORKED(dlaunch_graph_launch(1, 0, &err));
  FORKED(dlaunch_graph_close(1, &err));
  out = 7;
  FORKED(dlaunch_kernel_bind(kernel, 0, args, &out, &err));
  CHECK(out == 0);
  FORKED(dlaunch_library_bind(library, "x", args, &err));
  FORKED(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 0, NULL, &out, &err));
  FORKED(dlaunch_array_write(array, data, sizeof data, 0, &err));
  FORKED(dlaunch_array_read(array, data, sizeof data, 0, &err));
  FORKED(dlaunch_array_tensor(array, &tensor, &err));
  FORKED(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 0, NULL, NULL, 0, &out, &err));
  FORKED(dlaunch_array_wait(array, 0, &err));
  FORKED(dlaunch_array_export(array, &more, &err));
  FORKED(dlaunch_array_close(array, &err));
  FORKED(dlaunch_tensor_close(tensor_handle, &err));
  out = 7;
  FORKED(dlaunch_tensor_import(&left.legacy, &out, &err));
  CHECK(out == 0);
  FORKED(dlaunch_tensor_import_versioned(&left.versioned, NULL, &err));
  CHECK(times_deleted(&imported) == 0 && times_deleted(&left) == 0); /* what it would free is the parent's */
  FORKED(dlaunch_event_create(0, 0, &out, &err));
  FORKED(dlaunch_event_record(1, 0, &err));
  FORKED(dlaunch_event_wait(1, 0, &err));
  FORKED(dlaunch_event_synchronize(1, &err));
  FORKED(dlaunch_event_query(1, &number, &err));
  FORKED(dlaunch_event_elapsed(1, 1, data, &err));
  FORKED(dlaunch_event_close(1, &err));
  FORKED(dlaunch_stream_create(0, 0, &out, &err));
  FORKED(dlaunch_stream_native(1, &address, &err));
  FORKED(dlaunch_stream_synchronize(0, &err));
  FORKED(dlaunch_stream_query(0, &number, &err));
  FORKED(dlaunch_device_enter(0, &address, &err));
  FORKED(dlaunch_device_leave(0, &err));
  FORKED(dlaunch_annotate(array, "x", &err));
  FORKED(dlaunch_disown(array, &err));
  FORKED(dlaunch_stream_close(1, &err));
  FORKED(dlaunch_synchronize(0, &err));
  FORKED(dlaunch_retire(kernel, &err));
  FORKED(dlaunch_drain(&err));
  FORKED(dlaunch_report(NULL, 0, &bytes, &err));
  CHECK(dlaunch_launch(kernel, &config, args, 3, NULL) == DLAUNCH_ERROR_FORKED);
  exported->deleter(exported); /* a finalizer that the child inherited */
}

/* The child ends by exit(), so that what runs then runs in it too. */
static void fork_once(void) {
  int status = 0;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    in_the_child();
    exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  CHECK(argc > 1);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  array = make_array(4);
  OK(dlaunch_array_export(array, &exported, &err));
  produce(&imported, 1);
  produce(&left, 0);
  OK(import_product(&imported, &tensor_handle, &err));
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(array);
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  fork_once();

  OK(dlaunch_launch(kernel, &config, args, 3, &err)); /* the parent goes on */
  exported->deleter(exported);
  OK(dlaunch_tensor_close(tensor_handle, &err));
  CHECK(times_deleted(&imported) == 1);
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  check_nothing_lives();
  return 0;
}
