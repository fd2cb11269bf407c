/*
 * What is captured into a CUDA graph stays, though all of it is closed, until the
 * graph and what was instantiated from it are gone. For a CUDA driver only: most
 * graphs are made by its own functions.
 */
#include "producer.h"

#include <dlfcn.h>
#include <unistd.h>

typedef void *handle; /* a CUgraph, CUgraphExec, CUcontext */

static int (*begin_capture)(uint64_t stream, int mode);
static int (*end_capture)(uint64_t stream, handle *graph);
static int (*instantiate)(handle *exec, handle graph, uint64_t flags);
static int (*launch_graph)(handle exec, uint64_t stream);
static int (*destroy_exec)(handle exec);
static int (*destroy_graph)(handle graph);

static void find(void *cuda, const char *name, void *to) {
  void *found = dlsym(cuda, name);
  CHECK(found != NULL);
  memcpy(to, &found, sizeof found);
}

static void open_cuda(void) {
  void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
  int (*init)(unsigned), (*retain)(handle *, int), (*set_current)(handle);
  handle context;
  CHECK(cuda != NULL);
  find(cuda, "cuInit", &init);
  find(cuda, "cuDevicePrimaryCtxRetain", &retain);
  find(cuda, "cuCtxSetCurrent", &set_current);
  find(cuda, "cuStreamBeginCapture_v2", &begin_capture);
  find(cuda, "cuStreamEndCapture", &end_capture);
  find(cuda, "cuGraphInstantiateWithFlags", &instantiate);
  find(cuda, "cuGraphLaunch", &launch_graph);
  find(cuda, "cuGraphExecDestroy", &destroy_exec);
  find(cuda, "cuGraphDestroy", &destroy_graph);
  CHECK(init(0) == 0 && retain(&context, 0) == 0 && set_current(context) == 0);
}

/* A tensor that has the memory of an array, and closes it when it is deleted. */
static void close_array(product *p) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  OK(dlaunch_array_close(*(dlaunch_array *)p->with, &err));
}

static dlaunch_tensor make_tensor(product *p, dlaunch_array *array) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_tensor tensor = 0;
  DLTensor memory;
  *array = make_array(ITEMS);
  OK(dlaunch_array_tensor(*array, &memory, &err));
  produce(p, 1);
  p->tensor->data = memory.data;
  p->tensor->device = memory.device;
  p->also = close_array;
  p->with = array;
  OK(import_product(p, &tensor, &err));
  return tensor;
}

/* The driver says on its own thread, and when it likes, that a graph is gone. */
static void wait_for_pending(long wanted) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int i;
  for (i = 0; i < 1000 && report_number("\"pending\":") != wanted; i++) {
    usleep(10000);
    OK(dlaunch_drain(&err));
  }
  CHECK(report_number("\"pending\":") == wanted);
}

enum { LAUNCHES = 2 };

