/* Finding CPython in the running process. */
#define _GNU_SOURCE
#include "python.h"

#include "dlaunch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static dl_python found;
static _Atomic(const dl_python *) usable; /* found, once all of it is */

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
  all &= find(&found.PyExc_Exception, "PyExc_Exception");
  if (all) atomic_store_explicit(&usable, &found, memory_order_release);
}

const dl_python *dl_find_python(void) {
  const dl_python *known = atomic_load_explicit(&usable, memory_order_acquire); /* asked at each launch */
  if (known != NULL) return known;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
  return atomic_load_explicit(&usable, memory_order_acquire);
}

int32_t dlaunch_python_ready(void) { return dl_find_python() != NULL; }

bool dl_find_type_offset(const dl_python *py, size_t *offset) {
  PyObject *number = py->PyObject_GetAttrString(py->PyBaseObject_Type, "__basicsize__");
  long long size = number != NULL ? py->PyLong_AsLongLong(number) : -1;
  if (number != NULL) py->Py_DecRef(number);
  PyObject *none_type = py->PyObject_Type(py->_Py_NoneStruct);
  py->PyErr_Clear();
  if (none_type == NULL || size < 16 || size > 64 || size % 8 != 0) return false;
  *offset = (size_t)size - sizeof(PyObject *);
  bool found = *(PyObject **)((char *)py->_Py_NoneStruct + *offset) == none_type;
  py->Py_DecRef(none_type);
  return found;
}

/* Only the words that every capsule has are looked at. */
static size_t word_of(const void *object, size_t from, size_t size, const void *wanted) {
  size_t found = 0;
  for (size_t at = from; at + sizeof wanted <= size; at += sizeof wanted) {
    if (memcmp((const char *)object + at, &wanted, sizeof wanted) != 0) continue;
    if (found != 0) return 0;
    found = at;
  }
  return found;
}

size_t dl_find_capsule_offset(const dl_python *py, size_t type_offset) {
  static char pointers[2];
  size_t found[2] = {0, 0};
  for (int i = 0; i < 2; i++) {
    PyObject *capsule = py->PyCapsule_New(&pointers[i], "dlaunch_trial", NULL);
    PyObject *type = capsule != NULL ? py->PyObject_Type(capsule) : NULL;
    PyObject *number = type != NULL ? py->PyObject_GetAttrString(type, "__basicsize__") : NULL;
    long long size = number != NULL ? py->PyLong_AsLongLong(number) : -1;
    if (size > 0) found[i] = word_of(capsule, type_offset + sizeof(PyObject *), (size_t)size, &pointers[i]);
    PyObject *made[] = {number, type, capsule};
    for (size_t n = 0; n < sizeof made / sizeof *made; n++) {
      if (made[n] != NULL) py->Py_DecRef(made[n]);
    }
  }
  py->PyErr_Clear();
  return found[0] == found[1] ? found[0] : 0;
}

bool dl_counts_none(const dl_python *py) {
  uint64_t before, after;
  memcpy(&before, py->_Py_NoneStruct, sizeof before);
  py->Py_IncRef(py->_Py_NoneStruct);
  memcpy(&after, py->_Py_NoneStruct, sizeof after);
  py->Py_DecRef(py->_Py_NoneStruct);
  return before != after;
}

bool dl_clear_exception(const dl_python *py) {
  if (py->PyErr_Occurred() != NULL && !py->PyErr_ExceptionMatches(*py->PyExc_Exception)) return false;
  py->PyErr_Clear();
  return true;
}

PyObject *dl_none(const dl_python *py) {
  py->Py_IncRef(py->_Py_NoneStruct);
  return py->_Py_NoneStruct;
}
