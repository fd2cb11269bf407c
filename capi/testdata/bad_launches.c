/*
 * Launches that are refused. Each row spoils one thing of a launch that is
 * right, and says what is to be heard of it.
 */
#include "contract.h"

enum { N = 64 };

typedef struct launch {
  dlaunch_config config;
  dlaunch_arg args[5];
  uint32_t num_args;
  DLTensor x, y;
  int64_t x_shape[2], y_shape[2], strides[2];
  DLManagedTensorVersioned versioned;
} launch;

static float x_data[N], y_data[N];
static dlaunch_kernel closed_kernel;
static dlaunch_array closed_array;
static dlaunch_stream closed_stream;

static void too_few(launch *l) { l->num_args = 2; }
static void none(launch *l) { l->num_args = 0; }
static void too_many(launch *l) { l->num_args = 4; }
static void tensor_for_float(launch *l) { l->args[0] = l->args[1]; }
static void float_for_tensor(launch *l) { l->args[1] = arg_float(1); }
static void pointer_for_tensor(launch *l) {
  l->args[1].kind = DLAUNCH_ARG_POINTER;
  l->args[1].value.u = 4096;
}
static void no_such_kind(launch *l) { l->args[1].kind = 99; }
static void float_too_large(launch *l) { l->args[0] = arg_float(1e300); }
static void integer_too_precise(launch *l) { l->args[0] = arg_int(16777217); }
static void bytes_of_wrong_size(launch *l) {
  l->args[0] = make_arg(DLAUNCH_ARG_BYTES, 0);
  l->args[0].size = 8;
  l->args[0].value.bytes = x_data;
}
static void other_float(launch *l) { l->x.dtype = dtype_of(kDLFloat, 64); }
static void other_code(launch *l) { l->y.dtype = dtype_of(kDLInt, 32); }
static void lanes(launch *l) { l->x.dtype.lanes = 4; }
static void higher_rank(launch *l) {
  l->x.ndim = 2;
  l->x_shape[0] = l->x_shape[1] = 8;
}
static void rank_0(launch *l) { l->y.ndim = 0; }
static void negative_rank(launch *l) { l->y.ndim = -1; }
static void other_size(launch *l) { l->y_shape[0] = N - 1; }
static void negative_size(launch *l) { l->x_shape[0] = l->y_shape[0] = -N; }
static void strided(launch *l) {
  l->x_shape[0] = l->y_shape[0] = N / 2;
  l->strides[0] = 2;
  l->x.strides = l->strides;
}
static void backwards(launch *l) {
  l->strides[0] = -1;
  l->x.strides = l->strides;
}
static void broadcast_output(launch *l) {
  l->strides[0] = 0;
  l->y.strides = l->strides;
}
static void no_data(launch *l) { l->x.data = NULL; }
static void no_shape(launch *l) { l->x.shape = NULL; }
static void misaligned(launch *l) {
  l->x_shape[0] = l->y_shape[0] = N - 1;
  l->x.byte_offset = 2;
}
static void other_device_kind(launch *l) { l->x.device.device_type = (DLDeviceType)8; }
static void read_only(launch *l) {
  l->versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  l->versioned.dl_tensor = l->y;
  l->args[2] = make_arg(DLAUNCH_ARG_VERSIONED, 0);
  l->args[2].value.versioned = &l->versioned;
}
static void other_dlpack(launch *l) {
  read_only(l);
  l->versioned.flags = 0;
  l->versioned.version.major = 2;
}
static void stale_array(launch *l) { l->args[1] = arg_handle(closed_array); }
static void kernel_as_array(launch *l) { l->args[1] = arg_handle(closed_kernel); }
static void random_array(launch *l) { l->args[1] = arg_handle(UINT64_C(0x0004123456789abc)); }
static void stale_stream(launch *l) { l->config.stream = closed_stream; }
static void short_config(launch *l) { l->config.struct_size = sizeof l->config - 8; }
static void zero_config(launch *l) { l->config.struct_size = 0; }
static void grid_0(launch *l) { l->config.grid[0] = 0; }
static void block_0(launch *l) { l->config.block[0] = 0; }
static void grid_x(launch *l) { l->config.grid[0] = 0x80000000u; }
static void grid_y(launch *l) { l->config.grid[1] = 65536; }
static void block_x(launch *l) { l->config.block[0] = 2048; }
static void block_z(launch *l) { l->config.block[2] = 65; }
static void block_product(launch *l) {
  l->config.block[0] = 64;
  l->config.block[1] = 32;
}
static void shared(launch *l) { l->config.shared_bytes = 1 << 20; }
static void attributes(launch *l) { l->config.num_attributes = 1; }

