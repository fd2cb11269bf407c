/* Many launches in one call, and graphs of them. */
#include "contract.h"

#include <pthread.h>
#include <unistd.h>

enum { ITEMS = 100 };

typedef struct work {
  dlaunch_library library;
  dlaunch_kernel kernel;
  dlaunch_array x, y;
  float host_x[ITEMS], host_y[ITEMS]; /* what they must hold */
  dlaunch_config config;
  dlaunch_arg forth[3], back[3]; /* y += 2 x, and x += 0.5 y */
  dlaunch_call calls[3];
} work;

static dlaunch_call call_of(const work *w, const dlaunch_arg *args) {
  dlaunch_call call;
  memset(&call, 0, sizeof call);
  call.kernel = w->kernel;
  call.config = &w->config;
  call.args = args;
  call.num_args = 3;
  return call;
}

static void begin(work *w, const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int i;
  memset(w, 0, sizeof *w);
  w->library = load_kernels(folder, "saxpy");
  w->kernel = get_kernel(w->library, SAXPY);
  w->x = make_array(ITEMS);
  w->y = make_array(ITEMS);
  for (i = 0; i < ITEMS; i++) w->host_x[i] = (float)i, w->host_y[i] = 1;
  OK(dlaunch_array_write(w->x, w->host_x, sizeof w->host_x, 0, &err));
  OK(dlaunch_array_write(w->y, w->host_y, sizeof w->host_y, 0, &err));
  w->config = make_config(1, 128);
  w->forth[0] = arg_float(2), w->forth[1] = arg_handle(w->x), w->forth[2] = arg_handle(w->y);
  w->back[0] = arg_float(0.5), w->back[1] = arg_handle(w->y), w->back[2] = arg_handle(w->x);
  w->calls[0] = w->calls[2] = call_of(w, w->forth);
  w->calls[1] = call_of(w, w->back);
}

/* The same on the host; small numbers, so that every sum is exact. */
static void follow(work *w, int calls) {
  int i, c;
  for (c = 0; c < calls; c++) {
    for (i = 0; i < ITEMS; i++) {
      if (c != 1) w->host_y[i] += 2 * w->host_x[i];
      if (c == 1) w->host_x[i] += w->host_y[i] / 2;
    }
  }
}

static void check(work *w) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  float found[ITEMS];
  OK(dlaunch_array_read(w->x, found, sizeof found, 0, &err));
  CHECK(memcmp(found, w->host_x, sizeof found) == 0);
  OK(dlaunch_array_read(w->y, found, sizeof found, 0, &err));
  CHECK(memcmp(found, w->host_y, sizeof found) == 0);
}

static void close_all(work *w) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  OK(dlaunch_array_close(w->x, &err));
  OK(dlaunch_array_close(w->y, &err));
  OK(dlaunch_kernel_close(w->kernel, &err));
  OK(dlaunch_library_close(w->library, &err));
}

/* A driver says on a thread of its own, and when it likes, that a graph is gone. */
static void end(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int i;
  for (i = 0; i < 1000 && report_number("\"pending\":") != 0; i++) {
    OK(dlaunch_drain(&err));
    if (i > 0) usleep(10000);
  }
  check_nothing_lives();
}

static void in_order(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  uint32_t launched = 7;
  work w;
  begin(&w, folder);
  OK(dlaunch_launch_many(w.calls, 3, &launched, &err));
  CHECK(launched == 3);
  follow(&w, 3);
  check(&w);
  OK(dlaunch_launch_many(w.calls, 3, NULL, NULL));
  follow(&w, 3);
  check(&w);
  OK(dlaunch_launch_many(NULL, 0, &launched, &err));
  CHECK(launched == 0);
  close_all(&w);
  end();
}

