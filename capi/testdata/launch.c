/* Launches that go well: on host tensors, on arrays, with all three functions. */
#include "contract.h"

enum { N = 1000, BLOCK = 256, GRID = (N + BLOCK - 1) / BLOCK };

static float x[N], y[N];

/* y = 2x + y gives 2i: exact in a float. */
static void fill(void) {
  int i;
  for (i = 0; i < N; i++) {
    x[i] = (float)i * 0.5f;
    y[i] = (float)i;
  }
}

static void check_doubled(void) {
  int i;
  for (i = 0; i < N; i++) CHECK(y[i] == (float)(2 * i));
}

static void on_host_tensors(dlaunch_kernel kernel, const dlaunch_config *config) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int64_t shape[1] = {N};
  DLTensor tx = host_tensor(x, 1, shape), ty = host_tensor(y, 1, shape);
  dlaunch_arg args[3];
  args[0] = arg_float(2.0);
  args[1] = arg_tensor(&tx, 0);
  args[2] = arg_tensor(&ty, 0);
  fill();
  OK(dlaunch_launch(kernel, config, args, 3, &err));
  check_doubled();
}

/* data + byte_offset, and a scalar as an exact bit pattern. */
static void on_an_offset(dlaunch_kernel kernel) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  const float two = 2.0f;
  int64_t shape[1] = {10};
  DLTensor tx = host_tensor(x, 1, shape), ty = host_tensor(y, 1, shape);
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  int i;
  tx.byte_offset = ty.byte_offset = 100 * sizeof(float);
  args[0] = make_arg(DLAUNCH_ARG_BYTES, 0);
  args[0].size = sizeof two;
  args[0].value.bytes = &two;
  args[1] = arg_tensor(&tx, 0);
  args[2] = arg_tensor(&ty, 0);
  fill();
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  for (i = 0; i < N; i++) CHECK(y[i] == (float)(i >= 100 && i < 110 ? 2 * i : i));
}

/* Without a prototype the marks are the arguments' own. */
static void by_name(dlaunch_library library, const dlaunch_config *config) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel kernel = get_kernel(library, "saxpy");
  int64_t shape[1] = {N};
  DLTensor tx = host_tensor(x, 1, shape), ty = host_tensor(y, 1, shape);
  dlaunch_arg args[4];
  args[0] = arg_float(2.0);
  args[1] = arg_tensor(&tx, DLAUNCH_IN);
  args[2] = arg_tensor(&ty, DLAUNCH_IN | DLAUNCH_OUT);
  args[3] = arg_int(N);
  fill();
  OK(dlaunch_launch(kernel, config, args, 4, &err));
  check_doubled();
  OK(dlaunch_kernel_close(kernel, &err));
}

static void on_arrays(dlaunch_kernel kernel, const dlaunch_config *config) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array ax = make_array(N), ay = make_array(N);
  dlaunch_arg args[3];
  long fast;
  int i;
  args[0] = arg_float(2.0);
  args[1] = arg_handle(ax);
  args[2] = arg_handle(ay);
  fill();
  OK(dlaunch_array_write(ax, x, sizeof x, config->stream, &err));
  OK(dlaunch_array_write(ay, y, sizeof y, config->stream, &err));
  OK(dlaunch_launch(kernel, config, args, 3, &err));
  OK(dlaunch_array_read(ay, y, sizeof y, config->stream, &err));
  check_doubled();

  /* From the second on nothing is left to find out. */
  fast = report_number("\"fast\":");
  for (i = 0; i < 10; i++) OK(dlaunch_launch(kernel, config, args, 3, &err));
  CHECK(report_number("\"fast\":") == fast + 10);
  OK(dlaunch_array_close(ax, &err));
  OK(dlaunch_array_close(ay, &err));
}

