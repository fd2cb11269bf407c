/*
 * Tensors that dlaunch takes over: of every kind, with every outcome, their
 * deleters run once, on a thread of ours, when nothing of dlaunch is in the way.
 */
#include "producer.h"

#include <execinfo.h>
#include <setjmp.h>

#define ANY_STRIDES "saxpy(a: f32, x: f32[...] @strided, y: inout f32[n], n: i32 = n)"

static dlaunch_library library;
static dlaunch_kernel kernel;

static dlaunch_status launch(dlaunch_kernel with, dlaunch_arg x, dlaunch_arg y, dlaunch_error *err) {
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  args[0] = arg_float(2);
  args[1] = x;
  args[2] = y;
  return dlaunch_launch(with, &config, args, 3, err);
}

/* ---- every kind */

/* As x, whose size y then has. */
static void launch_it(const kind_of_tensor *kind, const product *p, dlaunch_tensor tensor, dlaunch_kernel any_strides) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  float y[ITEMS] = {0};
  int64_t shape[1] = {p->tensor->ndim == 0 ? 1 : p->shape[0]}, nothing[1] = {0}, i;
  DLTensor ty = host_tensor(y, 1, shape), none = host_tensor(NULL, 1, nothing);
  dlaunch_status got = launch(kernel, arg_handle(tensor), arg_tensor(&ty, 0), &err);
  expect(__FILE__, __LINE__, kind->name, got, kind->refused == NULL ? DLAUNCH_OK : DLAUNCH_ERROR_TENSOR,
         kind->refused == NULL ? "" : kind->refused, &err);
  if (kind->refused == NULL) {
    const float *x = (const float *)((const char *)p->tensor->data + p->tensor->byte_offset);
    for (i = 0; i < shape[0]; i++) CHECK(y[i] == 2 * x[i]);
  }
  got = launch(any_strides, arg_handle(tensor), arg_tensor(&none, 0), &err);
  CHECK(got == (kind->fits_any_strides ? DLAUNCH_OK : DLAUNCH_ERROR_TENSOR));
}

static void every_kind(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel any_strides = get_kernel(library, ANY_STRIDES);
  static product p;
  int i, versioned;
  for (i = 0; i < 2 * KINDS_OF_TENSOR; i++) {
    const kind_of_tensor *kind = &kinds_of_tensor[i / 2];
    dlaunch_tensor tensor = 7;
    dlaunch_status got;
    int expected;
    versioned = i % 2;
    produce(&p, versioned);
    kind->make(&p);
    expected = p.legacy.deleter != NULL;
    got = import_product(&p, &tensor, &err);
    expect(__FILE__, __LINE__, kind->name, got, kind->imports ? DLAUNCH_OK : DLAUNCH_ERROR_TENSOR,
           kind->imports ? "" : kind->refused, &err);
    if (kind->imports) {
      CHECK(tensor != 0 && tensor < (UINT64_C(1) << 53));
      launch_it(kind, &p, tensor, any_strides);
      CHECK(times_deleted(&p) == 0);
      CHECK(report_number("\"tensor\":") == 1);
      OK(dlaunch_tensor_close(tensor, &err));
      REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_tensor_close(tensor, &err));
    } else {
      CHECK(tensor == 0);
    }
    CHECK(times_deleted(&p) == expected); /* host memory is never in use after a launch */
  }
  OK(dlaunch_kernel_close(any_strides, &err));
}

/* ---- every outcome */

