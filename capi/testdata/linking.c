/* Two texts that are linked; names, variables and architectures of what came of it. */
#include "contract.h"

typedef struct file {
  char bytes[1 << 15];
  size_t size;
} file;

static file caller, callee;

static void read_file(file *to, const char *folder, const char *name) {
  char path[4096];
  FILE *from;
  snprintf(path, sizeof path, "%s/../linking/%s", folder, name);
  from = fopen(path, "rb");
  CHECK(from != NULL);
  to->size = fread(to->bytes, 1, sizeof to->bytes, from);
  fclose(from);
  CHECK(to->size > 0 && to->size < sizeof to->bytes);
}

static dlaunch_link_input input_of(const file *from, const char *name) {
  dlaunch_link_input input = DLAUNCH_LINK_INPUT_INIT;
  input.data = from->bytes;
  input.size = from->size;
  input.name = name;
  return input;
}

/* Launches a kernel of int *x and, perhaps, int n on five ints. */
static void launch(dlaunch_kernel kernel, int32_t *x) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, 5);
  int64_t shape[1] = {5};
  DLTensor tensor = host_tensor((float *)x, 1, shape);
  dlaunch_arg arg = arg_tensor(&tensor, DLAUNCH_IN | DLAUNCH_OUT);
  tensor.dtype = dtype_of(kDLInt, 32);
  OK(dlaunch_launch(kernel, &config, &arg, 1, &err));
}

static void linked(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_link_input inputs[2];
  dlaunch_library_options options = DLAUNCH_LIBRARY_OPTIONS_INIT;
  dlaunch_name names[2] = {{"the float one", "_Z4fillIfLi3EEvPT_"}, {"f < int >", "_Z4fillIiLi4EEvPT_"}};
  dlaunch_library library = 7;
  dlaunch_kernel kernel = 7;
  uint64_t address = 0;
  size_t bytes = 0, needed = 0;
  uint32_t count = 0, index;
  char text[64], log[8] = "xxxxxxx";
  int32_t x[5] = {0, 1, 2, 3, 4};
  int i, found = 0;

  inputs[0] = input_of(&caller, "caller.ptx");
  inputs[1] = input_of(&callee, NULL);
  options.names = names;
  options.num_names = 2;
  options.log = log;
  options.log_size = sizeof log;
  OK(dlaunch_link(inputs, 2, &options, &library, &err));
  CHECK(log[sizeof log - 1] == 0 && log[0] != 'x');
  OK(dlaunch_library_kernel_count(library, &count, &err));
  CHECK(count == 4);
  kernel = get_kernel(library, "apply"); /* its prototype is in the image of caller.cu */
  launch(kernel, x);
  for (i = 0; i < 5; i++) CHECK(x[i] == 2 * i + 107);
  OK(dlaunch_kernel_close(kernel, &err));

  OK(dlaunch_library_architectures(library, NULL, 0, &needed, &err));
  CHECK(needed > 1 && needed <= sizeof text);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "needed", dlaunch_library_architectures(library, text, needed - 1, NULL, &err));
  OK(dlaunch_library_architectures(library, text, sizeof text, NULL, &err));
  CHECK(strncmp(text, "sm_", 3) == 0 || strcmp(text, "compute_75") == 0);
  for (index = 0; dlaunch_library_global_name(library, index, text, sizeof text, NULL, &err) == DLAUNCH_OK; index++) {
    OK(dlaunch_library_global(library, 0, text, &address, &bytes, &err));
    CHECK(bytes == 4 && address != 0);
    found += strcmp(text, "calls") == 0;
  }
  CHECK(err.status == DLAUNCH_ERROR_NOT_FOUND && found == 1);
  OK(dlaunch_library_global(library, 0, "shapes::sides", &address, &bytes, &err));

  OK(dlaunch_kernel_close(get_kernel(library, "the float one"), &err));
  kernel = get_kernel(library, "f<int>(x: out i32[5])");
  launch(kernel, x);
  for (i = 0; i < 5; i++) CHECK(x[i] == 4);
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_kernel_close(get_kernel(library, "count"), &err));
  REFUSED(DLAUNCH_ERROR_NOT_FOUND, "fill<int, 4>(int*)", dlaunch_kernel_get(library, "fill", &kernel, &err));
  CHECK(kernel == 0);
  OK(dlaunch_library_close(library, &err));
}

static void refused(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_link_input inputs[2];
  dlaunch_library_options options = DLAUNCH_LIBRARY_OPTIONS_INIT;
  dlaunch_name name = {"f", NULL};
  int32_t log_option = 3;
  uint64_t value = 0;
  dlaunch_library library = 7;
  inputs[0] = input_of(&caller, "caller.ptx");
  inputs[1] = input_of(&callee, "callee.ptx");
  REFUSED(DLAUNCH_ERROR_IMAGE, "_Z5twicei", dlaunch_link(inputs, 1, NULL, &library, &err));
  CHECK(library == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "nothing to link", dlaunch_link(inputs, 0, NULL, &library, &err));
  inputs[1].size = 0;
  REFUSED(DLAUNCH_ERROR_IMAGE, "callee.ptx: the image is empty", dlaunch_link(inputs, 2, NULL, &library, &err));
  inputs[1].data = NULL;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "inputs[1].data", dlaunch_link(inputs, 2, NULL, &library, &err));
  inputs[1].struct_size = 0;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "struct_size", dlaunch_link(inputs, 2, NULL, &library, &err));
  inputs[1].struct_size = sizeof inputs[1] + 8;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "inputs[1].struct_size", dlaunch_link(inputs, 2, NULL, &library, &err));

  options.names = &name;
  options.num_names = 1;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "names[0]",
          dlaunch_library_load(callee.bytes, callee.size, &options, &library, &err));
  options.names = NULL;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "names is NULL",
          dlaunch_library_load(callee.bytes, callee.size, &options, &library, &err));
  options.struct_size = offsetof(dlaunch_library_options, names); /* of a caller that knows none */
  OK(dlaunch_library_load(callee.bytes, callee.size, &options, &library, &err));
  OK(dlaunch_library_close(library, &err));
  options.jit_options = &log_option;
  options.jit_values = &value;
  options.num_jit_options = 1;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "JIT option 3",
          dlaunch_library_load(callee.bytes, callee.size, &options, &library, &err));
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  read_file(&caller, argv[1], "caller.ptx");
  read_file(&callee, argv[1], "callee.ptx");
  linked();
  refused();
  check_nothing_lives();
  return 0;
}