/* An exported tensor keeps the memory, and is an argument like any other. */
static void on_an_export(dlaunch_kernel kernel, const dlaunch_config *config) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array ax = make_array(N), ay = make_array(N);
  struct DLManagedTensorVersioned *exported = NULL;
  DLTensor described;
  dlaunch_arg args[3];
  fill();
  OK(dlaunch_array_write(ax, x, sizeof x, 0, &err));
  OK(dlaunch_array_write(ay, y, sizeof y, 0, &err));
  OK(dlaunch_array_export(ax, &exported, &err));
  CHECK(exported != NULL && exported->version.major == 1 && exported->dl_tensor.shape[0] == N);
  CHECK(exported->dl_tensor.dtype.code == kDLFloat && exported->dl_tensor.dtype.bits == 32);
  OK(dlaunch_array_tensor(ay, &described, &err));
  CHECK(described.ndim == 1 && described.shape[0] == N && described.data != NULL);
  OK(dlaunch_array_close(ax, &err));
  args[0] = arg_float(2.0);
  args[1] = make_arg(DLAUNCH_ARG_VERSIONED, 0);
  args[1].value.versioned = exported;
  args[2] = arg_tensor(&described, 0);
  OK(dlaunch_launch(kernel, config, args, 3, &err));
  OK(dlaunch_array_read(ay, y, sizeof y, 0, &err));
  check_doubled();
  exported->deleter(exported);
  OK(dlaunch_array_close(ay, &err));
}

static void all_tensors(dlaunch_kernel kernel, const dlaunch_config *config) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static float sum[N];
  int64_t shape[1] = {N};
  float *data[3];
  DLManagedTensorVersioned versioned[3], *versioned_list[3];
  DLManagedTensor managed[3], *managed_list[3];
  int i;
  data[0] = x, data[1] = y, data[2] = sum;
  memset(versioned, 0, sizeof versioned);
  memset(managed, 0, sizeof managed);
  for (i = 0; i < 3; i++) {
    versioned[i].version.major = 1;
    versioned[i].dl_tensor = managed[i].dl_tensor = host_tensor(data[i], 1, shape);
    versioned_list[i] = &versioned[i];
    managed_list[i] = &managed[i];
  }
  fill();
  OK(dlaunch_launch_tensors(kernel, config, versioned_list, 3, &err));
  for (i = 0; i < N; i++) CHECK(sum[i] == (float)i * 1.5f);
  memset(sum, 0, sizeof sum);
  OK(dlaunch_launch_managed(kernel, config, managed_list, 3, &err));
  for (i = 0; i < N; i++) CHECK(sum[i] == (float)i * 1.5f);
}

/* No elements and no block: said to be welcome, such a launch does nothing. */
static void on_nothing(dlaunch_kernel kernel) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int64_t shape[1] = {0};
  DLTensor none = host_tensor(NULL, 1, shape);
  dlaunch_config config = make_config(0, 256);
  dlaunch_arg args[3];
  args[0] = arg_float(2.0);
  args[1] = args[2] = arg_tensor(&none, 0);
  config.flags = DLAUNCH_ZERO_GRID_OK;
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(GRID, BLOCK);
  dlaunch_library library;
  dlaunch_kernel kernel, add;
  dlaunch_stream stream = 0;
  uint64_t native = 0;
  CHECK(argc > 1);
  CHECK(dlaunch_abi_version() == DLAUNCH_ABI_VERSION);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  by_name(library, &config);
  OK(dlaunch_library_close(library, &err));
  library = load_kernels(argv[1], "vector_add");
  add = get_kernel(library, VECTOR_ADD);
  OK(dlaunch_library_close(library, &err));

  on_host_tensors(kernel, &config);
  on_an_offset(kernel);
  on_arrays(kernel, &config);
  on_an_export(kernel, &config);
  all_tensors(add, &config);
  on_nothing(kernel);

  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &stream, &err));
  OK(dlaunch_stream_native(stream, &native, &err));
  CHECK(native > 2 && native < (UINT64_C(1) << 48));
  config.stream = stream;
  on_arrays(kernel, &config);
  on_host_tensors(kernel, &config);
  config.stream = native;
  on_arrays(kernel, &config);
  OK(dlaunch_stream_synchronize(stream, &err));
  OK(dlaunch_stream_synchronize(native, &err));
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_stream_close(stream, &err));

  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_kernel_close(add, &err));
  check_nothing_lives();
  return 0;
}
