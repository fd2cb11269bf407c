/*
 * The Python builtin that does many launches in one call. The package has made all
 * that they need, and keeps it.
 */
#include <stdlib.h>

#include "dlaunch.h"
#include "python.h"

enum { METH_FASTCALL = 0x0080 };

typedef struct batch { /* what the builtin's self, a capsule, holds */
  const dl_python *py;
  const dlaunch_call *calls;
  uint32_t num;
  PyObject *raise, *owner;
} batch;

static const char CAPSULE[] = "dlaunch_batch";

static PyObject *call(PyObject *self, PyObject *const *objects, Py_ssize_t n) {
  (void)objects, (void)n;
  const batch *b = dl_find_python()->PyCapsule_GetPointer(self, CAPSULE);
  if (b == NULL) return NULL;
  const dl_python *py = b->py;
  dlaunch_error err;
  err.struct_size = sizeof err; /* the rest is written on failure only */
  void *state = py->PyEval_SaveThread();
  dlaunch_status status = dlaunch_launch_many(b->calls, b->num, NULL, &err);
  py->PyEval_RestoreThread(state);
  if (status != DLAUNCH_OK) {
    return py->PyObject_CallFunction(b->raise, "iiis", (int)status, (int)err.driver_code, (int)err.argument,
                                     err.message);
  }
  return dl_none(py);
}

static void release(PyObject *capsule) {
  batch *b = dl_find_python()->PyCapsule_GetPointer(capsule, CAPSULE);
  if (b == NULL) return;
  b->py->Py_DecRef(b->raise);
  b->py->Py_DecRef(b->owner);
  free(b);
}

void *dlaunch_python_batch(const dlaunch_call *calls, uint32_t num, void *raise, void *owner) {
  static PyMethodDef definition = {"batch", call, METH_FASTCALL, "Do the launches."};
  const dl_python *py = dl_find_python();
  if (py == NULL || raise == NULL || owner == NULL) return NULL;
  batch *b = malloc(sizeof *b);
  if (b == NULL) return py->PyErr_NoMemory();
  *b = (batch){py, calls, num, raise, owner};
  PyObject *capsule = py->PyCapsule_New(b, CAPSULE, release);
  if (capsule == NULL) {
    free(b);
    return NULL;
  }
  py->Py_IncRef(raise);
  py->Py_IncRef(owner);
  PyObject *made = py->PyCFunction_NewEx(&definition, capsule, NULL);
  py->Py_DecRef(capsule); /* the builtin holds it */
  return made;
}
