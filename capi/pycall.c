/*
 * The Python builtin that launches one kernel with one configuration: a
 * METH_FASTCALL function whose body turns its arguments into dlaunch_arg on the
 * stack and calls the executor.
 *
 * What it cannot convert, and what the executor refuses, it leaves to one Python
 * function, which uses the public protocols and words errors. Only after the
 * driver itself has failed is that too late: the launch must not be done twice.
 */
#include <alloca.h>
#include <stdbool.h>
#include <stdlib.h>

#include "_cgo_export.h"
#include "exec.h"
#include "pyattributes.h"
#include "pylong.h"
#include "pyshims.h"
#include "python.h"
#include "release.h"

enum { METH_FASTCALL = 0x0080, MAX_TYPES = 64, MAX_ARGUMENTS = 256 };

/* How objects of one type are converted; python/src/dlaunch/_arguments.py gives
 * the first four, or the address of the type's exchange API, which is greater, or
 * a tuple: of that address and what _torch.py has found, or of a None and how to
 * read a type by its attributes. */
enum recipe { SLOW, INDEX, FLOAT, TRUTH, LONG, NONE, BYTES, ARRAY, EXCHANGE, ATTRIBUTES };

typedef struct known_type {
  PyObject *type; /* a strong reference: a dead type's address is used again */
  enum recipe recipe;
  const DLPackExchangeAPI *api; /* of EXCHANGE */
  dl_shims *shims;              /* of EXCHANGE: tried first, where there are any; ours */
  bool is_lazy;                 /* of EXCHANGE: an object may show other values than are in memory */
  dl_attributes *attributes;    /* of ATTRIBUTES; ours */
} known_type;

typedef struct callable { /* what the builtin's self, a capsule, holds */
  const dl_python *py;
  uint64_t kernel;
  dlaunch_config config;
  dl_hooks hooks;
  bool holds_lock, chooses_stream;
  int64_t handle_offset; /* in a DeviceArray, of the object that is its handle; -1: an attribute */
  size_t type_offset;    /* in every object, of its type */
  dl_long_layout long_layout;
  PyObject *leave, *raise, *recipe_of;
  const known_type *bound_type; /* of the bound tensor that says where launches go; NULL: those that are passed do */
  int32_t bound_device;
  uint32_t num_types;
  known_type types[MAX_TYPES];
} callable;

static const char CAPSULE[] = "dlaunch_callable";

/* ---- one argument */

static PyObject *type_of(const callable *c, PyObject *object) {
  return *(PyObject **)((char *)object + c->type_offset);
}

static bool put_any_integer(const dl_python *py, PyObject *number, dlaunch_arg *arg) {
  int overflow;
  long long value = py->PyLong_AsLongLongAndOverflow(number, &overflow);
  if (overflow == 0) {
    arg->kind = DLAUNCH_ARG_INT;
    arg->value.i = value;
    return value != -1 || py->PyErr_Occurred() == NULL;
  }
  if (overflow < 0) return false;
  arg->kind = DLAUNCH_ARG_UINT;
  arg->value.u = py->PyLong_AsUnsignedLongLong(number);
  return arg->value.u != UINT64_MAX || py->PyErr_Occurred() == NULL;
}

static inline bool put_integer(const callable *c, PyObject *number, dlaunch_arg *arg) {
  uint64_t value;
  if (__builtin_expect(!dl_long_read(c->long_layout, number, &value), 0)) return put_any_integer(c->py, number, arg);
  arg->kind = DLAUNCH_ARG_INT;
  arg->value.u = value;
  return true;
}

static bool put_index(const callable *c, PyObject *object, dlaunch_arg *arg) {
  PyObject *number = c->py->PyNumber_Index(object);
  if (number == NULL) return false;
  bool done = put_integer(c, number, arg);
  c->py->Py_DecRef(number);
  return done;
}

static bool put_float(const dl_python *py, PyObject *object, dlaunch_arg *arg) {
  arg->kind = DLAUNCH_ARG_FLOAT;
  arg->value.f = py->PyFloat_AsDouble(object);
  return arg->value.f != -1.0 || py->PyErr_Occurred() == NULL;
}

static bool put_truth(const dl_python *py, PyObject *object, dlaunch_arg *arg) {
  int truth = py->PyObject_IsTrue(object);
  arg->kind = DLAUNCH_ARG_BOOL;
  arg->value.u = truth > 0;
  return truth >= 0;
}