static void consumed_whatever_happens(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT, bad = DLAUNCH_ERROR_INIT;
  static product p;
  dlaunch_tensor tensor = 7;
  int versioned;
  for (versioned = 0; versioned < 2; versioned++) {
    produce(&p, versioned);
    REFUSED(DLAUNCH_ERROR_ARGUMENT, "out is NULL", import_product(&p, NULL, &err));
    CHECK(times_deleted(&p) == 1);
    produce(&p, versioned);
    CHECK(import_product(&p, NULL, NULL) == DLAUNCH_ERROR_ARGUMENT && times_deleted(&p) == 1);
    produce(&p, versioned);
    bad.struct_size = 0;
    tensor = 7;
    CHECK(import_product(&p, &tensor, &bad) == DLAUNCH_ERROR_ARGUMENT && times_deleted(&p) == 1 && tensor == 0);
    produce(&p, versioned);
    null_deleter(&p);
    CHECK(import_product(&p, NULL, &err) == DLAUNCH_ERROR_ARGUMENT);
  }
  /* Of another major version nothing may be looked at but where the deleter is. */
  produce(&p, 1);
  p.versioned.version.major = 2;
  memset(&p.versioned.flags, 0xee, sizeof p.versioned - offsetof(struct DLManagedTensorVersioned, flags));
  tensor = 7;
  REFUSED(DLAUNCH_ERROR_TENSOR, "DLPack 2.3", import_product(&p, &tensor, &err));
  CHECK(times_deleted(&p) == 1 && tensor == 0);
}

static void read_only(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product p;
  float y[ITEMS] = {0};
  int64_t shape[1] = {ITEMS};
  DLTensor ty = host_tensor(y, 1, shape);
  dlaunch_tensor tensor;
  produce(&p, 1);
  p.versioned.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  OK(import_product(&p, &tensor, &err));
  OK(launch(kernel, arg_handle(tensor), arg_tensor(&ty, 0), &err));
  CHECK(y[3] == 6);
  REFUSED(DLAUNCH_ERROR_TENSOR, "read-only", launch(kernel, arg_tensor(&ty, 0), arg_handle(tensor), &err));
  CHECK(((float *)p.tensor->data)[3] == 3);
  OK(dlaunch_tensor_close(tensor, &err));
  CHECK(times_deleted(&p) == 1);
}

static void host_results(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product p;
  dlaunch_tensor tensor;
  const float *data;
  int i;
  produce(&p, 0);
  data = (const float *)p.tensor->data;
  OK(import_product(&p, &tensor, &err));
  OK(launch(kernel, arg_handle(tensor), arg_handle(tensor), &err)); /* 2x + x */
  for (i = 0; i < ITEMS; i++) CHECK(data[i] == (float)(3 * i));
  OK(dlaunch_retire(tensor, &err));
  CHECK(times_deleted(&p) == 1);
}

/* ---- device memory: an array of dlaunch's own, as any other library would give it */

static void device_tensors(int legacy) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  struct DLManagedTensorVersioned *exported;
  float x[ITEMS], y[ITEMS];
  dlaunch_array array = make_array(ITEMS), result = make_array(ITEMS);
  dlaunch_tensor tensor;
  dlaunch_stream stream = 0;
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[3];
  static product p;
  int i;
  for (i = 0; i < ITEMS; i++) {
    x[i] = (float)i;
    y[i] = 1;
  }
  OK(dlaunch_array_write(array, x, sizeof x, 0, &err));
  OK(dlaunch_array_write(result, y, sizeof y, 0, &err));
  OK(dlaunch_array_export(array, &exported, &err));
  OK(dlaunch_array_close(array, &err));
  produce(&p, !legacy);
  *p.tensor = exported->dl_tensor;
  OK(import_product(&p, &tensor, &err));
  CHECK(times_deleted(&p) == 0);

  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &stream, &err));
  config.stream = stream;
  args[0] = arg_float(2);
  args[1] = arg_handle(tensor);
  args[2] = arg_handle(result);
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  OK(dlaunch_tensor_close(tensor, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_launch(kernel, &config, args, 3, &err));
  OK(dlaunch_stream_synchronize(stream, &err)); /* in a later call, if not in the close */
  CHECK(times_deleted(&p) == 1);
  exported->deleter(exported);
  OK(dlaunch_array_read(result, y, sizeof y, stream, &err));
  for (i = 0; i < ITEMS; i++) CHECK(y[i] == (float)(2 * i + 1));
  OK(dlaunch_array_close(result, &err));
  OK(dlaunch_stream_close(stream, &err));
  OK(dlaunch_drain(&err));
  CHECK(times_deleted(&p) == 1);
  CHECK(report_number("\"device_bytes\":") == 0);
}

