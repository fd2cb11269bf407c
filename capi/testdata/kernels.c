/* What is asked of kernels: attributes, occupancy, the driver's handles, loading. */
#include "contract.h"

#include <sys/mman.h>

enum { MAX_THREADS = 0, REGISTERS = 4, MAX_DYNAMIC = 8, CARVEOUT = 9, NON_PORTABLE = 14 };
enum { MULTIPROCESSORS = 16, CLUSTERS = 120 };

static int32_t attribute(dlaunch_kernel kernel, int32_t which) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t value = -7;
  OK(dlaunch_kernel_attribute(kernel, which, 0, &value, &err));
  return value;
}

static int32_t device_attribute(int32_t which) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t value = -7;
  OK(dlaunch_device_attribute(0, which, &value, &err));
  return value;
}

static int32_t active(dlaunch_kernel kernel, int32_t block) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int32_t n = -7;
  OK(dlaunch_kernel_max_active_blocks(kernel, 0, (uint32_t)block, 0, &n, &err));
  return n;
}

static void *pointer(uint64_t address) { return (void *)(uintptr_t)address; }

static void attributes(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "dynamic_shared");
  dlaunch_kernel kernel = get_kernel(library, "dynamic_shared");
  int32_t which, value = 7;
  for (which = 0; which <= 15; which++) attribute(kernel, which);
  CHECK(attribute(kernel, MAX_THREADS) == 1024);
  CHECK(attribute(kernel, REGISTERS) >= 8 && attribute(kernel, REGISTERS) <= 64);
  CHECK(attribute(kernel, CARVEOUT) == -1);
  REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "attribute 9999", dlaunch_kernel_attribute(kernel, 9999, 0, &value, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "device 99", dlaunch_kernel_attribute(kernel, 0, 99, &value, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "device -1", dlaunch_kernel_attribute(kernel, 0, -1, &value, &err));
  CHECK(value == 7);

  OK(dlaunch_kernel_set_attribute(kernel, MAX_DYNAMIC, 0, 100 << 10, &err));
  CHECK(attribute(kernel, MAX_DYNAMIC) == 100 << 10);
  OK(dlaunch_kernel_set_attribute(kernel, CARVEOUT, 0, 50, &err));
  CHECK(attribute(kernel, CARVEOUT) == 50);
  REFUSED(DLAUNCH_ERROR_CONFIG, "for a block", dlaunch_kernel_set_attribute(kernel, MAX_DYNAMIC, 0, 1 << 30, &err));
  REFUSED(DLAUNCH_ERROR_CONFIG, "-1 to 100", dlaunch_kernel_set_attribute(kernel, CARVEOUT, 0, 101, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "cannot be set", dlaunch_kernel_set_attribute(kernel, REGISTERS, 0, 16, &err));
  if (device_attribute(CLUSTERS) == 0) {
    REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "9.0", dlaunch_kernel_set_attribute(kernel, NON_PORTABLE, 0, 1, &err));
  } else {
    OK(dlaunch_kernel_set_attribute(kernel, NON_PORTABLE, 0, 1, &err));
    CHECK(attribute(kernel, NON_PORTABLE) == 1);
  }
  OK(dlaunch_kernel_load(kernel, 0, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "device 99", dlaunch_kernel_load(kernel, 99, &err));
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_kernel_load(kernel, 0, &err));
}

static void occupancy(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "dynamic_shared");
  dlaunch_kernel kernel = get_kernel(library, "dynamic_shared");
  dlaunch_config config = make_config(8, 128);
  int32_t n = -7, grid = -7, block = -7;
  size_t bytes = 7;
  CHECK(active(kernel, 1024) >= 1 && active(kernel, 1024) <= 2);
  OK(dlaunch_kernel_max_active_blocks(kernel, 0, 128, 100 << 10, &n, &err));
  CHECK(n == 2 && attribute(kernel, MAX_DYNAMIC) >= 100 << 10);
  OK(dlaunch_kernel_max_active_blocks(kernel, 0, 128, SIZE_MAX, &n, &err));
  CHECK(n == 0);
  REFUSED(DLAUNCH_ERROR_CONFIG, "0 threads", dlaunch_kernel_max_active_blocks(kernel, 0, 0, 0, &n, &err));
  REFUSED(DLAUNCH_ERROR_CONFIG, "", dlaunch_kernel_max_active_blocks(kernel, 0, UINT32_MAX, 0, &n, &err));

  OK(dlaunch_kernel_max_potential_block_size(kernel, 0, 0, 0, 0, &grid, &block, &err));
  CHECK(grid == active(kernel, block) * device_attribute(MULTIPROCESSORS));
  for (n = 32; n <= 1024; n += 32) { /* no block has more threads active; of as many, it is the largest */
    CHECK(active(kernel, n) * n + (n > block) <= active(kernel, block) * block);
  }
  OK(dlaunch_kernel_max_potential_block_size(kernel, 0, 1024, 8, 100, &grid, &block, &err));
  CHECK(block > 0 && block <= 100 && grid % device_attribute(MULTIPROCESSORS) == 0);
  grid = block = 7;
  REFUSED(DLAUNCH_ERROR_CONFIG, "no block fits",
          dlaunch_kernel_max_potential_block_size(kernel, 0, SIZE_MAX, SIZE_MAX, 0, &grid, &block, &err));
  CHECK(grid == 7 && block == 7);

  OK(dlaunch_kernel_available_shared_bytes(kernel, 0, 1, 128, &bytes, &err));
  CHECK(bytes >= 48 << 10);
  REFUSED(DLAUNCH_ERROR_CONFIG, "do not fit", dlaunch_kernel_available_shared_bytes(kernel, 0, 0, 128, &bytes, &err));
  REFUSED(DLAUNCH_ERROR_CONFIG, "do not fit",
          dlaunch_kernel_available_shared_bytes(kernel, 0, 1000, 128, &bytes, &err));
  REFUSED(DLAUNCH_ERROR_CONFIG, "0 threads", dlaunch_kernel_available_shared_bytes(kernel, 0, 1, 0, &bytes, &err));

  config.cluster[0] = 2;
  if (device_attribute(CLUSTERS) == 0) {
    REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "clusters", dlaunch_kernel_max_cluster_size(kernel, 0, &config, &n, &err));
    REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "clusters", dlaunch_kernel_max_active_clusters(kernel, 0, &config, &n, &err));
  } else {
    OK(dlaunch_kernel_max_cluster_size(kernel, 0, &config, &n, &err));
    CHECK(n >= 8);
    OK(dlaunch_kernel_max_active_clusters(kernel, 0, &config, &n, &err));
    CHECK(n > 0);
    REFUSED(DLAUNCH_ERROR_ARGUMENT, "config", dlaunch_kernel_max_active_clusters(kernel, 0, NULL, &n, &err));
    config.cluster[0] = 3;
    REFUSED(DLAUNCH_ERROR_CONFIG, "multiple", dlaunch_kernel_max_active_clusters(kernel, 0, &config, &n, &err));
  }
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_kernel_close(kernel, &err));
}

