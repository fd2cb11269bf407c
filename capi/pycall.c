/*
 * What the Python builtin does that launches one kernel with one configuration: it
 * turns its arguments into dlaunch_arg on the stack and calls the executor.
 *
 * What it cannot convert, and what the executor refuses, it leaves to one Python
 * function, which uses the public protocols and words errors. Only after the
 * driver itself has failed is that too late: the launch must not be done twice.
 */
#include <alloca.h>

#include "_cgo_export.h"
#include "pycallable.h"
#include "release.h"

enum { MAX_ARGUMENTS = 256 };

/* ---- one argument */

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

PyObject *dl_python_call(PyObject *self, PyObject *const *objects, Py_ssize_t n) {
  /* The one symbol that is needed before the capsule is opened. */
  callable *c = dl_find_python()->PyCapsule_GetPointer(self, DL_CALLABLE);
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
    PyObject *type = dl_type_of(c, objects[i]);
    bool again = i > 0 && types[i - 1]->type == type; /* arguments of one type come together */
    types[i] = again ? types[i - 1] : dl_type_find(c, type);
    if (__builtin_expect(types[i] == NULL, 0)) types[i] = dl_type_learn(c, type);
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
