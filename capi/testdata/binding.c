/*
 * Kernels and symbols that hold arrays: what they see, and closed in every order.
 */
#include "producer.h"

enum { LIBRARY, KERNEL, ONCE, ARRAY, TENSOR, BOUND, KINDS };
enum { N = 32 };

typedef struct things {
  uint64_t handle[KINDS];
} things;

static const char *folder;
static char image[65536]; /* saxpy's: read once, and loaded 720 times */
static size_t image_size;

static void read_image(void) {
  char path[4096];
  FILE *file;
  snprintf(path, sizeof path, "%s/saxpy.ptx", folder);
  file = fopen(path, "rb");
  CHECK(file != NULL);
  image_size = fread(image, 1, sizeof image, file);
  CHECK(image_size > 0 && image_size < sizeof image);
  fclose(file);
}

static dlaunch_kernel bind(dlaunch_kernel kernel, uint32_t index, dlaunch_arg arg) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel bound = 0;
  OK(dlaunch_kernel_bind(kernel, index, &arg, &bound, &err));
  CHECK(bound != 0 && bound < (UINT64_C(1) << 53) && bound != kernel);
  return bound;
}

static dlaunch_array array_of(float value) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array array = make_array(N);
  float data[N];
  int i;
  for (i = 0; i < N; i++) data[i] = value;
  OK(dlaunch_array_write(array, data, sizeof data, 0, &err));
  return array;
}

/* y = 2x + y, where x is an array of ones and y a tensor of another library's. */
static things make_things(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  struct DLManagedTensorVersioned *exported = NULL;
  dlaunch_array others = array_of(0);
  things t;
  memset(&t, 0, sizeof t);
  OK(dlaunch_library_load(image, image_size, NULL, &t.handle[LIBRARY], &err));
  t.handle[KERNEL] = get_kernel(t.handle[LIBRARY], SAXPY);
  t.handle[ARRAY] = array_of(1);
  OK(dlaunch_array_export(others, &exported, &err));
  OK(dlaunch_array_close(others, &err));
  OK(dlaunch_tensor_import_versioned(exported, &t.handle[TENSOR], &err));
  t.handle[ONCE] = bind(t.handle[KERNEL], 1, arg_handle(t.handle[ARRAY]));
  t.handle[BOUND] = bind(t.handle[ONCE], 2, arg_handle(t.handle[TENSOR]));
  return t;
}

/* The bound kernel launches as long as it is open, whatever else is. */
static void use(const things *t, int is_open) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, N);
  dlaunch_arg two = arg_float(2);
  dlaunch_status got = dlaunch_launch(t->handle[BOUND], &config, &two, 1, &err);
  expect(__FILE__, __LINE__, "a launch", got, is_open ? DLAUNCH_OK : DLAUNCH_ERROR_HANDLE, is_open ? "" : "closed",
         &err);
}

static dlaunch_status close_as(int kind, uint64_t handle, dlaunch_error *err) {
  if (kind == LIBRARY) return dlaunch_library_close(handle, err);
  if (kind == ARRAY) return dlaunch_array_close(handle, err);
  if (kind == TENSOR) return dlaunch_tensor_close(handle, err);
  return dlaunch_kernel_close(handle, err);
}

static void in_order(const int *order) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  things t = make_things();
  int is_open = 1, i;
  for (i = 0; i < KINDS; i++) {
    uint64_t handle = t.handle[order[i]];
    use(&t, is_open);
    /* Every second one by retire. */
    OK(i % 2 == 0 ? close_as(order[i], handle, &err) : dlaunch_retire(handle, &err));
    if (order[i] == BOUND) is_open = 0;
    REFUSED(DLAUNCH_ERROR_HANDLE, "closed", close_as(order[i], handle, &err));
    use(&t, is_open);
  }
  check_nothing_lives();
}

static void every_order(int *order, int from) {
  int i, swapped;
  if (from == KINDS) in_order(order);
  for (i = from; i < KINDS; i++) {
    swapped = order[i], order[i] = order[from], order[from] = swapped;
    every_order(order, from + 1);
    swapped = order[i], order[i] = order[from], order[from] = swapped;
  }
}

/* What is written later is seen, what the kernel writes is there, and what is passed
 * is checked against what is bound. */
