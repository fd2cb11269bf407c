/* Views of arrays: what they show, how long they keep it, and what they may not reach. */
#include "contract.h"

static const int64_t shape[2] = {3, 4};
static dlaunch_error err = DLAUNCH_ERROR_INIT;

static dlaunch_array numbered(void) {
  dlaunch_array array;
  float numbers[12];
  int i;
  for (i = 0; i < 12; i++) numbers[i] = (float)i;
  OK(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 2, shape, &array, &err));
  OK(dlaunch_array_write(array, numbers, sizeof numbers, 0, &err));
  return array;
}

static void views_show_the_memory(void) {
  dlaunch_array array = numbered(), row, column, back;
  int64_t four[1] = {4}, three[1] = {3}, steps[1] = {4}, reverse[1] = {-1};
  DLTensor whole, part;
  float found[4];
  OK(dlaunch_array_tensor(array, &whole, &err));
  OK(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 1, four, NULL, 16, &row, &err));
  OK(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 1, three, steps, 4, &column, &err));
  OK(dlaunch_array_view(row, dtype_of(kDLFloat, 32), 1, four, reverse, 12, &back, &err)); /* of a view */
  OK(dlaunch_array_tensor(column, &part, &err));
  CHECK((const char *)part.data == (const char *)whole.data + 4 && part.ndim == 1);
  CHECK(part.shape[0] == 3 && part.strides[0] == 4);
  OK(dlaunch_array_tensor(back, &part, &err));
  CHECK((const char *)part.data == (const char *)whole.data + 28 && part.strides[0] == -1);
  OK(dlaunch_array_close(array, &err)); /* the views keep the memory */
  OK(dlaunch_array_read(row, found, sizeof found, 0, &err));
  CHECK(found[0] == 4 && found[1] == 5 && found[2] == 6 && found[3] == 7);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "not C-contiguous", dlaunch_array_read(column, found, 12, 0, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "not C-contiguous", dlaunch_array_write(back, found, 16, 0, &err));
  OK(dlaunch_array_close(row, &err));
  OK(dlaunch_array_wait(back, 0, &err));
  OK(dlaunch_array_close(back, &err));
  OK(dlaunch_array_close(column, &err));
}

static void other_types_and_none(void) {
  dlaunch_array array = numbered(), bytes, one, none, empty;
  int64_t all[1] = {48}, nothing[2] = {0, 5}, item = 0;
  uint8_t found[48];
  OK(dlaunch_array_view(array, dtype_of(kDLUInt, 8), 1, all, NULL, 0, &bytes, &err));
  OK(dlaunch_array_read(bytes, found, sizeof found, 0, &err));
  CHECK(found[7] == 0x3f && found[6] == 0x80); /* 1.0f */
  OK(dlaunch_array_view(array, dtype_of(kDLInt, 64), 0, NULL, NULL, 40, &one, &err));
  OK(dlaunch_array_read(one, &item, sizeof item, 0, &err));
  CHECK(item == INT64_C(0x4130000041200000)); /* 10.0f, 11.0f */
  OK(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 2, nothing, NULL, 1 << 20, &none,
                        &err)); /* no element is there */
  OK(dlaunch_array_create(0, dtype_of(kDLFloat, 32), 2, nothing, &empty, &err));
  OK(dlaunch_array_close(one, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside",
          dlaunch_array_view(empty, dtype_of(kDLFloat, 32), 1, all, NULL, 8, &one, &err));
  OK(dlaunch_retire(bytes, &err));
  OK(dlaunch_array_close(none, &err));
  OK(dlaunch_array_close(empty, &err));
  OK(dlaunch_array_close(array, &err));
}

static void nothing_else_is_reached(void) {
  dlaunch_array array = numbered(), view;
  int64_t two[2] = {2, 2}, far[1] = {INT64_MAX}, negative[1] = {-1}, inside[2] = {8, 3}, over[2] = {9, 3};
  int64_t under[2] = {-1, 1}, wild[2] = {INT64_MAX, INT64_MAX};
  DLDataType f32 = dtype_of(kDLFloat, 32);
  OK(dlaunch_array_view(array, f32, 2, two, inside, 0, &view, &err)); /* to 11, the last */
  OK(dlaunch_array_close(view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside of its memory",
          dlaunch_array_view(array, f32, 2, two, over, 0, &view, &err));
  CHECK(view == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 2, two, inside, 1, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 2, two, under, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 0, NULL, NULL, -4, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 0, NULL, NULL, 48, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 0, NULL, NULL, INT64_MIN, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "outside", dlaunch_array_view(array, f32, 2, two, wild, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "bytes", dlaunch_array_view(array, f32, 1, far, NULL, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "shape[0] is -1", dlaunch_array_view(array, f32, 1, negative, NULL, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "ndim is 65", dlaunch_array_view(array, f32, 65, two, NULL, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "dtype", dlaunch_array_view(array, dtype_of(99, 3), 2, two, NULL, 0, &view, &err));
  OK(dlaunch_array_close(array, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_array_view(array, f32, 2, two, NULL, 0, &view, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_array_wait(array, 0, &err));
}

/* A view is as good an argument as an array. */
static void views_are_launched_with(const char *folder) {
  dlaunch_library library = load_kernels(folder, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, SAXPY);
  dlaunch_config config = make_config(1, 32);
  dlaunch_array array = numbered(), x, y;
  dlaunch_stream stream;
  int64_t four[1] = {4};
  dlaunch_arg args[3];
  float found[12];
  OK(dlaunch_stream_create(0, 0, &stream, &err));
  OK(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 1, four, NULL, 0, &x, &err));
  OK(dlaunch_array_view(array, dtype_of(kDLFloat, 32), 1, four, NULL, 32, &y, &err));
  args[0] = arg_float(100);
  args[1] = arg_handle(x);
  args[2] = arg_handle(y);
  config.stream = stream;
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  OK(dlaunch_array_wait(array, 1, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "stream", dlaunch_array_wait(array, stream + (UINT64_C(1) << 24), &err));
  OK(dlaunch_stream_close(stream, &err));
  OK(dlaunch_array_wait(x, 0, &err)); /* launched on a stream that is closed now */
  OK(dlaunch_array_read(array, found, sizeof found, 0, &err));
  CHECK(found[7] == 7 && found[8] == 8 && found[9] == 109 && found[11] == 311);
  OK(dlaunch_array_close(x, &err));
  OK(dlaunch_array_close(array, &err));
  OK(dlaunch_array_close(y, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  views_show_the_memory();
  other_types_and_none();
  nothing_else_is_reached();
  views_are_launched_with(argv[1]);
  check_nothing_lives();
  return 0;
}
