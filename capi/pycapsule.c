/*
 * DLPack capsules for Python. Their destructors and deleters are C: consumers
 * call them on any thread, and when the interpreter is about to go.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dlaunch.h"
#include "python.h"

static const char VERSIONED[] = "dltensor_versioned", LEGACY[] = "dltensor";

/* A struct that is ours to delete, and what it keeps. */
typedef struct held {
  DLManagedTensorVersioned versioned;
  DLManagedTensor legacy;
  DLManagedTensorVersioned *exported; /* deleted with this; or NULL, and ... */
  PyObject *owner;                    /* ... this Python object is let go */
  int64_t axes[];                     /* shape, then strides */
} held;

static void release(held *h) {
  if (h->exported != NULL) {
    if (h->exported->deleter != NULL) h->exported->deleter(h->exported);
  } else {
    const dl_python *py = dl_find_python();
    if (!py->Py_IsInitialized()) return; /* too late to let an object go */
    int state = py->PyGILState_Ensure();
    py->Py_DecRef(h->owner);
    py->PyGILState_Release(state);
  }
  free(h);
}

static void delete_versioned(DLManagedTensorVersioned *self) { release(self->manager_ctx); }

static void delete_legacy(DLManagedTensor *self) { release(self->manager_ctx); }

/* A capsule that nobody has taken: a consumer renames it. */
static void destroy_versioned(PyObject *capsule) {
  const dl_python *py = dl_find_python();
  if (!py->PyCapsule_IsValid(capsule, VERSIONED)) return;
  DLManagedTensorVersioned *managed = py->PyCapsule_GetPointer(capsule, VERSIONED);
  managed->deleter(managed);
}

static void destroy_legacy(PyObject *capsule) {
  const dl_python *py = dl_find_python();
  if (!py->PyCapsule_IsValid(capsule, LEGACY)) return;
  DLManagedTensor *managed = py->PyCapsule_GetPointer(capsule, LEGACY);
  managed->deleter(managed);
}

static held *hold(const DLManagedTensorVersioned *source) {
  size_t axes = (size_t)source->dl_tensor.ndim;
  held *h = calloc(1, sizeof *h + 2 * axes * sizeof(int64_t));
  if (h == NULL) return NULL;
  DLTensor tensor = source->dl_tensor;
  if (axes != 0) {
    memcpy(h->axes, tensor.shape, axes * sizeof(int64_t));
    int64_t *strides = h->axes + axes, step = 1;
    for (size_t axis = axes; axis-- > 0;) {
      strides[axis] = tensor.strides != NULL ? tensor.strides[axis] : step;
      step *= tensor.shape[axis] > 1 ? tensor.shape[axis] : 1;
    }
    tensor.shape = h->axes;
    tensor.strides = strides;
  }
  h->versioned = (DLManagedTensorVersioned){
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .manager_ctx = h,
      .deleter = delete_versioned,
      .flags = source->flags,
      .dl_tensor = tensor,
  };
  h->legacy = (DLManagedTensor){.dl_tensor = tensor, .manager_ctx = h, .deleter = delete_legacy};
  return h;
}

void *dlaunch_python_capsule(struct DLManagedTensorVersioned *tensor, void *owner, int32_t legacy) {
  if (tensor == NULL) return NULL;
  const dl_python *py = dl_find_python();
  bool takes = py == NULL || owner == NULL || owner == (void *)py->_Py_NoneStruct;
  held *h = py != NULL ? hold(tensor) : NULL;
  if (h == NULL) {
    if (takes && tensor->deleter != NULL) tensor->deleter(tensor);
    return py != NULL ? py->PyErr_NoMemory() : NULL;
  }
  if (takes) {
    h->exported = tensor;
  } else {
    h->owner = owner;
    py->Py_IncRef(owner);
  }
  PyObject *capsule = legacy ? py->PyCapsule_New(&h->legacy, LEGACY, destroy_legacy)
                             : py->PyCapsule_New(&h->versioned, VERSIONED, destroy_versioned);
  if (capsule == NULL) release(h);
  return capsule;
}