/* The first that fails is the last; its index and its argument are told. */
static void failures(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT, unsized = DLAUNCH_ERROR_INIT;
  uint32_t launched = 7;
  dlaunch_array closed;
  dlaunch_arg bad[3];
  work w;
  begin(&w, folder);
  memcpy(bad, w.forth, sizeof bad);
  bad[1] = arg_float(1);
  w.calls[1].args = bad;
  CHECK(dlaunch_launch_many(w.calls, 3, &launched, &err) == DLAUNCH_ERROR_ARGUMENT);
  CHECK(launched == 1 && err.status == DLAUNCH_ERROR_ARGUMENT && err.argument == 1);
  CHECK(strncmp(err.message, "dlaunch_launch_many: call 1: kernel \"saxpy\", argument 1 (x): ", 61) == 0);
  follow(&w, 1);
  check(&w);

  closed = make_array(ITEMS);
  OK(dlaunch_array_close(closed, &err));
  bad[1] = arg_handle(closed);
  REFUSED(DLAUNCH_ERROR_HANDLE, "call 1: kernel \"saxpy\", argument 1 (x): array handle",
          dlaunch_launch_many(w.calls, 3, &launched, &err));
  CHECK(launched == 1);
  w.calls[1].kernel = w.library;
  REFUSED(DLAUNCH_ERROR_HANDLE, "call 1: handle", dlaunch_launch_many(w.calls, 3, NULL, &err));
  w.calls[1] = call_of(&w, NULL);
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 1: kernel \"saxpy\": args is NULL",
          dlaunch_launch_many(w.calls, 3, NULL, &err));
  w.calls[1] = call_of(&w, w.back);
  w.calls[1].config = NULL;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 1: config is NULL", dlaunch_launch_many(w.calls, 3, NULL, &err));
  w.calls[0].reserved = 1;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 0: reserved", dlaunch_launch_many(w.calls, 3, &launched, &err));
  CHECK(launched == 0);
  launched = 7;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "calls is NULL", dlaunch_launch_many(NULL, 1, &launched, &err));
  CHECK(launched == 0);
  launched = 7;
  unsized.struct_size = 0;
  CHECK(dlaunch_launch_many(w.calls, 3, &launched, &unsized) == DLAUNCH_ERROR_ARGUMENT && launched == 0);
  close_all(&w);
  end();
}

/* Host tensors are staged as in a single launch. */
static void host_tensors(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  int64_t shape[1] = {ITEMS};
  float mine[ITEMS];
  DLTensor tensor = host_tensor(mine, 1, shape);
  int i;
  work w;
  begin(&w, folder);
  for (i = 0; i < ITEMS; i++) mine[i] = 3;
  w.forth[2] = arg_tensor(&tensor, 0); /* the prototype marks it */
  OK(dlaunch_launch_many(w.calls, 1, NULL, &err));
  for (i = 0; i < ITEMS; i++) CHECK(mine[i] == 3 + 2 * (float)i);
  close_all(&w);
  end();
}

