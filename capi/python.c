/* Finding CPython in the running process. */
#define _GNU_SOURCE
#include "python.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static dl_python found;
static bool complete;

static bool find(void *to, const char *name) {
  void *address = dlsym(RTLD_DEFAULT, name);
  memcpy(to, &address, sizeof address); /* ISO C has no cast from void * to a function */
  return address != NULL;
}

static void find_all(void) {
  bool all = true;
#define X(name, result, parameters) all &= find(&found.name, #name);
  DL_PYTHON_FUNCTIONS(X)
#undef X
#define X(name) all &= find(&found.name, #name);
  DL_PYTHON_OBJECTS(X)
#undef X
  complete = all;
}

const dl_python *dl_find_python(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
  return complete ? &found : NULL;
}