/* The driver's own handle gives our kernel, which keeps the library. */
static void own_kernels(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(folder, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, SAXPY), again = 7;
  dlaunch_config config = make_config(1, 32);
  dlaunch_parameter parameter = DLAUNCH_PARAMETER_INIT;
  float data[32] = {0};
  int64_t shape[1] = {32};
  DLTensor x = host_tensor(data, 1, shape);
  dlaunch_arg args[3];
  uint64_t native = 0, same = 0;
  char name[16];
  int i;
  OK(dlaunch_kernel_native(kernel, &native, &err));
  CHECK(native != 0);
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_kernel_from_driver(pointer(native), NULL, &again, &err));
  OK(dlaunch_kernel_parameter(again, 0, &parameter, &err));
  CHECK(strcmp(parameter.name, "saxpy_param_0") == 0);
  OK(dlaunch_kernel_close(again, &err));
  OK(dlaunch_kernel_from_driver(pointer(native), SAXPY, &again, &err));
  OK(dlaunch_kernel_name(again, name, sizeof name, NULL, &err));
  CHECK(strcmp(name, "saxpy") == 0);
  OK(dlaunch_kernel_native(again, &same, &err));
  CHECK(same == native);
  OK(dlaunch_kernel_close(kernel, &err));
  for (i = 0; i < 32; i++) data[i] = (float)i;
  args[0] = arg_float(2);
  args[1] = args[2] = arg_tensor(&x, 0);
  OK(dlaunch_launch(again, &config, args, 3, &err));
  CHECK(data[5] == 15);
  REFUSED(DLAUNCH_ERROR_PROTOTYPE, "no prototype", dlaunch_kernel_from_driver(pointer(native), "saxpy", &kernel, &err));
  REFUSED(DLAUNCH_ERROR_PROTOTYPE, "daxpy", dlaunch_kernel_from_driver(pointer(native), "daxpy()", &kernel, &err));
  CHECK(kernel == 0);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "out", dlaunch_kernel_from_driver(pointer(native), NULL, NULL, &err));
  OK(dlaunch_kernel_close(again, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_kernel_from_driver(pointer(native), NULL, &again, &err));
}

/* Whatever else a pointer may be is refused, and never followed off the map. */
static void nonsense(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  const size_t page = 4096;
  char *pages = (char *)mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void *zeros = calloc(1, 4096);
  dlaunch_stream stream = 0;
  dlaunch_kernel kernel = 7;
  uint64_t native = 0;
  size_t i;
  CHECK(pages != MAP_FAILED && zeros != NULL);
  CHECK(mprotect(pages + page, page, PROT_READ | PROT_WRITE) == 0);
  OK(dlaunch_stream_create(0, 0, &stream, &err));
  OK(dlaunch_stream_native(stream, &native, &err));
  {
    void *const bad[] = {NULL,
                         pointer(1),
                         pointer(3),
                         pointer(0x1234),
                         pointer(8),
                         pointer(0x12340),
                         pointer(UINT64_MAX),
                         pointer(UINT64_MAX - 7),
                         zeros,
                         pages,
                         pages + page - 8,
                         pages + page + 1,
                         pages + page,
                         (void *)&err,
                         pages + 2 * page - 8,
                         pointer((uint64_t)1 << 47),
                         stdout,
                         pointer(native),
                         pointer(stream)};
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
      kernel = 7;
      REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_kernel_from_driver(bad[i], SAXPY, &kernel, &err));
      CHECK(kernel == 0);
    }
  }
  OK(dlaunch_stream_close(stream, &err));
  free(zeros);
  munmap(pages, 3 * page);
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  attributes(argv[1]);
  occupancy(argv[1]);
  own_kernels(argv[1]);
  nonsense();
  check_nothing_lives();
  return 0;
}
