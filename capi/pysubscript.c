/*
 * kernel[grid, block]: the launcher that a Kernel remembers for a key, found in C,
 * since Python's own way there takes as long as a launch. All that is not a tuple of
 * two ints which is known already goes on to Kernel._look_up.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "dlaunch.h"
#include "python.h"

/* The builtin has no object of its own to keep these in, so they are the process's.
 * Its interpreters, which may run at the same time, agree on them: see settle. */
static struct {
  _Atomic(const dl_python *) py;
  _Atomic int64_t known_at;   /* in a Kernel, of its dictionary of launchers */
  _Atomic size_t type_offset; /* in every object, of its type */
} of;

static PyObject *object_at(PyObject *object, int64_t offset) { return *(PyObject **)((char *)object + offset); }

static PyObject *type_of(PyObject *object) {
  return object_at(object, (int64_t)atomic_load_explicit(&of.type_offset, memory_order_relaxed));
}

/* 1 is equal to True and 1.0 as a key, and those are to be refused. */
static bool is_plain(const dl_python *py, PyObject *key) {
  return type_of(key) == py->PyTuple_Type && py->PyTuple_Size(key) == 2 &&
         type_of(py->PyTuple_GetItem(key, 0)) == py->PyLong_Type &&
         type_of(py->PyTuple_GetItem(key, 1)) == py->PyLong_Type;
}

static PyObject *subscript(PyObject *kernel, PyObject *key) {
  const dl_python *py = atomic_load_explicit(&of.py, memory_order_relaxed);
  PyObject *known = object_at(kernel, atomic_load_explicit(&of.known_at, memory_order_relaxed));
  if (known != NULL && is_plain(py, key)) {
    PyObject *found = py->PyDict_GetItemWithError(known, key);
    if (found != NULL) {
      py->Py_IncRef(found);
      return found;
    }
    py->PyErr_Clear();
  }
  PyObject *look_up = py->PyObject_GetAttrString(kernel, "_look_up");
  if (look_up == NULL) return NULL;
  PyObject *found = py->PyObject_CallFunctionObjArgs(look_up, key, NULL);
  py->Py_DecRef(look_up);
  return found;
}

/* False for a class that keeps its dictionary elsewhere than the first one does:
 * that of another version of the package. */
static bool settle(const dl_python *py, size_t type_offset, int64_t known_at) {
  int64_t settled = 0;
  if (!atomic_compare_exchange_strong(&of.known_at, &settled, known_at) && settled != known_at) return false;
  atomic_store_explicit(&of.type_offset, type_offset, memory_order_relaxed);
  atomic_store_explicit(&of.py, py, memory_order_relaxed);
  return true;
}

void *dlaunch_python_subscript(void *kernel_type, int64_t known_at) {
  static PyMethodDef definition = {
      "__getitem__", subscript, METH_O,
      "Give what launches with (grid, block), (grid, block, stream) or (grid, block, stream, shared).\n\n"
      "grid counts blocks and block counts threads, each an int or a tuple of up to three; shared counts bytes. The\n"
      "result is remembered: `f = kernel[grid, block]` in front of a loop makes launches cheaper still."};
  const dl_python *py = dl_find_python();
  if (py == NULL) return NULL;
  size_t type_offset;
  bool can = known_at > 0 && dl_find_type_offset(py, &type_offset) && settle(py, type_offset, known_at);
  return can ? py->PyDescr_NewMethod(kernel_type, &definition) : dl_none(py);
}
