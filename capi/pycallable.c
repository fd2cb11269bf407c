/* Making the Python builtin that launches one kernel with one configuration. */
#include <stdlib.h>

#include "pycallable.h"

_Atomic size_t dl_capsule_at;

static void release(callable *c) {
  PyObject *held[] = {c->leave, c->raise, c->recipe_of};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
    if (held[i] != NULL) c->py->Py_DecRef(held[i]);
  }
  for (uint32_t i = 0; i < c->num_types; i++) {
    c->py->Py_DecRef(c->types[i].type);
    dl_type_forget(&c->types[i]);
  }
  free(c);
}

static void release_capsule(PyObject *capsule) {
  callable *c = dl_callable_of(capsule);
  if (c != NULL) release(c);
}

static PyObject *held_item(const dl_python *py, PyObject *tuple, Py_ssize_t index) {
  PyObject *item = py->PyTuple_GetItem(tuple, index);
  if (item != NULL) py->Py_IncRef(item);
  return item;
}

/* The items of `support`, in order. */
enum {
  LEAVE,
  RAISE,
  RECIPE_OF,
  ARRAY_TYPE,
  HANDLE_OFFSET,
  CHOOSES_STREAM,
  HOLDS_LOCK,
  BOUND_TYPE,   /* of a bound GPU tensor whose package says on which stream it works; else None */
  BOUND_DEVICE, /* its device */
  NUM_SUPPORT
};

/* False, too, where the builtin cannot ask a type that has streams. */
static bool find_bound_type(callable *c, PyObject *type, PyObject *device) {
  if (type == NULL || device == NULL) return false;
  if (type == c->py->_Py_NoneStruct) return true;
  c->bound_type = dl_type_learn(c, type);
  c->bound_device = (int32_t)c->py->PyLong_AsLongLong(device);
  if (c->bound_type == NULL) return false;
  return c->bound_type->recipe == EXCHANGE
             ? c->bound_type->api->current_work_stream != NULL
             : c->bound_type->recipe == ATTRIBUTES && dl_attributes_has_stream(c->bound_type->attributes);
}

/* Fills in the rest: false without an exception where the interpreter differs
 * from what is known, with one where `support` is wrong. */
static bool prepare(callable *c, PyObject *support) {
  const dl_python *py = c->py;
  c->leave = held_item(py, support, LEAVE);
  c->raise = held_item(py, support, RAISE);
  c->recipe_of = held_item(py, support, RECIPE_OF);
  PyObject *array_type = py->PyTuple_GetItem(support, ARRAY_TYPE);
  PyObject *offset = py->PyTuple_GetItem(support, HANDLE_OFFSET);
  PyObject *chooses = py->PyTuple_GetItem(support, CHOOSES_STREAM);
  PyObject *holds = py->PyTuple_GetItem(support, HOLDS_LOCK);
  if (c->leave == NULL || c->raise == NULL || c->recipe_of == NULL || array_type == NULL || offset == NULL ||
      chooses == NULL || holds == NULL) {
    return false;
  }
  c->handle_offset = py->PyLong_AsLongLong(offset);
  c->chooses_stream = py->PyObject_IsTrue(chooses) > 0;
  c->holds_lock = py->PyObject_IsTrue(holds) > 0;
  if (py->PyErr_Occurred() != NULL) return false;

  PyObject *none_type = py->PyObject_Type(py->_Py_NoneStruct);
  if (none_type == NULL) return false;
  bool found = dl_find_type_offset(py, &c->type_offset);
  if (found) {
    c->long_layout = dl_long_find(py, c->type_offset);
    c->counts_none = dl_counts_none(py);
    if (atomic_load_explicit(&dl_capsule_at, memory_order_relaxed) == 0) {
      atomic_store_explicit(&dl_capsule_at, dl_find_capsule_offset(py, c->type_offset), memory_order_relaxed);
    }
    dl_type_remember(c, array_type, (known_type){.recipe = ARRAY});
    dl_type_remember(c, py->PyFloat_Type, (known_type){.recipe = FLOAT});
    dl_type_remember(c, py->PyLong_Type, (known_type){.recipe = LONG});
    dl_type_remember(c, py->PyBool_Type, (known_type){.recipe = TRUTH});
    dl_type_remember(c, py->PyBytes_Type, (known_type){.recipe = BYTES});
    dl_type_remember(c, none_type, (known_type){.recipe = NONE});
  }
  py->Py_DecRef(none_type);
  return found &&
         find_bound_type(c, py->PyTuple_GetItem(support, BOUND_TYPE), py->PyTuple_GetItem(support, BOUND_DEVICE));
}

void *dlaunch_python_callable(dlaunch_kernel kernel, const dlaunch_config *config, void *support) {
  static PyMethodDef definition = {"launch", dl_python_call, METH_FASTCALL,
                                   "Launch the kernel with this configuration; the arguments are the kernel's."};
  const dl_python *py = dl_find_python();
  if (py == NULL) return NULL;
  bool can = config != NULL && config->struct_size >= sizeof *config && config->num_attributes == 0;
  if (!can || support == NULL || py->PyTuple_Size(support) < NUM_SUPPORT) {
    py->PyErr_Clear();
    return dl_none(py);
  }
  callable *c = calloc(1, sizeof *c);
  if (c == NULL) return py->PyErr_NoMemory();
  c->py = py;
  c->kernel = kernel;
  c->config = *config;
  c->config.attributes = NULL;
  c->lock = dl_lock_of(py);
  PyObject *capsule = prepare(c, support) ? py->PyCapsule_New(c, DL_CALLABLE, release_capsule) : NULL;
  if (capsule == NULL) {
    release(c);
    return py->PyErr_Occurred() == NULL ? dl_none(py) : NULL;
  }
  PyObject *made = py->PyCFunction_NewEx(&definition, capsule, NULL);
  py->Py_DecRef(capsule); /* the builtin holds it */
  return made;
}