static void values(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, SAXPY), x_bound, twice, all;
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  dlaunch_array x = array_of(1), y = array_of(10), small = make_array(N - 1);
  dlaunch_config config = make_config(1, N);
  dlaunch_arg args[2];
  float data[N];
  long fast;
  uint32_t i;
  x_bound = bind(kernel, 1, arg_handle(x));
  twice = bind(x_bound, 0, arg_float(2));
  all = bind(twice, 2, arg_handle(y));
  OK(dlaunch_launch(all, &config, NULL, 0, &err));
  fast = report_number("\"fast\":");
  for (i = 0; i < N; i++) data[i] = 3;
  OK(dlaunch_array_write(x, data, sizeof data, 0, &err));
  OK(dlaunch_launch(all, &config, NULL, 0, &err));
  CHECK(report_number("\"fast\":") == fast + 1);
  OK(dlaunch_array_read(y, data, sizeof data, 0, &err));
  for (i = 0; i < N; i++) CHECK(data[i] == 10 + 2 * 1 + 2 * 3);

  args[0] = arg_float(1);
  args[1] = arg_handle(small);
  REFUSED(DLAUNCH_ERROR_TENSOR, "argument 1 (y): axis 0 has the extent 31, 32 wanted",
          dlaunch_launch(x_bound, &config, args, 2, &err));
  CHECK(dlaunch_launch(x_bound, &config, args, 2, &err) == DLAUNCH_ERROR_TENSOR && err.argument == 1);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "takes 2 arguments, 0 given", dlaunch_launch(x_bound, &config, NULL, 0, &err));
  for (i = 0; i < 4; i++) {
    OK(dlaunch_kernel_parameter(all, i, &parameter, &err));
    CHECK(((parameter.mode & DLAUNCH_BOUND) != 0) == (i < 3) && parameter.index == i);
  }
  OK(dlaunch_kernel_parameter(kernel, 1, &parameter, &err));
  CHECK(parameter.mode == DLAUNCH_IN);
  OK(dlaunch_kernel_close(all, &err));
  OK(dlaunch_kernel_close(twice, &err));
  OK(dlaunch_kernel_close(x_bound, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_array_close(x, &err));
  OK(dlaunch_array_close(y, &err));
  OK(dlaunch_array_close(small, &err));
}

/* Host memory may go as soon as it is bound: the struct, the shape and the data. */
static void frozen(dlaunch_kernel kernel) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, N);
  dlaunch_kernel bound = 0;
  static product p;
  dlaunch_tensor imported;
  float *data = (float *)malloc(N * sizeof *data), y[N];
  int64_t *shape = (int64_t *)malloc(sizeof *shape), extent[1] = {N};
  DLTensor *x = (DLTensor *)malloc(sizeof *x), ty = host_tensor(y, 1, extent);
  dlaunch_arg args[2], arg;
  int i;
  CHECK(data != NULL && shape != NULL && x != NULL);
  for (i = 0; i < N; i++) data[i] = (float)i, y[i] = 1;
  shape[0] = N;
  *x = host_tensor(data, 1, shape);
  arg = arg_tensor(x, 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "parameter 2 (y): a host tensor is bound as a copy",
          dlaunch_kernel_bind(kernel, 2, &arg, &bound, &err));
  CHECK(bound == 0 && dlaunch_kernel_bind(kernel, 2, &arg, &bound, &err) == DLAUNCH_ERROR_ARGUMENT &&
        err.argument == 2);
  bound = bind(kernel, 1, arg);
  memset(data, 0xff, N * sizeof *data);
  free(data);
  free(shape);
  free(x);
  args[0] = arg_float(2);
  args[1] = arg_tensor(&ty, 0);
  OK(dlaunch_launch(bound, &config, args, 2, &err));
  for (i = 0; i < N; i++) CHECK(y[i] == (float)(2 * i + 1));
  OK(dlaunch_kernel_close(bound, &err));

  /* An imported one is deleted when it is closed: the copy is what is bound. */
  produce(&p, 1);
  OK(import_product(&p, &imported, &err));
  bound = bind(kernel, 1, arg_handle(imported));
  OK(dlaunch_tensor_close(imported, &err));
  CHECK(times_deleted(&p) == 1);
  OK(dlaunch_kernel_close(bound, &err));
}