/* dlaunch's own export, taken over: its deleter is dlaunch's too. */
static void our_own_export(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  struct DLManagedTensorVersioned *exported;
  dlaunch_array array = make_array(ITEMS);
  dlaunch_tensor tensor;
  OK(dlaunch_array_export(array, &exported, &err));
  OK(dlaunch_tensor_import_versioned(exported, &tensor, &err));
  OK(dlaunch_array_close(array, &err));
  OK(launch(kernel, arg_handle(tensor), arg_handle(tensor), &err));
  CHECK(report_number("\"device_bytes\":") == ITEMS * (long)sizeof(float));
  OK(dlaunch_tensor_close(tensor, &err));
  OK(dlaunch_drain(&err));
  CHECK(report_number("\"device_bytes\":") == 0);
}

/* ---- what deleters do */

static void call_everything(product *p) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array array = make_array(ITEMS);
  dlaunch_library loaded;
  dlaunch_tensor *other = (dlaunch_tensor *)p->with;
  static const float ones[ITEMS] = {1, 1};
  free(get_report());
  OK(dlaunch_array_write(array, ones, sizeof ones, 0, &err));
  OK(launch(kernel, arg_handle(array), arg_handle(array), &err));
  OK(dlaunch_array_close(array, &err));
  loaded = load_kernels((const char *)other[1], "vector_add");
  OK(dlaunch_library_close(loaded, &err));
  if (other[0] != 0) OK(dlaunch_tensor_close(other[0], &err));
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_drain(&err));
}

static void deleters_that_call(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product outer, inner;
  dlaunch_tensor first, with_outer[2], with_inner[2];
  produce(&outer, 1);
  produce(&inner, 0);
  outer.also = inner.also = call_everything;
  outer.with = with_outer;
  inner.with = with_inner;
  with_outer[1] = with_inner[1] = (dlaunch_tensor)(uintptr_t)folder;
  with_inner[0] = 0;
  OK(import_product(&inner, &with_outer[0], &err));
  OK(import_product(&outer, &first, &err));
  OK(dlaunch_tensor_close(first, &err));
  CHECK(times_deleted(&outer) == 1 && times_deleted(&inner) == 1);
  CHECK(pthread_equal(outer.deleted_by, pthread_self()));
  /* And one whose import fails. */
  produce(&outer, 1);
  outer.also = call_everything;
  outer.with = with_inner;
  CHECK(import_product(&outer, NULL, &err) == DLAUNCH_ERROR_ARGUMENT && times_deleted(&outer) == 1);
}

/* Between a deleter and who called dlaunch is nothing but C: what walks the stack,
 * as exceptions do, finds the way, which it would not through Go's frames. */
static void *caller;

static void look_for_caller(product *p) {
  void *frames[100];
  int i, n = backtrace(frames, 100);
  for (i = 0; i < n && frames[i] != caller; i++) {
  }
  *(int *)p->with += i < n;
}

static __attribute__((noinline)) dlaunch_status close_from_here(dlaunch_tensor tensor, dlaunch_error *err) {
  volatile dlaunch_status status; /* no tail call: this frame is to be found */
  caller = __builtin_return_address(0);
  status = dlaunch_tensor_close(tensor, err);
  return status;
}

static __attribute__((noinline)) dlaunch_status fail_from_here(product *p) {
  volatile dlaunch_status status;
  caller = __builtin_return_address(0);
  status = import_product(p, NULL, NULL);
  return status;
}

static void deleters_beneath_c_alone(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product p;
  dlaunch_tensor tensor;
  int found = 0;
  produce(&p, 1);
  p.also = look_for_caller;
  p.with = &found;
  OK(import_product(&p, &tensor, &err));
  OK(close_from_here(tensor, &err));
  CHECK(times_deleted(&p) == 1 && found == 1);
  produce(&p, 0);
  p.also = look_for_caller;
  p.with = &found;
  CHECK(fail_from_here(&p) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(times_deleted(&p) == 1 && found == 2);
}

/* And one may leave without returning. */
static jmp_buf back;

static void jump(product *p) {
  (void)p;
  longjmp(back, 1);
}

static void deleters_that_unwind(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product p;
  static dlaunch_tensor tensor;
  static int round;
  for (round = 0; round < 200; round++) {
    produce(&p, round & 1);
    p.also = jump;
    OK(import_product(&p, &tensor, &err));
    if (setjmp(back) == 0) {
      dlaunch_tensor_close(tensor, &err);
      CHECK(!"the deleter was called");
    }
    CHECK(times_deleted(&p) == 1);
    REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_tensor_close(tensor, &err));
  }
}

