/* Every function with each of its pointers NULL, and with no handle at all. */
#include "contract.h"

/* Once with a dlaunch_error, once without. */
#define REFUSES(wanted, says, function, ...)            \
  do {                                                  \
    REFUSED(wanted, says, function(__VA_ARGS__, &err)); \
    CHECK(function(__VA_ARGS__, NULL) == (wanted));     \
  } while (0)
#define NULL_IS_REFUSED(name, function, ...) REFUSES(DLAUNCH_ERROR_ARGUMENT, name, function, __VA_ARGS__)
#define NO_HANDLE(function, ...) REFUSES(DLAUNCH_ERROR_HANDLE, "", function, __VA_ARGS__)

/* A handle of 0 comes before every other fault. */
static void no_handles(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel kernel = 7;
  NO_HANDLE(dlaunch_library_kernel_count, 0, NULL);
  NO_HANDLE(dlaunch_library_kernel_name, 0, 0, NULL, 0, NULL);
  NO_HANDLE(dlaunch_library_kernel_name, 0, 0, NULL, 9, NULL);
  NO_HANDLE(dlaunch_library_architectures, 0, NULL, 9, NULL);
  NO_HANDLE(dlaunch_library_global, 0, -7, NULL, NULL, NULL);
  NO_HANDLE(dlaunch_library_global_name, 0, 0, NULL, 9, NULL);
  NO_HANDLE(dlaunch_library_close, 0);
  NO_HANDLE(dlaunch_kernel_get, 0, NULL, NULL);
  NO_HANDLE(dlaunch_kernel_prototype, 0, NULL, 9, NULL);
  NO_HANDLE(dlaunch_kernel_parameter, 0, 0, NULL);
  NO_HANDLE(dlaunch_kernel_from_driver, NULL, NULL, &kernel);
  NO_HANDLE(dlaunch_kernel_native, 0, NULL);
  NO_HANDLE(dlaunch_kernel_name, 0, NULL, 9, NULL);
  NO_HANDLE(dlaunch_kernel_load, 0, -7);
  NO_HANDLE(dlaunch_kernel_attribute, 0, -7, -7, NULL);
  NO_HANDLE(dlaunch_kernel_set_attribute, 0, -7, -7, 0);
  NO_HANDLE(dlaunch_kernel_max_active_blocks, 0, -7, 0, 0, NULL);
  NO_HANDLE(dlaunch_kernel_max_potential_block_size, 0, -7, 0, 0, 0, NULL, NULL);
  NO_HANDLE(dlaunch_kernel_available_shared_bytes, 0, -7, 0, 0, NULL);
  NO_HANDLE(dlaunch_kernel_max_cluster_size, 0, -7, NULL, NULL);
  NO_HANDLE(dlaunch_kernel_max_active_clusters, 0, -7, NULL, NULL);
  NO_HANDLE(dlaunch_kernel_close, 0);
  NO_HANDLE(dlaunch_launch, 0, NULL, NULL, 0);
  NO_HANDLE(dlaunch_launch, 0, NULL, NULL, 7);
  NO_HANDLE(dlaunch_graph_launch, 0, 0);
  NO_HANDLE(dlaunch_graph_close, 0);
  NO_HANDLE(dlaunch_launch_tensors, 0, NULL, NULL, 7);
  NO_HANDLE(dlaunch_launch_managed, 0, NULL, NULL, 7);
  NO_HANDLE(dlaunch_array_write, 0, NULL, 0, 0);
  NO_HANDLE(dlaunch_array_read, 0, NULL, 0, 0);
  NO_HANDLE(dlaunch_array_tensor, 0, NULL);
  NO_HANDLE(dlaunch_array_view, 0, dtype_of(kDLFloat, 32), 0, NULL, NULL, 0, NULL);
  NO_HANDLE(dlaunch_array_wait, 0, 0);
  NO_HANDLE(dlaunch_array_export, 0, NULL);
  NO_HANDLE(dlaunch_array_close, 0);
  NO_HANDLE(dlaunch_tensor_close, 0);
  NO_HANDLE(dlaunch_event_record, 0, 0);
  NO_HANDLE(dlaunch_event_wait, 0, 0);
  NO_HANDLE(dlaunch_event_synchronize, 0);
  NO_HANDLE(dlaunch_event_query, 0, NULL);
  NO_HANDLE(dlaunch_event_elapsed, 0, 0, NULL);
  NO_HANDLE(dlaunch_event_close, 0);
  NO_HANDLE(dlaunch_stream_native, 0, NULL);
  NO_HANDLE(dlaunch_stream_close, 0);
  NO_HANDLE(dlaunch_annotate, 0, NULL);
  NO_HANDLE(dlaunch_disown, 0);
  NO_HANDLE(dlaunch_retire, 0);
}

