/* Handles: closed in every order, closed twice, stale, of another kind. */
#include "contract.h"

enum { LIBRARY, KERNEL, ARRAY, STREAM, KINDS };

typedef struct things {
  uint64_t handle[KINDS];
  struct DLManagedTensorVersioned *exported;
} things;

static things make_things(const char *folder) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  things made;
  memset(&made, 0, sizeof made);
  made.handle[LIBRARY] = load_kernels(folder, "saxpy");
  made.handle[KERNEL] = get_kernel(made.handle[LIBRARY], SAXPY);
  made.handle[ARRAY] = make_array(100);
  OK(dlaunch_stream_create(0, 0, &made.handle[STREAM], &err));
  OK(dlaunch_array_export(made.handle[ARRAY], &made.exported, &err));
  return made;
}

static dlaunch_status close_as(int kind, uint64_t handle, dlaunch_error *err) {
  switch (kind) {
    case LIBRARY:
      return dlaunch_library_close(handle, err);
    case KERNEL:
      return dlaunch_kernel_close(handle, err);
    case ARRAY:
      return dlaunch_array_close(handle, err);
    case STREAM:
      return dlaunch_stream_close(handle, err);
  }
  return DLAUNCH_ERROR_INTERNAL;
}

/* As long as the kernel is open it launches, its library closed or not. */
static void use(const things *t, const int *open) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_config config = make_config(1, 128);
  dlaunch_status wanted = open[KERNEL] && open[STREAM] ? DLAUNCH_OK : DLAUNCH_ERROR_HANDLE;
  dlaunch_arg args[3];
  config.stream = t->handle[STREAM];
  args[0] = arg_float(1);
  args[1] = make_arg(DLAUNCH_ARG_VERSIONED, 0);
  args[1].value.versioned = t->exported;
  args[2] = args[1];
  if (open[ARRAY]) args[2] = arg_handle(t->handle[ARRAY]);
  expect(__FILE__, __LINE__, "a launch", dlaunch_launch(t->handle[KERNEL], &config, args, 3, &err), wanted,
         wanted == DLAUNCH_OK ? "" : "closed", &err);
}

static void in_order(const char *folder, const int *order) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  things t = make_things(folder);
  int open[KINDS] = {1, 1, 1, 1}, i;
  for (i = 0; i < KINDS; i++) {
    use(&t, open);
    /* Every second one by retire. */
    OK(i % 2 == 0 ? close_as(order[i], t.handle[order[i]], &err) : dlaunch_retire(t.handle[order[i]], &err));
    open[order[i]] = 0;
    REFUSED(DLAUNCH_ERROR_HANDLE, "closed", close_as(order[i], t.handle[order[i]], &err));
    REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_retire(t.handle[order[i]], &err));
  }
  use(&t, open);
  t.exported->deleter(t.exported);
  check_nothing_lives();
}

static void every_order(const char *folder) {
  int a, b, c, order[KINDS];
  for (a = 0; a < KINDS; a++) {
    for (b = 0; b < KINDS; b++) {
      for (c = 0; c < KINDS; c++) {
        if (a == b || a == c || b == c) continue;
        order[0] = a, order[1] = b, order[2] = c, order[3] = 0 + 1 + 2 + 3 - a - b - c;
        in_order(folder, order);
      }
    }
  }
}

static void wrong_kinds(const char *folder) {
  static const uint64_t nonsense[] = {1, 42, UINT64_C(1) << 48, (UINT64_C(1) << 53) - 1, UINT64_C(1) << 53, UINT64_MAX};
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_kernel out = 7;
  things t = make_things(folder);
  int kind, as;
  size_t i;
  for (kind = 0; kind < KINDS; kind++) {
    for (as = 0; as < KINDS; as++) {
      if (as != kind) REFUSED(DLAUNCH_ERROR_HANDLE, "", close_as(as, t.handle[kind], &err));
    }
  }
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_kernel_get(t.handle[ARRAY], "saxpy", &out, &err));
  CHECK(out == 0);
  REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_launch(t.handle[LIBRARY], NULL, NULL, 0, &err));
  for (i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
    for (as = 0; as < KINDS; as++) REFUSED(DLAUNCH_ERROR_HANDLE, "", close_as(as, nonsense[i], &err));
    REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_retire(nonsense[i], &err));
    REFUSED(DLAUNCH_ERROR_HANDLE, "", dlaunch_launch(nonsense[i], NULL, NULL, 0, &err));
  }
  for (kind = 0; kind < KINDS; kind++) OK(close_as(kind, t.handle[kind], &err));
  t.exported->deleter(t.exported);
}

/* A number is not given again while anybody can still have it. */
static void never_reused(void) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  dlaunch_array first = make_array(1), next;
  int i;
  OK(dlaunch_array_close(first, &err));
  for (i = 0; i < 1000; i++) {
    next = make_array(1);
    CHECK(next != first);
    REFUSED(DLAUNCH_ERROR_HANDLE, "closed", dlaunch_array_close(first, &err));
    OK(dlaunch_array_close(next, &err));
  }
}

int main(int argc, char **argv) {
  CHECK(argc > 1);
  every_order(argv[1]);
  wrong_kinds(argv[1]);
  never_reused();
  check_nothing_lives();
  return 0;
}