/* ---- handles of the wrong kind */

static void wrong_kinds(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  static product p;
  dlaunch_array array = make_array(1);
  dlaunch_tensor tensor;
  float host[ITEMS];
  produce(&p, 0);
  OK(import_product(&p, &tensor, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is a tensor", dlaunch_array_close(tensor, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is a tensor", dlaunch_array_read(tensor, host, sizeof host, 0, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is a tensor", dlaunch_kernel_close(tensor, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "is an array", dlaunch_tensor_close(array, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_tensor_close(kernel, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_tensor_close(0, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", launch(tensor, arg_handle(array), arg_handle(array), &err));
  CHECK(times_deleted(&p) == 0);
  OK(dlaunch_tensor_close(tensor, &err));
  OK(dlaunch_array_close(array, &err));
}

/* ---- threads */

enum { THREADS = 4, ROUNDS = 300, SHARED = 8 };

static product products[THREADS][ROUNDS];
static struct DLManagedTensorVersioned *on_device; /* what some of them are views of */
static dlaunch_tensor shared[SHARED];

static void *import_launch_close(void *mine) {
  product *own = (product *)mine;
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  float y[ITEMS] = {0};
  int64_t shape[1] = {ITEMS};
  DLTensor ty = host_tensor(y, 1, shape);
  int i;
  for (i = 0; i < ROUNDS; i++) {
    dlaunch_tensor tensor, other;
    dlaunch_status status;
    produce(&own[i], i & 1);
    if (i % 5 == 0) *own[i].tensor = on_device->dl_tensor;
    OK(import_product(&own[i], &tensor, &err));
    other = __atomic_exchange_n(&shared[i % SHARED], tensor, __ATOMIC_SEQ_CST);
    /* Others may close what is launched here. */
    status = launch(kernel, arg_handle(tensor), arg_tensor(&ty, 0), &err);
    CHECK(status == DLAUNCH_OK || status == DLAUNCH_ERROR_HANDLE);
    if (other != 0) OK(i % 3 == 0 ? dlaunch_retire(other, &err) : dlaunch_tensor_close(other, &err));
  }
  return NULL;
}

static void many_threads(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  pthread_t threads[THREADS];
  dlaunch_array array = make_array(ITEMS);
  int i, j;
  OK(dlaunch_array_export(array, &on_device, &err));
  OK(dlaunch_array_close(array, &err));
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, import_launch_close, products[i]) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (i = 0; i < SHARED; i++) {
    if (shared[i] != 0) OK(dlaunch_tensor_close(shared[i], &err));
  }
  OK(dlaunch_drain(&err));
  on_device->deleter(on_device);
  for (i = 0; i < THREADS; i++) {
    for (j = 0; j < ROUNDS; j++) {
      int k, ours = pthread_equal(products[i][j].deleted_by, pthread_self());
      CHECK(times_deleted(&products[i][j]) == 1);
      for (k = 0; k < THREADS; k++) ours |= pthread_equal(products[i][j].deleted_by, threads[k]);
      CHECK(ours);
    }
  }
}

int main(int argc, char **argv) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  CHECK(argc > 1);
  consumed_whatever_happens(); /* before anything has opened a driver */
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, SAXPY);
  every_kind();
  consumed_whatever_happens();
  read_only();
  host_results();
  device_tensors(0);
  device_tensors(1);
  our_own_export();
  deleters_that_call(argv[1]);
  deleters_beneath_c_alone();
  deleters_that_unwind();
  wrong_kinds();
  many_threads();
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  check_nothing_lives();
  return 0;
}