static void refused(dlaunch_kernel kernel) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array array = make_array(N);
  dlaunch_kernel out = 7;
  dlaunch_arg arg = arg_float(1), tensor = arg_handle(array);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "index 4", dlaunch_kernel_bind(kernel, 4, &arg, &out, &err));
  CHECK(out == 0);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "4294967295", dlaunch_kernel_bind(kernel, UINT32_MAX, &arg, &out, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "filled in", dlaunch_kernel_bind(kernel, 3, &arg, &out, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "a float given", dlaunch_kernel_bind(kernel, 1, &arg, &out, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "a tensor given", dlaunch_kernel_bind(kernel, 0, &tensor, &out, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_kernel_bind(array, 0, &arg, &out, &err));
  arg = arg_handle(kernel);
  REFUSED(DLAUNCH_ERROR_HANDLE, "no array or tensor", dlaunch_kernel_bind(kernel, 1, &arg, &out, &err));
  OK(dlaunch_array_close(array, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_kernel_bind(kernel, 4, &tensor, &out, &err));
  CHECK(out == 0);
}

/* ---- symbols */

static const char WITH_SYMBOL[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .align 8 .u64 table;\n"
    ".visible .entry twice(.param .u64 y)\n{\n"
    "  .reg .b32 %r0;\n  .reg .f32 %f<2>;\n  .reg .b64 %rd<5>;\n"
    "  ld.param.u64 %rd0, [y];\n  mov.u32 %r0, %tid.x;\n  mul.wide.u32 %rd1, %r0, 4;\n"
    "  ld.global.u64 %rd2, [table];\n  add.s64 %rd3, %rd2, %rd1;\n  add.s64 %rd4, %rd0, %rd1;\n"
    "  ld.global.f32 %f0, [%rd3];\n  add.f32 %f1, %f0, %f0;\n  st.global.f32 [%rd4], %f1;\n  ret;\n}\n";

static void check_twice(dlaunch_kernel kernel, dlaunch_array y, float of) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, N);
  dlaunch_arg arg = arg_handle(y);
  float data[N];
  int i;
  OK(dlaunch_launch(kernel, &config, &arg, 1, &err));
  OK(dlaunch_array_read(y, data, sizeof data, 0, &err));
  for (i = 0; i < N; i++) CHECK(data[i] == 2 * of);
}

static void symbols(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = 0;
  dlaunch_kernel kernel;
  dlaunch_array first = array_of(1), second = array_of(2), y = make_array(N);
  dlaunch_arg arg = arg_handle(first);
  uint64_t address = 0;
  size_t bytes = 0;
  OK(dlaunch_library_load(WITH_SYMBOL, sizeof WITH_SYMBOL - 1, NULL, &library, &err));
  kernel = get_kernel(library, "twice(y: out f32[_])");
  OK(dlaunch_library_bind(library, "table", &arg, &err));
  OK(dlaunch_array_close(first, &err));
  check_twice(kernel, y, 1);
  arg = arg_handle(second);
  OK(dlaunch_library_bind(library, "table", &arg, &err)); /* the first goes */
  OK(dlaunch_array_close(second, &err));
  OK(dlaunch_drain(&err));
  CHECK(report_number("\"device_bytes\":") == 2 * N * (long)sizeof(float));
  check_twice(kernel, y, 2);
  OK(dlaunch_library_global(library, 0, "table", &address, &bytes, &err));
  CHECK(bytes == 8);
  arg = arg_float(1);
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "tabel", dlaunch_library_bind(library, "tabel", &arg, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "symbol \"table\": a float given",
          dlaunch_library_bind(library, "table", &arg, &err));
  OK(dlaunch_library_close(library, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_library_bind(library, "table", &arg, &err));
  check_twice(kernel, y, 2); /* the kernel keeps the library, which keeps the array */
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_array_close(y, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int order[KINDS] = {LIBRARY, KERNEL, ONCE, ARRAY, TENSOR, BOUND};
  dlaunch_library library;
  dlaunch_kernel kernel;
  CHECK(argc > 1);
  folder = argv[1];
  read_image();
  every_order(order, 0);
  library = load_kernels(folder, "saxpy");
  kernel = get_kernel(library, SAXPY);
  frozen(kernel);
  refused(kernel);
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  symbols();
  values();
  check_nothing_lives();
  return 0;
}
