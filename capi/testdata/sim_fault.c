/*
 * The simulator knows every tensor's bounds: an access outside is an error that
 * says where, and the process goes on. (A GPU would not see this one.)
 */
#include "contract.h"

enum { N = 64 };

int main(int argc, char **argv) {
  static const char *const says[] = {"saxpy", "block (0,0,0)", "thread (60,0,0)", "line 45 (ld.global.f32)",
                                     "y[60]", "argument 2",    "60 elements"};
  static float x[N], y[N], guard[N];
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_driver_info_t info = DLAUNCH_DRIVER_INFO_INIT;
  dlaunch_config config = make_config(1, N);
  int64_t shape[1] = {N}, shorter[1] = {N - 4};
  DLTensor tx = host_tensor(x, 1, shape), ty = host_tensor(y, 1, shorter);
  dlaunch_library library;
  dlaunch_kernel kernel;
  dlaunch_arg args[3];
  size_t i;
  CHECK(argc > 1);
  OK(dlaunch_driver_info(&info, &err));
  CHECK(strcmp(info.kind, "sim") == 0);
  library = load_kernels(argv[1], "saxpy");
  kernel = get_kernel(library, "saxpy(a: f32, x: f32[n], y: inout f32[m], n: i32 = n)");
  for (i = 0; i < N; i++) x[i] = 1;
  args[0] = arg_float(1);
  args[1] = arg_tensor(&tx, 0);
  args[2] = arg_tensor(&ty, 0);
  CHECK(dlaunch_launch(kernel, &config, args, 3, &err) == DLAUNCH_ERROR_FAULT);
  for (i = 0; i < sizeof says / sizeof *says; i++) {
    if (strstr(err.message, says[i]) == NULL) fprintf(stderr, "%s\n  does not say: %s\n", err.message, says[i]);
    CHECK(strstr(err.message, says[i]) != NULL);
  }
  for (i = N - 4; i < N; i++) CHECK(y[i] == 0);
  for (i = 0; i < N; i++) CHECK(guard[i] == 0);

  shorter[0] = N; /* the next launch finds nothing amiss */
  memset(y, 0, sizeof y);
  OK(dlaunch_launch(kernel, &config, args, 3, &err));
  for (i = 0; i < N; i++) CHECK(y[i] == 1);
  OK(dlaunch_synchronize(0, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  check_nothing_lives();
  return 0;
}
