/* Launches saxpy on memory of its own: on a GPU, or on the simulator. */
#include <dlaunch.h>
#include <stdio.h>

enum { N = 1000 };

int main(void) {
  static float x_data[N], y_data[N];
  int64_t shape[] = {N};
  for (int i = 0; i < N; i++) x_data[i] = (float)i, y_data[i] = 1;

  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t driver = DLAUNCH_DRIVER_INFO_INIT;
  dlaunch_library library;
  dlaunch_kernel saxpy;
  const char *prototype = "saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)";

  DLTensor x = {.data = x_data, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}, .shape = shape};
  DLTensor y = x;
  y.data = y_data;
  dlaunch_config config = {.struct_size = sizeof config, .grid = {4}, .block = {256}};
  dlaunch_arg args[] = {{.kind = DLAUNCH_ARG_FLOAT, .value.f = 2},
                        {.kind = DLAUNCH_ARG_TENSOR, .value.tensor = &x},
                        {.kind = DLAUNCH_ARG_TENSOR, .value.tensor = &y}};
  if (dlaunch_library_load_file("testdata/kernels/saxpy.ptx", NULL, &library, &err) != DLAUNCH_OK ||
      dlaunch_kernel_get(library, prototype, &saxpy, &err) != DLAUNCH_OK ||
      dlaunch_launch(saxpy, &config, args, 3, &err) != DLAUNCH_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }

  for (int i = 0; i < N; i++) {
    if (y_data[i] != 2 * x_data[i] + 1) {
      fprintf(stderr, "y[%d] is %g, %g wanted\n", i, y_data[i], 2 * x_data[i] + 1);
      return 1;
    }
  }
  dlaunch_driver_info(&driver, &err);
  printf("saxpy from C on %s: y[%d] = %g\n", driver.kind, N - 1, y_data[N - 1]);
  dlaunch_kernel_close(saxpy, NULL);
  dlaunch_library_close(library, NULL);
  return 0;
}