static const struct {
  const char *name;
  void (*spoil)(launch *);
  dlaunch_status status;
  int32_t argument;
  const char *says;
} rows[] = {
    {"too few", too_few, DLAUNCH_ERROR_ARGUMENT, -1, "takes 3 arguments, 2 given"},
    {"none", none, DLAUNCH_ERROR_ARGUMENT, -1, "takes 3 arguments, 0 given"},
    {"too many", too_many, DLAUNCH_ERROR_ARGUMENT, -1, "takes 3 arguments, 4 given"},
    {"tensor for float", tensor_for_float, DLAUNCH_ERROR_ARGUMENT, 0, "argument 0 (a)"},
    {"float for tensor", float_for_tensor, DLAUNCH_ERROR_ARGUMENT, 1, "argument 1 (x)"},
    {"pointer for tensor", pointer_for_tensor, DLAUNCH_ERROR_ARGUMENT, 1, "argument 1 (x)"},
    {"no such kind", no_such_kind, DLAUNCH_ERROR_ARGUMENT, 1, "99"},
    {"float too large", float_too_large, DLAUNCH_ERROR_ARGUMENT, 0, "1e+300"},
    {"integer too precise", integer_too_precise, DLAUNCH_ERROR_ARGUMENT, 0, "16777217"},
    {"bytes of wrong size", bytes_of_wrong_size, DLAUNCH_ERROR_ARGUMENT, 0, "8 bytes given, 4 wanted"},
    {"other float", other_float, DLAUNCH_ERROR_TENSOR, 1, "f64"},
    {"other code", other_code, DLAUNCH_ERROR_TENSOR, 2, "i32"},
    {"lanes", lanes, DLAUNCH_ERROR_TENSOR, 1, "argument 1 (x)"},
    {"higher rank", higher_rank, DLAUNCH_ERROR_TENSOR, 1, "2 dimensions"},
    {"rank 0", rank_0, DLAUNCH_ERROR_TENSOR, 2, "0 dimensions"},
    {"negative rank", negative_rank, DLAUNCH_ERROR_TENSOR, 2, "-1"},
    {"other size", other_size, DLAUNCH_ERROR_TENSOR, 2, "63"},
    {"negative size", negative_size, DLAUNCH_ERROR_TENSOR, 1, "-64"},
    {"strided", strided, DLAUNCH_ERROR_TENSOR, 1, "stride 2"},
    {"backwards", backwards, DLAUNCH_ERROR_TENSOR, 1, "stride -1"},
    {"broadcast output", broadcast_output, DLAUNCH_ERROR_TENSOR, 2, "stride 0"},
    {"no data", no_data, DLAUNCH_ERROR_TENSOR, 1, "NULL"},
    {"no shape", no_shape, DLAUNCH_ERROR_TENSOR, 1, "shape"},
    {"misaligned", misaligned, DLAUNCH_ERROR_TENSOR, 1, "multiple of 4"},
    {"other device kind", other_device_kind, DLAUNCH_ERROR_TENSOR, 1, "argument 1 (x)"},
    {"read only", read_only, DLAUNCH_ERROR_TENSOR, 2, "read-only"},
    {"other DLPack", other_dlpack, DLAUNCH_ERROR_TENSOR, 2, "2."},
    {"stale array", stale_array, DLAUNCH_ERROR_HANDLE, 1, "closed"},
    {"kernel as array", kernel_as_array, DLAUNCH_ERROR_HANDLE, 1, ""},
    {"random array", random_array, DLAUNCH_ERROR_HANDLE, 1, ""},
    {"stale stream", stale_stream, DLAUNCH_ERROR_HANDLE, -1, "closed"},
    {"short config", short_config, DLAUNCH_ERROR_ARGUMENT, -1, "struct_size"},
    {"zero config", zero_config, DLAUNCH_ERROR_ARGUMENT, -1, "struct_size is 0"},
    {"grid of 0", grid_0, DLAUNCH_ERROR_CONFIG, -1, "grid.x is 0"},
    {"block of 0", block_0, DLAUNCH_ERROR_CONFIG, -1, "block.x is 0"},
    {"grid x", grid_x, DLAUNCH_ERROR_CONFIG, -1, "2147483647"},
    {"grid y", grid_y, DLAUNCH_ERROR_CONFIG, -1, "65535"},
    {"block x", block_x, DLAUNCH_ERROR_CONFIG, -1, "1024"},
    {"block z", block_z, DLAUNCH_ERROR_CONFIG, -1, "64"},
    {"block product", block_product, DLAUNCH_ERROR_CONFIG, -1, "2048 threads"},
    {"shared memory", shared, DLAUNCH_ERROR_CONFIG, -1, "1048576"},
    {"no attributes", attributes, DLAUNCH_ERROR_CONFIG, -1, "attributes is NULL"},
};

