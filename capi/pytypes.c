/* How objects of a type are converted: Python is asked once, and it is remembered. */
#include "pycallable.h"

void dl_type_forget(known_type *known) {
  if (known->attributes != NULL) dl_attributes_free(known->attributes);
  if (known->shims != NULL) dl_shims_free(known->shims);
}

const known_type *dl_type_find(const callable *c, PyObject *type) {
  for (uint32_t i = 0; i < c->num_types; i++) {
    if (c->types[i].type == type) return &c->types[i];
  }
  return NULL;
}

const known_type *dl_type_remember(callable *c, PyObject *type, known_type known) {
  const known_type *found = dl_type_find(c, type); /* another thread may have, meanwhile */
  if (found != NULL || c->num_types == MAX_TYPES) {
    dl_type_forget(&known);
    return found;
  }
  c->py->Py_IncRef(type);
  known.type = type;
  c->types[c->num_types] = known;
  return &c->types[c->num_types++];
}

/* True, too, with an exception set that is to end the call. */
static bool has_attribute(const dl_python *py, PyObject *object, const char *name) {
  PyObject *found = py->PyObject_GetAttrString(object, name);
  if (found == NULL) return !dl_clear_exception(py);
  py->Py_DecRef(found);
  return true;
}

/* A recipe that is a number: false with an exception set. */
static bool learn_number(const callable *c, PyObject *type, PyObject *answer, known_type *known) {
  const dl_python *py = c->py;
  uint64_t number = py->PyLong_AsUnsignedLongLong(answer);
  if (number == UINT64_MAX && py->PyErr_Occurred() != NULL) return false;
  if (number < EXCHANGE) {
    known->recipe = (enum recipe)number;
    return true;
  }
  known->recipe = EXCHANGE;
  known->api = (const DLPackExchangeAPI *)(uintptr_t)number;
  known->is_lazy = has_attribute(py, type, "is_conj") || has_attribute(py, type, "is_neg");
  return py->PyErr_Occurred() == NULL;
}

const known_type *dl_type_learn(callable *c, PyObject *type) {
  const dl_python *py = c->py;
  PyObject *answer = py->PyObject_CallFunctionObjArgs(c->recipe_of, type, NULL);
  if (answer == NULL) return NULL;
  known_type known = {0};
  bool done;
  if (dl_type_of(c, answer) == py->PyLong_Type) {
    done = learn_number(c, type, answer, &known);
  } else if (py->PyTuple_GetItem(answer, 0) == py->_Py_NoneStruct) {
    known.recipe = ATTRIBUTES;
    known.attributes = dl_attributes_new(py, c->type_offset, py->PyTuple_GetItem(answer, 1));
    done = known.attributes != NULL;
  } else {
    known.shims = dl_shims_new(py, py->PyTuple_GetItem(answer, 1));
    done = known.shims != NULL && learn_number(c, type, py->PyTuple_GetItem(answer, 0), &known);
  }
  py->Py_DecRef(answer);
  if (!done) dl_type_forget(&known);
  return done ? dl_type_remember(c, type, known) : NULL;
}