static bool put_bytes(const dl_python *py, PyObject *object, dlaunch_arg *arg) {
  char *bytes;
  Py_ssize_t size;
  if (py->PyBytes_AsStringAndSize(object, &bytes, &size) != 0 || size > UINT32_MAX) return false;
  arg->kind = DLAUNCH_ARG_BYTES;
  arg->size = (uint32_t)size;
  arg->value.bytes = bytes;
  return true;
}

/* A DeviceArray's handle is a dlaunch_array or, of a view, the address of a
 * versioned struct, which no handle is as small as. */
static bool put_array(const callable *c, PyObject *object, dlaunch_arg *arg) {
  bool done;
  if (c->handle_offset >= 0) {
    PyObject *number = *(PyObject **)((char *)object + c->handle_offset);
    done = number != NULL && put_integer(c, number, arg);
  } else {
    PyObject *number = c->py->PyObject_GetAttrString(object, "_handle");
    done = number != NULL && put_integer(c, number, arg);
    if (number != NULL) c->py->Py_DecRef(number);
  }
  bool is_handle = arg->value.u == 0 || arg->value.u >> 48 != 0;
  arg->kind = is_handle ? DLAUNCH_ARG_HANDLE : DLAUNCH_ARG_VERSIONED;
  return done;
}

/* True, too, with an exception set: the answer cannot be relied on. */
static bool says(const dl_python *py, PyObject *object, const char *method) {
  PyObject *answer = py->PyObject_CallMethod(object, method, NULL);
  if (answer == NULL) return !dl_clear_exception(py);
  bool is = py->PyObject_IsTrue(answer) != 0;
  py->Py_DecRef(answer);
  return is;
}

/* The imaginary parts of complex numbers lie two floats apart, and so do all views
 * of them but torch.as_strided's. */
static bool may_be_imaginary(const DLTensor *tensor) {
  if (tensor->dtype.code != kDLFloat) return false;
  int64_t contiguous = 1;
  for (int32_t axis = tensor->ndim; axis-- > 0;) {
    if (tensor->shape[axis] <= 1) continue;
    int64_t stride = tensor->strides != NULL ? tensor->strides[axis] : contiguous;
    if (stride % 2 != 0) return false;
    contiguous *= tensor->shape[axis];
  }
  return true;
}

/* Torch's tensors whose memory holds the conjugate, or the negative, of what they
 * show. To ask costs as much as all else, so that it is done only of what can be. */
static bool is_lazy(const dl_python *py, PyObject *object, const DLTensor *tensor) {
  if (tensor->dtype.code == kDLComplex) return says(py, object, "is_conj");
  return may_be_imaginary(tensor) && says(py, object, "is_neg");
}

/* The stream on which a type's package works now; *known says whether there is such a thing. */
static bool current_stream(const known_type *type, int32_t device, bool *known, uint64_t *stream) {
  if (type->recipe == ATTRIBUTES && dl_attributes_has_stream(type->attributes)) {
    *known = true;
    return dl_attributes_stream(type->attributes, device, stream);
  }
  if (type->recipe == EXCHANGE && type->api->current_work_stream != NULL) {
    void *current = NULL;
    if (type->api->current_work_stream(kDLCUDA, device, &current) != 0) return false;
    *stream = (uint64_t)(uintptr_t)current;
    *known = true;
  }
  return true;
}

static bool put_tensor(const callable *c, const known_type *known, PyObject *object, DLTensor *tensor, dlaunch_arg *arg,
                       bool *has_stream, uint64_t *stream) {
  const DLPackExchangeAPI *api = known->api;
  bool is_read = known->shims != NULL && dl_shims_read(known->shims, object, tensor);
  if (!is_read && api->dltensor_from_py_object_no_sync(object, tensor) != 0) return false;
  if (known->is_lazy && is_lazy(c->py, object, tensor)) return false;
  arg->kind = DLAUNCH_ARG_TENSOR;
  arg->value.tensor = tensor;
  if (*has_stream || tensor->device.device_type != kDLCUDA) return true;
  return current_stream(known, tensor->device.device_id, has_stream, stream);
}

/* What dl_attributes_read has read. */
static bool put_read(const known_type *known, DLTensor *tensor, dlaunch_arg *arg, bool *has_stream, uint64_t *stream) {
  arg->kind = DLAUNCH_ARG_TENSOR;
  arg->value.tensor = tensor;
  return *has_stream || current_stream(known, tensor->device.device_id, has_stream, stream);
}

