/* A kernel whose image carries its prototype, got by its name. */
#include "contract.h"

int main(int argc, char **argv) {
  static const char carried[] = "saxpy_carried(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)";
  static const char given[] = "saxpy_carried(a: f32, x: ptr, y: ptr, n: i32)";
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  dlaunch_config config = DLAUNCH_CONFIG_INIT;
  dlaunch_library library;
  dlaunch_kernel kernel, untyped;
  dlaunch_array x, y;
  dlaunch_arg args[3];
  char text[sizeof carried];
  size_t needed = 0, bytes;
  float in[5] = {1, 2, 3, 4, 5}, out[5] = {10, 20, 30, 40, 50};
  int i;

  CHECK(argc == 3);
  library = load_kernels(argv[1], "saxpy_carried");
  kernel = get_kernel(library, "saxpy_carried");
  OK(dlaunch_kernel_prototype(kernel, NULL, 0, &needed, &err));
  CHECK(needed == sizeof carried);
  strcpy(text, "untouched");
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "", dlaunch_kernel_prototype(kernel, text, sizeof text - 1, &needed, &err));
  CHECK(needed == sizeof carried && strcmp(text, "untouched") == 0);
  OK(dlaunch_kernel_prototype(kernel, text, sizeof text, NULL, &err));
  CHECK(strcmp(text, carried) == 0);
  OK(dlaunch_kernel_parameter(kernel, 1, &parameter, &err));
  CHECK(strcmp(parameter.name, "x") == 0 && strcmp(parameter.type, "f32[n]") == 0 && parameter.mode == DLAUNCH_IN);

  x = make_array(5);
  y = make_array(5);
  bytes = sizeof in;
  OK(dlaunch_array_write(x, in, bytes, 0, &err));
  OK(dlaunch_array_write(y, out, bytes, 0, &err));
  args[0] = arg_float(2);
  args[1] = arg_handle(x);
  args[2] = arg_handle(y);
  config.grid[0] = 1;
  config.block[0] = 32;
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  OK(dlaunch_array_read(y, out, bytes, 0, &err));
  for (i = 0; i < 5; i++) CHECK(out[i] == 12.0f * (float)(i + 1));
  OK(dlaunch_kernel_close(kernel, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_kernel_prototype(kernel, text, sizeof text, NULL, &err));

  kernel = get_kernel(library, given);
  OK(dlaunch_kernel_prototype(kernel, text, sizeof text, NULL, &err));
  CHECK(strcmp(text, given) == 0);
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));

  library = load_kernels(argv[1], "saxpy");
  untyped = get_kernel(library, "saxpy");
  OK(dlaunch_kernel_prototype(untyped, text, sizeof text, &needed, &err));
  CHECK(needed == 1 && text[0] == 0);
  OK(dlaunch_kernel_close(untyped, &err));
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_array_close(x, &err));
  OK(dlaunch_array_close(y, &err));
  return 0;
}
