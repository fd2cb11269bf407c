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
static inline void put_token(uint64_t token, dlaunch_arg *arg) {
  bool is_handle = token == 0 || token >> 48 != 0;
  *arg = (dlaunch_arg){.kind = is_handle ? DLAUNCH_ARG_HANDLE : DLAUNCH_ARG_VERSIONED, .value.u = token};
}

static __attribute__((noinline)) bool put_array_by_name(const callable *c, PyObject *object, dlaunch_arg *arg) {
  PyObject *number = c->py->PyObject_GetAttrString(object, "_handle");
  if (number == NULL) return false;
  bool done = put_integer(c, number, arg);
  if (done) put_token(arg->value.u, arg);
  c->py->Py_DecRef(number);
  return done;
}

static inline bool put_array(const callable *c, PyObject *object, dlaunch_arg *arg) {
  if (__builtin_expect(c->handle_offset < 0, 0)) return put_array_by_name(c, object, arg);
  PyObject *number = *(PyObject **)((char *)object + c->handle_offset);
  uint64_t token;
  if (__builtin_expect(number == NULL || !dl_long_read_handle(c->long_layout, number, &token), 0)) {
    return put_array_by_name(c, object, arg);
  }
  put_token(token, arg);
  return true;
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

/* Whether a look at the last axis tells that memory is shown as it is. */
static inline bool is_plainly_real(const DLTensor *tensor) {
  if (tensor->dtype.code == kDLComplex) return false;
  int32_t last = tensor->ndim - 1;
  return tensor->dtype.code != kDLFloat ||
         (last >= 0 && tensor->strides != NULL && tensor->shape[last] > 1 && tensor->strides[last] == 1);
}

/* By the exchange API; never of what shows other values than it has, or has none. */
static inline bool read_by_api(const dl_python *py, const known_type *known, PyObject *object, DLTensor *tensor) {
  if (known->api->dltensor_from_py_object_no_sync(object, tensor) != 0) return false;
  if (!known->is_lazy) return true;
  if (dl_may_be_freed(known->shims, object, tensor)) return false;
  return is_plainly_real(tensor) || !is_lazy(py, object, tensor);
}

/* By torch's functions, which are to prove that its fields can be read. */
static __attribute__((noinline)) bool read_by_shims(const dl_python *py, const known_type *known, PyObject *object,
                                                    DLTensor *tensor) {
  if (!dl_shims_read(known->shims, object, tensor)) return read_by_api(py, known, object, tensor);
  if (known->is_lazy && is_lazy(py, object, tensor)) return false;
  dl_proved kind;
  if (!dl_shims_agree(known->shims, object, tensor, &kind)) return true;
  /* All others of its kind are to be taken without asking. */
  if (known->is_lazy && (says(py, object, "is_conj") || says(py, object, "is_neg"))) return false;
  dl_shims_believe(known->shims, &kind);
  return true;
}

static inline bool put_tensor(const callable *c, const known_type *known, PyObject *object, DLTensor *tensor,
                              dlaunch_arg *arg, bool *has_stream, uint64_t *stream) {
  bool is_read = known->shims == NULL
                     ? read_by_api(c->py, known, object, tensor)
                     : dl_shims_peek(known->shims, object, tensor) || read_by_shims(c->py, known, object, tensor);
  if (__builtin_expect(!is_read, 0)) return false;
  *arg = (dlaunch_arg){.kind = DLAUNCH_ARG_TENSOR, .value.tensor = tensor};
  if (*has_stream || tensor->device.device_type != kDLCUDA) return true;
  return current_stream(known, tensor->device.device_id, has_stream, stream);
}

/* What few arguments are. */
static __attribute__((noinline)) bool put_other(const callable *c, const known_type *known, PyObject *object,
                                                dlaunch_arg *arg) {
  *arg = (dlaunch_arg){.kind = DLAUNCH_ARG_NONE};
  switch (known->recipe) {
    case INDEX:
      return put_index(c, object, arg);
    case FLOAT:
      return put_float(c->py, object, arg);
    case TRUTH:
      return put_truth(c->py, object, arg);
    case BYTES:
      return put_bytes(c->py, object, arg);
    case NONE:
      return true;
    case SLOW:
    case LONG:
    case ARRAY:
    case EXCHANGE:
    case ATTRIBUTES:
      break;
  }
  return false;
}

/* Attributes make objects, which can run Python code (a collection's finalizers): so they
 * are read before all else, and what is read of them is copied. */
static bool read_attributes(callable *c, PyObject *const *objects, size_t count, DLTensor *tensors, int64_t *axes) {
  for (size_t i = 0; i < count; i++) {
    const known_type *known = dl_type_at(c, i, dl_type_of(c, objects[i]));
    if (known == NULL || known->recipe != ATTRIBUTES) continue;
    if (!dl_attributes_read(known->attributes, objects[i], &tensors[i], axes)) return false;
    axes += DL_AXES;
  }
  return true;
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
  callable *c = dl_callable_of(self);
  if (__builtin_expect(c == NULL, 0)) return NULL;
  if (__builtin_expect(n > MAX_ARGUMENTS, 0)) return leave(c, objects, n, "many arguments");
  size_t count = (size_t)n;
  dlaunch_arg *args = alloca((count + 1) * sizeof *args);
  DLTensor *tensors = alloca((count + 1) * sizeof *tensors);
  int64_t *axes = NULL;
  bool has_stream, by_attributes;
  uint64_t stream;
again: /* where Python code has run: a DLTensor's shape is sure only while nothing else does */
  by_attributes = false;
  has_stream = !c->chooses_stream;
  stream = c->config.stream;
  if (__builtin_expect(c->bound_type != NULL, 0) &&
      !current_stream(c->bound_type, c->bound_device, &has_stream, &stream)) {
    return leave(c, objects, n, "conversion failed");
  }
  const known_type *known = NULL;
  for (size_t i = 0; i < count; i++) {
    PyObject *object = objects[i], *type = dl_type_of(c, object);
    bool is_alike = known != NULL && known->type == type; /* arguments of one type come together */
    if (!is_alike) known = dl_type_at(c, i, type);
    if (__builtin_expect(known == NULL, 0)) {
      if (dl_type_learn(c, type) == NULL) return leave(c, objects, n, "another type");
      goto again;
    }
    bool done;
    if (known->recipe == EXCHANGE) {
      done = put_tensor(c, known, object, &tensors[i], &args[i], &has_stream, &stream);
    } else if (known->recipe == ARRAY) {
      done = put_array(c, object, &args[i]);
    } else if (known->recipe == LONG) {
      args[i] = (dlaunch_arg){.kind = DLAUNCH_ARG_INT};
      done = put_integer(c, object, &args[i]);
    } else if (known->recipe == ATTRIBUTES) {
      if (!by_attributes) {
        if (axes == NULL) axes = alloca(count * DL_AXES * sizeof *axes); /* once: it stays until the end */
        if (!read_attributes(c, objects, count, tensors, axes)) return leave(c, objects, n, "conversion failed");
        by_attributes = true;
        i = -(size_t)1; /* what was converted before is converted again */
        continue;
      }
      args[i] = (dlaunch_arg){.kind = DLAUNCH_ARG_TENSOR, .value.tensor = &tensors[i]};
      done = has_stream || current_stream(known, tensors[i].device.device_id, &has_stream, &stream);
    } else if (known->recipe == SLOW) {
      return leave(c, objects, n, "another type");
    } else {
      done = put_other(c, known, object, &args[i]);
    }
    if (__builtin_expect(!done, 0)) return leave(c, objects, n, "conversion failed");
  }

  dlaunch_config with_stream;
  const dlaunch_config *config = &c->config;
  if (__builtin_expect(stream != config->stream, 0)) {
    with_stream = c->config;
    with_stream.stream = stream;
    config = &with_stream;
  }
  dl_fault fault;
  const dl_hooks *hooks = c->holds_lock ? NULL : dl_lock_next(&c->lock);
  int32_t reason = dl_execute(c->kernel, config, args, (uint32_t)n, hooks, &fault);
  if (__builtin_expect(reason == DL_OK, 1)) {
    if (c->counts_none) c->py->Py_IncRef(c->py->_Py_NoneStruct);
    return c->py->_Py_NoneStruct;
  }
  if (reason == DL_DRIVER) return raise_driver_error(c, config, args, (uint32_t)n, &fault);
  return leave(c, objects, n, dl_reason_name(reason));
}
