/*
 * METH_FASTCALL builtins that look at no argument: what calling anything from Python costs,
 * and calling one that makes the driver's call with all ready, its lock held or let go of.
 * No launcher can cost less.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "burst.h"

typedef struct method_def {
  const char *name;
  void *function;
  int flags;
  const char *doc;
} method_def;

typedef struct ready {
  launch_config config;
  uint64_t kernel;
  void *params[MAX_ARGS];
} ready;

static struct {
  void *(*new_builtin)(method_def *, void *self, void *module);
  void *(*new_bytes)(const char *, long);
  char *(*bytes)(void *);
  void (*increase)(void *);
  void *(*release)(void);
  void (*restore)(void *);
  void *none;
} python;

static void *give_none(void) {
  python.increase(python.none);
  return python.none;
}

static void *do_nothing(void *self, void *const *args, long count) {
  (void)self, (void)args, (void)count;
  return give_none();
}

static void *launch_held(void *self, void *const *args, long count) {
  (void)args, (void)count;
  ready *r = (ready *)python.bytes(self);
  return burst_launch(&r->config, r->kernel, r->params) == 0 ? give_none() : NULL;
}

static void *launch_released(void *self, void *const *args, long count) {
  (void)args, (void)count;
  ready *r = (ready *)python.bytes(self);
  void *state = python.release();
  int code = burst_launch(&r->config, r->kernel, r->params);
  python.restore(state);
  return code == 0 ? give_none() : NULL;
}

static int find(void *to, const char *name) {
  void *found = dlsym(RTLD_DEFAULT, name);
  memcpy(to, &found, sizeof found);
  return found != NULL;
}

/* kind: 0 does nothing, 1 launches with the lock held, 2 without. The values stay the caller's. */
void *burst_builtin(int kind, const burst *b) {
  enum { METH_FASTCALL = 0x80 };
  static method_def methods[] = {
      {"nothing", (void *)do_nothing, METH_FASTCALL, NULL},
      {"held", (void *)launch_held, METH_FASTCALL, NULL},
      {"released", (void *)launch_released, METH_FASTCALL, NULL},
  };
  if (!find(&python.new_builtin, "PyCFunction_NewEx") || !find(&python.new_bytes, "PyBytes_FromStringAndSize") ||
      !find(&python.bytes, "PyBytes_AsString") || !find(&python.increase, "Py_IncRef") ||
      !find(&python.release, "PyEval_SaveThread") || !find(&python.restore, "PyEval_RestoreThread") ||
      !find(&python.none, "_Py_NoneStruct")) {
    return NULL;
  }
  ready r = {.config = {{1, 1, 1}, {32, 1, 1}, 0, NULL, NULL, 0}, .kernel = b->kernels[0]};
  for (uint32_t i = 0; i < b->num_args; i++) r.params[i] = (void *)&b->values[i];
  void *self = python.new_bytes((const char *)&r, sizeof r);
  return self != NULL ? python.new_builtin(&methods[kind], self, NULL) : NULL;
}