static void captures(const char *kernels, const char *prototype, int takes_x) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(kernels, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, prototype);
  dlaunch_array x = make_array(ITEMS), memory;
  dlaunch_config config = make_config(1, 32);
  float host[ITEMS];
  int64_t shape[1] = {ITEMS};
  DLTensor on_host = host_tensor(host, 1, shape), slice;
  dlaunch_arg args[3];
  uint32_t num_args = 0, last, i;
  uint64_t native;
  product p;
  handle graph, exec;

  memset(host, 0, sizeof host);
  OK(dlaunch_array_write(x, host, sizeof host, 0, &err));
  OK(dlaunch_array_tensor(x, &slice, &err));
  slice.shape = shape;
  slice.strides = NULL;
  args[num_args++] = arg_float(1);
  if (takes_x) args[num_args++] = arg_tensor(&slice, 0); /* of an array, without its handle */
  last = num_args;
  args[num_args++] = arg_handle(make_tensor(&p, &memory));
  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &config.stream, &err));
  OK(dlaunch_stream_native(config.stream, &native, &err));
  OK(dlaunch_launch(kernel, &config, args, num_args, &err)); /* not captured */
  OK(dlaunch_stream_synchronize(config.stream, &err));
  CHECK(report_number("\"pending\":") == 0);

  CHECK(begin_capture(native, 0) == 0);
  for (i = 0; i < LAUNCHES; i++) OK(dlaunch_launch(kernel, &config, args, num_args, &err));
  args[last] = arg_tensor(&on_host, DLAUNCH_IN | DLAUNCH_OUT);
  REFUSED(DLAUNCH_ERROR_TENSOR, "captured", dlaunch_launch(kernel, &config, args, num_args, &err));
  args[last] = arg_handle(x);
  REFUSED(DLAUNCH_ERROR_DRIVER, "captured", dlaunch_array_read(x, host, sizeof host, native, &err));
  OK(dlaunch_array_close(x, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_launch(kernel, &config, args, num_args, &err));
  OK(dlaunch_tensor_close(report_number("\"kind\":\"tensor\",\"handle\":"), &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  CHECK(end_capture(native, &graph) == 0);
  CHECK(report_number("\"graph capture\":") >= LAUNCHES);

  CHECK(instantiate(&exec, graph, 0) == 0);
  CHECK(destroy_graph(graph) == 0);
  for (i = 0; i < 2; i++) {
    CHECK(launch_graph(exec, native) == 0);
    OK(dlaunch_stream_synchronize(native, &err));
    OK(dlaunch_synchronize(0, &err));
    OK(dlaunch_drain(&err));
    CHECK(times_deleted(&p) == 0);
    CHECK(report_number("\"pending\":") == LAUNCHES);
    CHECK(report_number("\"device_bytes\":") == (takes_x ? 2 : 1) * (long)sizeof host);
  }
  CHECK(destroy_exec(exec) == 0);
  wait_for_pending(0);
  CHECK(times_deleted(&p) == 1);
  CHECK(pthread_equal(p.deleted_by, pthread_self()));

  OK(dlaunch_stream_close(config.stream, &err));
  check_nothing_lives();
}

/* A graph of which nothing is made. */
static void abandoned(const char *kernels) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(kernels, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, "saxpy");
  dlaunch_config config = make_config(1, 32);
  dlaunch_arg args[4];
  dlaunch_array x = make_array(ITEMS);
  uint64_t native;
  handle graph;
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(x);
  args[3] = arg_int(ITEMS);
  OK(dlaunch_stream_create(0, 0, &config.stream, &err));
  OK(dlaunch_stream_native(config.stream, &native, &err));
  CHECK(begin_capture(native, 2) == 0);
  OK(dlaunch_launch(kernel, &config, args, 4, &err));
  OK(dlaunch_retire(x, &err));
  OK(dlaunch_retire(kernel, &err));
  OK(dlaunch_retire(library, &err));
  CHECK(end_capture(native, &graph) == 0);
  OK(dlaunch_stream_close(config.stream, &err));
  OK(dlaunch_drain(&err));
  CHECK(report_number("\"pending\":") == 1);
  CHECK(destroy_graph(graph) == 0);
  wait_for_pending(0);
  check_nothing_lives();
}

/* The same for a graph of dlaunch's own making. */
static void made_here(const char *kernels) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_library library = load_kernels(kernels, "saxpy");
  dlaunch_kernel kernel = get_kernel(library, SAXPY);
  dlaunch_config config = make_config(1, 32);
  dlaunch_call calls[LAUNCHES];
  dlaunch_graph graph = 0;
  dlaunch_stream stream;
  dlaunch_array memory;
  dlaunch_arg args[3];
  uint64_t native;
  handle captured;
  product p;
  int i;
  args[0] = arg_float(1);
  args[1] = args[2] = arg_handle(make_tensor(&p, &memory));
  memset(calls, 0, sizeof calls);
  for (i = 0; i < LAUNCHES; i++) {
    calls[i].kernel = kernel;
    calls[i].config = &config;
    calls[i].args = args;
    calls[i].num_args = 3;
  }
  OK(dlaunch_graph_create(calls, LAUNCHES, &graph, &err));
  OK(dlaunch_tensor_close(args[1].value.handle, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  OK(dlaunch_library_close(library, &err));
  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &stream, &err));
  OK(dlaunch_stream_native(stream, &native, &err));
  for (i = 0; i < 2; i++) {
    OK(dlaunch_graph_launch(graph, i == 0 ? stream : native, &err));
    OK(dlaunch_synchronize(0, &err));
    OK(dlaunch_drain(&err));
    CHECK(times_deleted(&p) == 0 && report_number("\"pending\":") == LAUNCHES);
  }
  CHECK(begin_capture(native, 0) == 0);
  REFUSED(DLAUNCH_ERROR_UNSUPPORTED, "captured", dlaunch_graph_launch(graph, native, &err));
  CHECK(end_capture(native, &captured) == 0);
  CHECK(destroy_graph(captured) == 0);
  OK(dlaunch_graph_close(graph, &err));
  wait_for_pending(0);
  CHECK(times_deleted(&p) == 1);
  OK(dlaunch_stream_close(stream, &err));
  check_nothing_lives();
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  open_cuda();
  captures(argv[1], SAXPY, 1);
  captures(argv[1], "saxpy(a: f32, x: ptr = scratch(4096, 16), y: inout f32[n], n: i32 = n)", 0);
  abandoned(argv[1]);
  made_here(argv[1]);
  return 0;
}