/* What a graph needs it holds, though all of it is closed. */
static void graphs(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_stream stream = 0;
  dlaunch_graph graph = 0;
  int i;
  work w;
  begin(&w, folder);
  OK(dlaunch_stream_create(0, DLAUNCH_STREAM_NON_BLOCKING, &stream, &err));
  w.config.stream = stream; /* says on which device */
  OK(dlaunch_graph_create(w.calls, 3, &graph, &err));
  CHECK(graph != 0 && graph < (UINT64_C(1) << 53) && report_number("\"graph\":") == 1);
  memset(w.forth, 0, sizeof w.forth); /* it was borrowed */
  memset(w.calls, 0, sizeof w.calls);
  check(&w); /* nothing has run */
  OK(dlaunch_kernel_close(w.kernel, &err));
  OK(dlaunch_library_close(w.library, &err));
  for (i = 0; i < 2; i++) {
    OK(dlaunch_graph_launch(graph, i == 0 ? 0 : stream, &err));
    OK(dlaunch_stream_synchronize(i == 0 ? 0 : stream, &err));
    follow(&w, 3);
    check(&w);
  }
  OK(dlaunch_array_close(w.x, &err));
  OK(dlaunch_array_close(w.y, &err));
  OK(dlaunch_drain(&err));
  CHECK(report_number("\"device_bytes\":") == 2 * (long)sizeof w.host_x);
  for (i = 0; i < 20; i++) OK(dlaunch_graph_launch(graph, stream, &err)); /* and closed while it runs */
  OK(dlaunch_graph_close(graph, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_graph_launch(graph, stream, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_graph_close(graph, &err));
  OK(dlaunch_stream_synchronize(stream, &err));
  OK(dlaunch_stream_close(stream, &err));
  end();
}

/* A graph that cannot be made leaves nothing. */
static void refused_graphs(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_graph graph = 7;
  int64_t shape[1] = {ITEMS};
  float mine[ITEMS];
  DLTensor tensor = host_tensor(mine, 1, shape);
  dlaunch_array closed = make_array(1);
  work w;
  begin(&w, folder);
  memset(mine, 0, sizeof mine);
  OK(dlaunch_array_close(closed, &err));
  w.back[1] = arg_tensor(&tensor, DLAUNCH_IN);
  REFUSED(DLAUNCH_ERROR_TENSOR, "dlaunch_graph_create: call 1: argument 1 (x) is a host tensor",
          dlaunch_graph_create(w.calls, 3, &graph, &err));
  CHECK(graph == 0);
  w.back[1] = arg_handle(closed);
  REFUSED(DLAUNCH_ERROR_HANDLE, "call 1: kernel \"saxpy\", argument 1 (x)",
          dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.back[1] = arg_handle(w.y);
  w.config.grid[0] = 0;
  REFUSED(DLAUNCH_ERROR_CONFIG, "call 0: kernel \"saxpy\": grid.x is 0",
          dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.config.grid[0] = 1;
  w.config.stream = closed;
  REFUSED(DLAUNCH_ERROR_HANDLE, "call 0: ", dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.config.stream = 0;
  w.config.struct_size = 8;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 0: config.struct_size", dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.config.struct_size = sizeof w.config;
  w.calls[2].config = NULL;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 2: config is NULL", dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.calls[2].kernel = closed;
  REFUSED(DLAUNCH_ERROR_HANDLE, "call 2: array handle", dlaunch_graph_create(w.calls, 3, &graph, &err));
  w.calls[2].reserved = 1;
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "call 2: reserved", dlaunch_graph_create(w.calls, 3, &graph, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "num is 0", dlaunch_graph_create(w.calls, 0, &graph, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "calls is NULL", dlaunch_graph_create(NULL, 1, &graph, &err));
  REFUSED(DLAUNCH_ERROR_ARGUMENT, "out is NULL", dlaunch_graph_create(w.calls, 1, NULL, &err));

  OK(dlaunch_graph_create(w.calls, 2, &graph, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_graph_launch(graph, closed, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "a graph was wanted", dlaunch_graph_launch(w.kernel, 0, &err));
  REFUSED(DLAUNCH_ERROR_HANDLE, "a graph was wanted", dlaunch_graph_close(w.x, &err));
  check(&w); /* and of all these none has run */
  OK(dlaunch_retire(graph, &err));
  close_all(&w);
  end();
}

/* scratch() memory is the graph's, and there each time that it runs. */
static void scratch(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_graph graph = 0;
  dlaunch_kernel kernel;
  int i;
  work w;
  begin(&w, folder);
  kernel = get_kernel(w.library, "saxpy(a: f32, x: inout f32[n], y: ptr = scratch(512, 16), n: i32 = n)");
  w.calls[0].kernel = kernel;
  w.calls[0].num_args = 2;
  OK(dlaunch_graph_create(w.calls, 2, &graph, &err));
  for (i = 0; i < 3; i++) OK(dlaunch_graph_launch(graph, 0, &err));
  for (i = 0; i < ITEMS; i++) w.host_x[i] += 3 * w.host_y[i] / 2;
  check(&w);
  OK(dlaunch_graph_close(graph, &err));
  OK(dlaunch_kernel_close(kernel, &err));
  close_all(&w);
  end();
}

typedef struct shared {
  dlaunch_graph graph;
} shared;

static void *launch_until_closed(void *of) {
  const shared *s = (const shared *)of;
  dlaunch_status status = DLAUNCH_OK;
  while (status == DLAUNCH_OK) status = dlaunch_graph_launch(s->graph, 2, NULL);
  CHECK(status == DLAUNCH_ERROR_HANDLE);
  return NULL;
}

/* One graph in several threads, closed while they launch it. */
static void threads(const char *folder) {
  enum { THREADS = 4, ROUNDS = 10 };
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  pthread_t all[THREADS];
  int i, round;
  shared s;
  work w;
  begin(&w, folder);
  for (round = 0; round < ROUNDS; round++) {
    OK(dlaunch_graph_create(w.calls, 3, &s.graph, &err));
    for (i = 0; i < THREADS; i++) CHECK(pthread_create(&all[i], NULL, launch_until_closed, &s) == 0);
    usleep(2000);
    OK(dlaunch_graph_close(s.graph, &err));
    for (i = 0; i < THREADS; i++) CHECK(pthread_join(all[i], NULL) == 0);
  }
  OK(dlaunch_synchronize(0, &err));
  close_all(&w);
  end();
}

static const char *kernels;

/* Libraries come and go beside the captures and launches of others. */
static void *make_and_close(void *of) {
  enum { ROUNDS = 10 };
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_graph graph = 0;
  int round;
  work w;
  (void)of;
  for (round = 0; round < ROUNDS; round++) {
    begin(&w, kernels);
    OK(dlaunch_graph_create(w.calls, 3, &graph, &err));
    OK(dlaunch_graph_launch(graph, 0, &err));
    follow(&w, 3);
    check(&w);
    close_all(&w);
    OK(dlaunch_graph_launch(graph, 0, &err));
    OK(round % 2 == 0 ? dlaunch_graph_close(graph, &err) : dlaunch_retire(graph, &err));
  }
  return NULL;
}

static void many_graphs(void) {
  enum { THREADS = 4 };
  pthread_t all[THREADS];
  int i;
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&all[i], NULL, make_and_close, NULL) == 0);
  for (i = 0; i < THREADS; i++) CHECK(pthread_join(all[i], NULL) == 0);
  end();
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  in_order(argv[1]);
  failures(argv[1]);
  host_tensors(argv[1]);
  graphs(argv[1]);
  refused_graphs(argv[1]);
  scratch(argv[1]);
  threads(argv[1]);
  kernels = argv[1];
  many_graphs();
  return 0;
}