static void make_right(launch *l) {
  memset(l, 0, sizeof *l);
  l->config = make_config(1, N);
  l->x_shape[0] = l->y_shape[0] = N;
  l->x = host_tensor(x_data, 1, l->x_shape);
  l->y = host_tensor(y_data, 1, l->y_shape);
  l->versioned.version.major = 1;
  l->num_args = 3;
  l->args[0] = arg_float(1);
  l->args[1] = arg_tensor(&l->x, 0);
  l->args[2] = arg_tensor(&l->y, 0);
}

static void all_rows(dlaunch_kernel kernel) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_status got;
  launch l;
  size_t i;
  int wrong = 0;
  for (i = 0; i < sizeof rows / sizeof *rows; i++) {
    make_right(&l);
    rows[i].spoil(&l);
    got = dlaunch_launch(kernel, &l.config, l.args, l.num_args, &err);
    if (got != rows[i].status || err.status != got || err.argument != rows[i].argument ||
        strstr(err.message, rows[i].says) == NULL || strstr(err.message, "dlaunch_launch") != err.message) {
      fprintf(stderr, "%s: %s, argument %d: %s\n  wanted: %s, argument %d, \"%s\"\n", rows[i].name,
              dlaunch_status_name(got), (int)err.argument, err.message, dlaunch_status_name(rows[i].status),
              (int)rows[i].argument, rows[i].says);
      wrong++;
    }
    CHECK(dlaunch_launch(kernel, &l.config, l.args, l.num_args, NULL) == got);
    make_right(&l); /* a refusal harms nothing */
    y_data[3] = 1;
    x_data[3] = 5;
    OK(dlaunch_launch(kernel, &l.config, l.args, 3, &err));
    CHECK(y_data[3] == 6);
  }
  CHECK(wrong == 0);
}

/* Without a prototype nothing marks a host tensor but the argument. */
static void unmarked(dlaunch_library library) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel kernel = get_kernel(library, "saxpy");
  launch l;
  make_right(&l);
  l.args[3] = arg_int(N);
  REFUSED(DLAUNCH_ERROR_TENSOR, "inout", dlaunch_launch(kernel, &l.config, l.args, 4, &err));
  l.args[1].flags = DLAUNCH_IN;
  l.args[2].flags = DLAUNCH_IN | DLAUNCH_OUT;
  OK(dlaunch_launch(kernel, &l.config, l.args, 4, &err));
  l.args[3] = arg_int(INT64_C(1) << 32);
  CHECK(dlaunch_launch(kernel, &l.config, l.args, 4, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(err.argument == 3 && strstr(err.message, "4294967296") != NULL);
  l.args[3] = arg_float(1);
  CHECK(dlaunch_launch(kernel, &l.config, l.args, 4, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(err.argument == 3 && strstr(err.message, "prototype") != NULL);
  CHECK(dlaunch_launch(kernel, &l.config, l.args, 3, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(err.argument == -1 && strstr(err.message, "takes 4 arguments, 3 given") != NULL);
  OK(dlaunch_kernel_close(kernel, &err));
}

/* A size that is filled in must fit: 2^31 elements do not fit an i32. */
static void filled_in(dlaunch_library library) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel kernel = get_kernel(library, "saxpy(a: f32, x: f32[n] @strided, y: f32[n] @strided, n: i32 = n)");
  launch l;
  make_right(&l);
  l.x_shape[0] = l.y_shape[0] = INT64_C(1) << 31;
  l.x.strides = l.y.strides = l.strides; /* 0: all in one place */
  CHECK(dlaunch_launch(kernel, &l.config, l.args, 3, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(err.argument == -1 && strstr(err.message, "2147483648") != NULL);
  OK(dlaunch_kernel_close(kernel, &err));
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library;
  dlaunch_kernel kernel;
  CHECK(argc > 1);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  closed_kernel = get_kernel(library, "saxpy");
  closed_array = make_array(N);
  OK(dlaunch_stream_create(0, 0, &closed_stream, &err));
  OK(dlaunch_kernel_close(closed_kernel, &err));
  OK(dlaunch_array_close(closed_array, &err));
  OK(dlaunch_stream_close(closed_stream, &err));
  all_rows(kernel);
  unmarked(library);
  filled_in(library);
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  check_nothing_lives();
  return 0;
}