static void null_pointers(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, SAXPY);
  dlaunch_array array = make_array(4);
  dlaunch_stream stream = 0;
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  struct DLManagedTensorVersioned *versioned[3] = {NULL, NULL, NULL};
  struct DLManagedTensor *managed[3] = {NULL, NULL, NULL};
  dlaunch_library other = 7;
  dlaunch_kernel another = 7;
  dlaunch_array new_array = 7;
  dlaunch_tensor tensor = 7;
  dlaunch_event event = 0;
  int64_t shape[1] = {4};
  size_t bytes = 0;
  uint64_t address = 0;
  int32_t number = 7;
  int i;
  OK(dlaunch_stream_create(0, 0, &stream, &err));

  NULL_IS_REFUSED("out", dlaunch_driver_info, NULL);
  NULL_IS_REFUSED("out", dlaunch_device_count, NULL);
  NULL_IS_REFUSED("out", dlaunch_device_attribute, 0, 1, NULL);
  NULL_IS_REFUSED("free_bytes", dlaunch_memory_info, 0, NULL, &bytes);
  NULL_IS_REFUSED("total_bytes", dlaunch_memory_info, 0, &bytes, NULL);
  NULL_IS_REFUSED("image", dlaunch_library_load, NULL, 10, NULL, &other);
  CHECK(other == 0);
  NULL_IS_REFUSED("out", dlaunch_library_load, "x", 1, NULL, NULL);
  NULL_IS_REFUSED("path", dlaunch_library_load_file, NULL, NULL, &other);
  NULL_IS_REFUSED("out", dlaunch_library_load_file, "x", NULL, NULL);
  NULL_IS_REFUSED("inputs", dlaunch_link, NULL, 1, NULL, &other);
  NULL_IS_REFUSED("out", dlaunch_link, NULL, 1, NULL, NULL);
  NULL_IS_REFUSED("buf", dlaunch_library_architectures, library, NULL, 9, &bytes);
  NULL_IS_REFUSED("out", dlaunch_library_kernel_count, library, NULL);
  NULL_IS_REFUSED("buf", dlaunch_library_kernel_name, library, 0, NULL, 9, &bytes);
  OK(dlaunch_library_kernel_name(library, 0, NULL, 0, NULL, &err));
  NULL_IS_REFUSED("name", dlaunch_library_global, library, 0, NULL, &address, &bytes);
  NULL_IS_REFUSED("address", dlaunch_library_global, library, 0, "x", NULL, &bytes);
  NULL_IS_REFUSED("bytes", dlaunch_library_global, library, 0, "x", &address, NULL);
  NULL_IS_REFUSED("text", dlaunch_kernel_get, library, NULL, &another);
  CHECK(another == 0);
  NULL_IS_REFUSED("out", dlaunch_kernel_get, library, "saxpy", NULL);
  NULL_IS_REFUSED("buf", dlaunch_kernel_prototype, kernel, NULL, 9, &bytes);
  OK(dlaunch_kernel_prototype(kernel, NULL, 0, NULL, &err));
  NULL_IS_REFUSED("out", dlaunch_kernel_parameter, kernel, 0, NULL);
  NULL_IS_REFUSED("out", dlaunch_kernel_native, kernel, NULL);
  NULL_IS_REFUSED("buf", dlaunch_kernel_name, kernel, NULL, 9, &bytes);
  OK(dlaunch_kernel_name(kernel, NULL, 0, NULL, &err));
  NULL_IS_REFUSED("out", dlaunch_kernel_attribute, kernel, 0, 0, NULL);
  NULL_IS_REFUSED("out", dlaunch_kernel_max_active_blocks, kernel, 0, 32, 0, NULL);
  NULL_IS_REFUSED("min_grid", dlaunch_kernel_max_potential_block_size, kernel, 0, 0, 0, 0, NULL, &number);
  NULL_IS_REFUSED("block", dlaunch_kernel_max_potential_block_size, kernel, 0, 0, 0, 0, &number, NULL);
  NULL_IS_REFUSED("out", dlaunch_kernel_available_shared_bytes, kernel, 0, 1, 32, NULL);
  NULL_IS_REFUSED("out", dlaunch_kernel_max_cluster_size, kernel, 0, &config, NULL);
  NULL_IS_REFUSED("out", dlaunch_kernel_max_active_clusters, kernel, 0, &config, NULL);

  NULL_IS_REFUSED("arg", dlaunch_kernel_bind, kernel, 0, NULL, &another);
  CHECK(another == 0);
  args[0] = arg_float(1);
  NULL_IS_REFUSED("out", dlaunch_kernel_bind, kernel, 0, args, NULL);
  args[0] = arg_tensor(NULL, 0);
  NULL_IS_REFUSED("parameter 1 (x)", dlaunch_kernel_bind, kernel, 1, args, &another);
  NULL_IS_REFUSED("name", dlaunch_library_bind, library, NULL, args);
  NULL_IS_REFUSED("arg", dlaunch_library_bind, library, "x", NULL);

  args[0] = arg_float(1);
  args[1] = arg_tensor(NULL, 0);
  args[2] = arg_tensor(NULL, 0);
  NULL_IS_REFUSED("config", dlaunch_launch, kernel, NULL, args, 3);
  NULL_IS_REFUSED("args", dlaunch_launch, kernel, &config, NULL, 3);
  NULL_IS_REFUSED("argument 1 (x)", dlaunch_launch, kernel, &config, args, 3);
  for (i = 1; i < 3; i++) args[i] = make_arg(DLAUNCH_ARG_VERSIONED, 0);
  NULL_IS_REFUSED("argument 1 (x)", dlaunch_launch, kernel, &config, args, 3);
  for (i = 1; i < 3; i++) args[i] = make_arg(DLAUNCH_ARG_MANAGED, 0);
  NULL_IS_REFUSED("argument 1 (x)", dlaunch_launch, kernel, &config, args, 3);
  for (i = 1; i < 3; i++) args[i] = make_arg(DLAUNCH_ARG_NONE, 0);
  NULL_IS_REFUSED("?", dlaunch_launch, kernel, &config, args, 3);
  args[0] = make_arg(DLAUNCH_ARG_BYTES, 0);
  args[0].size = 4;
  NULL_IS_REFUSED("argument 0 (a)", dlaunch_launch, kernel, &config, args, 3);
  NULL_IS_REFUSED("args is NULL", dlaunch_launch_tensors, kernel, &config, NULL, 3);
  NULL_IS_REFUSED("args is NULL", dlaunch_launch_managed, kernel, &config, NULL, 3);
  NULL_IS_REFUSED("config", dlaunch_launch_tensors, kernel, NULL, versioned, 3);
  NULL_IS_REFUSED("config", dlaunch_launch_managed, kernel, NULL, managed, 3);
  NULL_IS_REFUSED("argument 0", dlaunch_launch_tensors, kernel, &config, versioned, 3);
  NULL_IS_REFUSED("argument 0", dlaunch_launch_managed, kernel, &config, managed, 3);

  NULL_IS_REFUSED("out", dlaunch_array_create, 0, dtype_of(kDLFloat, 32), 1, shape, NULL);
  NULL_IS_REFUSED("shape", dlaunch_array_create, 0, dtype_of(kDLFloat, 32), 1, NULL, &new_array);
  CHECK(new_array == 0);
  OK(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 0, NULL, &new_array, &err));
  OK(dlaunch_array_close(new_array, &err));
  NULL_IS_REFUSED("host", dlaunch_array_write, array, NULL, 16, 0);
  NULL_IS_REFUSED("host", dlaunch_array_read, array, NULL, 16, 0);
  NULL_IS_REFUSED("out", dlaunch_array_tensor, array, NULL);
  NULL_IS_REFUSED("out", dlaunch_array_view, array, dtype_of(kDLFloat, 32), 1, shape, NULL, 0, NULL);
  NULL_IS_REFUSED("shape", dlaunch_array_view, array, dtype_of(kDLFloat, 32), 1, NULL, NULL, 0, &new_array);
  CHECK(new_array == 0);
  NULL_IS_REFUSED("out", dlaunch_array_export, array, NULL);
  NULL_IS_REFUSED("tensor is NULL", dlaunch_tensor_import, NULL, &tensor);
  CHECK(tensor == 0);
  tensor = 7;
  NULL_IS_REFUSED("tensor is NULL", dlaunch_tensor_import_versioned, NULL, &tensor);
  CHECK(tensor == 0);
  NULL_IS_REFUSED("tensor is NULL", dlaunch_tensor_import, NULL, NULL);
  NULL_IS_REFUSED("tensor is NULL", dlaunch_tensor_import_versioned, NULL, NULL);
  NULL_IS_REFUSED("out", dlaunch_event_create, 0, 0, NULL);
  OK(dlaunch_event_create(0, 0, &event, &err));
  NULL_IS_REFUSED("done", dlaunch_event_query, event, NULL);
  NULL_IS_REFUSED("milliseconds", dlaunch_event_elapsed, event, event, NULL);
  NO_HANDLE(dlaunch_event_elapsed, event, 0, NULL);
  OK(dlaunch_event_close(event, &err));
  NULL_IS_REFUSED("out", dlaunch_stream_create, 0, 0, NULL);
  NULL_IS_REFUSED("out", dlaunch_stream_native, stream, NULL);
  NULL_IS_REFUSED("buf", dlaunch_report, NULL, 9, NULL);
  OK(dlaunch_report(NULL, 0, NULL, &err));
  CHECK(dlaunch_synchronize(0, NULL) == DLAUNCH_OK);
  CHECK(dlaunch_stream_synchronize(stream, NULL) == DLAUNCH_OK);
  CHECK(dlaunch_drain(NULL) == DLAUNCH_OK);
  CHECK(dlaunch_python_callable(kernel, &config, NULL) == NULL); /* there is no Python here */
  CHECK(dlaunch_python_callable(0, NULL, NULL) == NULL);

  OK(dlaunch_stream_close(stream, &err));
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  no_handles();
  null_pointers(argv[1]);
  check_nothing_lives();
  return 0;
}