/* ---- types */

static const known_type *find_type(const callable *c, PyObject *type) {
  for (uint32_t i = 0; i < c->num_types; i++) {
    if (c->types[i].type == type) return &c->types[i];
  }
  return NULL;
}

static void forget(known_type *known) {
  if (known->attributes != NULL) dl_attributes_free(known->attributes);
  if (known->shims != NULL) dl_shims_free(known->shims);
}

/* Takes what `known` owns; NULL where there is no room. */
static const known_type *remember(callable *c, PyObject *type, known_type known) {
  const known_type *found = find_type(c, type); /* another thread may have, meanwhile */
  if (found != NULL || c->num_types == MAX_TYPES) {
    forget(&known);
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

/* Asks Python how to convert a type: NULL, perhaps with an exception set. */
static const known_type *learn(callable *c, PyObject *type) {
  const dl_python *py = c->py;
  PyObject *answer = py->PyObject_CallFunctionObjArgs(c->recipe_of, type, NULL);
  if (answer == NULL) return NULL;
  known_type known = {0};
  bool done;
  if (type_of(c, answer) == py->PyLong_Type) {
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
  if (!done) forget(&known);
  return done ? remember(c, type, known) : NULL;
}

/* ---- the call */

static PyObject *leave(const callable *c, PyObject *const *args, Py_ssize_t n, const char *reason) {
  const dl_python *py = c->py;
  if (!dl_clear_exception(py)) return NULL; /* of a conversion: the other way says it in its own words */
  PyObject *values = py->PyTuple_New(n);
  if (values == NULL) return NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    py->Py_IncRef(args[i]);
    py->PyTuple_SetItem(values, i, args[i]);
  }
  PyObject *text = py->PyUnicode_FromString(reason), *result = NULL;
  if (text != NULL) {
    result = py->PyObject_CallFunctionObjArgs(c->leave, values, text, NULL);
    py->Py_DecRef(text);
  }
  py->Py_DecRef(values);
  return result;
}

/* The driver refused, or the simulated kernel failed: only the words are missing. */
static PyObject *raise_driver_error(const callable *c, const dlaunch_config *config, dlaunch_arg *args, uint32_t n,
                                    dl_fault *fault) {
  dlaunch_error err = DLAUNCH_ERROR_INIT;
  void *state = c->py->PyEval_SaveThread();
  dlaunch_status status = go_launch("dlaunch_launch", c->kernel, (dlaunch_config *)config, args, n, fault, &err);
  dl_call_deleters();
  c->py->PyEval_RestoreThread(state);
  if (status == DLAUNCH_OK) return dl_none(c->py);
  return c->py->PyObject_CallFunction(c->raise, "iiis", (int)status, (int)err.driver_code, (int)err.argument,
                                      err.message);
}

static PyObject *call(PyObject *self, PyObject *const *objects, Py_ssize_t n) {
  /* The one symbol that is needed before the capsule is opened. */
  callable *c = dl_find_python()->PyCapsule_GetPointer(self, CAPSULE);
  if (c == NULL) return NULL;
  const dl_python *py = c->py;
  if (n > MAX_ARGUMENTS) return leave(c, objects, n, "many arguments");
  size_t count = (size_t)n;
  dlaunch_arg *args = alloca((count + 1) * sizeof *args);
  DLTensor *tensors = alloca((count + 1) * sizeof *tensors);
  bool has_stream = !c->chooses_stream;
  uint64_t stream = c->config.stream;

  /* All types are known before the first conversion: asking runs Python code,
   * and a DLTensor's shape is sure only while nothing else runs. */
  const known_type **types = alloca((count + 1) * sizeof *types);
  size_t by_attributes = 0;
  for (size_t i = 0; i < count; i++) {
    PyObject *type = type_of(c, objects[i]);
    bool again = i > 0 && types[i - 1]->type == type; /* arguments of one type come together */
    types[i] = again ? types[i - 1] : find_type(c, type);
    if (__builtin_expect(types[i] == NULL, 0)) types[i] = learn(c, type);
    if (types[i] == NULL || types[i]->recipe == SLOW) return leave(c, objects, n, "another type");
    by_attributes += types[i]->recipe == ATTRIBUTES;
  }
  /* Attributes come next, since they make objects, which can run Python code too
   * (a collection's finalizers); what is read of them is copied. */
  if (by_attributes > 0) {
    int64_t *axes = alloca(by_attributes * DL_AXES * sizeof *axes);
    for (size_t i = 0; i < count; i++) {
      if (types[i]->recipe != ATTRIBUTES) continue;
      if (!dl_attributes_read(types[i]->attributes, objects[i], &tensors[i], axes)) {
        return leave(c, objects, n, "conversion failed");
      }
      axes += DL_AXES;
    }
  }
  if (c->bound_type != NULL && !current_stream(c->bound_type, c->bound_device, &has_stream, &stream)) {
    return leave(c, objects, n, "conversion failed");
  }
  for (size_t i = 0; i < count; i++) {
    PyObject *object = objects[i];
    dlaunch_arg *arg = &args[i];
    *arg = (dlaunch_arg){.kind = DLAUNCH_ARG_NONE};
    bool done = true;
    switch (types[i]->recipe) {
      case INDEX:
        done = put_index(c, object, arg);
        break;
      case FLOAT:
        done = put_float(py, object, arg);
        break;
      case TRUTH:
        done = put_truth(py, object, arg);
        break;
      case LONG:
        done = put_integer(c, object, arg);
        break;
      case SLOW:
      case NONE:
        break;
      case BYTES:
        done = put_bytes(py, object, arg);
        break;
      case ARRAY:
        done = put_array(c, object, arg);
        break;
      case EXCHANGE:
        done = put_tensor(c, types[i], object, &tensors[i], arg, &has_stream, &stream);
        break;
      case ATTRIBUTES:
        done = put_read(types[i], &tensors[i], arg, &has_stream, &stream);
        break;
    }
    if (__builtin_expect(!done, 0)) return leave(c, objects, n, "conversion failed");
  }

  dlaunch_config with_stream;
  const dlaunch_config *config = &c->config;
  if (stream != config->stream) {
    with_stream = c->config;
    with_stream.stream = stream;
    config = &with_stream;
  }
  dl_fault fault;
  int32_t reason = dl_execute(c->kernel, config, args, (uint32_t)n, c->holds_lock ? NULL : &c->hooks, &fault);
  if (__builtin_expect(reason == DL_OK, 1)) return dl_none(py);
  if (reason == DL_DRIVER) return raise_driver_error(c, config, args, (uint32_t)n, &fault);
  return leave(c, objects, n, dl_reason_name(reason));
}

/* ---- making one */

static void release(callable *c) {
  PyObject *held[] = {c->leave, c->raise, c->recipe_of};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
    if (held[i] != NULL) c->py->Py_DecRef(held[i]);
  }
  for (uint32_t i = 0; i < c->num_types; i++) {
    c->py->Py_DecRef(c->types[i].type);
    forget(&c->types[i]);
  }
  free(c);
}

static void release_capsule(PyObject *capsule) {
  callable *c = dl_find_python()->PyCapsule_GetPointer(capsule, CAPSULE);
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
  c->bound_type = learn(c, type);
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
    remember(c, array_type, (known_type){.recipe = ARRAY});
    remember(c, py->PyFloat_Type, (known_type){.recipe = FLOAT});
    remember(c, py->PyLong_Type, (known_type){.recipe = LONG});
    remember(c, py->PyBool_Type, (known_type){.recipe = TRUTH});
    remember(c, py->PyBytes_Type, (known_type){.recipe = BYTES});
    remember(c, none_type, (known_type){.recipe = NONE});
  }
  py->Py_DecRef(none_type);
  return found &&
         find_bound_type(c, py->PyTuple_GetItem(support, BOUND_TYPE), py->PyTuple_GetItem(support, BOUND_DEVICE));
}

void *dlaunch_python_callable(dlaunch_kernel kernel, const dlaunch_config *config, void *support) {
  static PyMethodDef definition = {"launch", call, METH_FASTCALL,
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
  c->hooks = (dl_hooks){py->PyEval_SaveThread, py->PyEval_RestoreThread};
  PyObject *capsule = prepare(c, support) ? py->PyCapsule_New(c, CAPSULE, release_capsule) : NULL;
  if (capsule == NULL) {
    release(c);
    return py->PyErr_Occurred() == NULL ? dl_none(py) : NULL;
  }
  PyObject *made = py->PyCFunction_NewEx(&definition, capsule, NULL);
  py->Py_DecRef(capsule); /* the builtin holds it */
  return made;
}
