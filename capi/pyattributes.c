/*
 * Reading an array by its attributes: data.ptr, data.device_id, dtype, shape,
 * strides and _c_contiguous, each with a name that is made once. Where Python has
 * found, by trying, at what offset an object keeps one of them, that is read.
 *
 * Nothing is remembered of an object, which may change between launches.
 */
#include "pyattributes.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DTYPES = 8 };

struct dl_attributes {
  const dl_python *py;
  DLDevice device; /* its number is asked of each object where there are several */
  bool asks_device;
  size_t type_offset;                  /* in every object, of its type */
  PyObject *dtype_of, *current_stream; /* current_stream is None where the class has none */
  intptr_t (*stream_of)(int);          /* says the same; or NULL */
  PyObject *data_type;                 /* in whose objects ptr_at holds; or None */
  /* In an object; ptr in its data. -1: asked by name. */
  int64_t data_at, ptr_at, dtype_at, contiguous_at, shape_at;
  PyObject *data, *ptr, *device_id, *dtype, *shape, *strides, *contiguous; /* names */
  uint32_t num_dtypes;
  struct {
    PyObject *object; /* a strong reference: a dead object's address is used again */
    DLDataType dtype;
  } dtypes[MAX_DTYPES];
};

/* The items of a recipe, in order. */
enum {
  DEVICE_TYPE,
  ASKS_DEVICE,
  DTYPE_OF,
  CURRENT_STREAM,
  DATA_TYPE,
  DATA_AT,
  PTR_AT,
  DTYPE_AT,
  CONTIGUOUS_AT,
  SHAPE_AT,
  STREAM_OF,
};

static PyObject *object_at(PyObject *object, int64_t offset) { return *(PyObject **)((char *)object + offset); }

/* A new reference, or NULL with an exception. */
static PyObject *attribute(const dl_python *py, PyObject *object, PyObject *name, int64_t offset) {
  if (offset < 0) return py->PyObject_GetAttr(object, name);
  PyObject *found = object_at(object, offset);
  if (found != NULL) py->Py_IncRef(found);
  return found;
}

/* Takes the reference; -1 with an exception may be a value. */
static long long integer_of(const dl_python *py, PyObject *number) {
  if (number == NULL) return -1;
  long long value = py->PyLong_AsLongLong(number);
  py->Py_DecRef(number);
  return value;
}

static bool failed(const dl_python *py, long long value) { return value == -1 && py->PyErr_Occurred() != NULL; }

static bool read_address(const dl_attributes *how, PyObject *object, DLTensor *out) {
  const dl_python *py = how->py;
  PyObject *data = attribute(py, object, how->data, how->data_at);
  if (data == NULL) return false;
  bool done = true;
  if (how->ptr_at >= 0 && object_at(data, (int64_t)how->type_offset) == how->data_type) {
    memcpy(&out->data, (char *)data + how->ptr_at, sizeof out->data);
  } else {
    PyObject *number = py->PyObject_GetAttr(data, how->ptr);
    out->data = number != NULL ? (void *)(uintptr_t)py->PyLong_AsUnsignedLongLong(number) : NULL;
    done = number != NULL && py->PyErr_Occurred() == NULL;
    if (number != NULL) py->Py_DecRef(number);
  }
  out->device = how->device;
  if (done && how->asks_device) {
    long long device = integer_of(py, py->PyObject_GetAttr(data, how->device_id));
    done = !failed(py, device) && device >= 0 && device <= INT32_MAX;
    out->device.device_id = (int32_t)device;
  }
  py->Py_DecRef(data);
  return done;
}

/* Asks Python what a dtype object means, once for each. */
static bool learn_dtype(dl_attributes *how, PyObject *object, DLDataType *out) {
  const dl_python *py = how->py;
  long long packed = integer_of(py, py->PyObject_CallFunctionObjArgs(how->dtype_of, object, NULL));
  if (packed < 0) return false;
  *out = (DLDataType){(uint8_t)packed, (uint8_t)(packed >> 8), (uint16_t)(packed >> 16)};
  if (how->num_dtypes < MAX_DTYPES) { /* there are seldom more */
    py->Py_IncRef(object);
    how->dtypes[how->num_dtypes].object = object;
    how->dtypes[how->num_dtypes].dtype = *out;
    how->num_dtypes++;
  }
  return true;
}

static bool read_dtype(dl_attributes *how, PyObject *object, DLDataType *out) {
  PyObject *dtype = attribute(how->py, object, how->dtype, how->dtype_at);
  if (dtype == NULL) return false;
  bool known = false;
  for (uint32_t i = 0; i < how->num_dtypes && !known; i++) {
    known = how->dtypes[i].object == dtype;
    if (known) *out = how->dtypes[i].dtype;
  }
  bool done = known || learn_dtype(how, dtype, out);
  how->py->Py_DecRef(dtype);
  return done;
}

/* Copies a tuple of at most DL_ATTRIBUTES_RANK integers, and gives how many; -1. */
static int32_t read_tuple(const dl_python *py, PyObject *object, PyObject *name, int64_t *to) {
  PyObject *tuple = py->PyObject_GetAttr(object, name);
  if (tuple == NULL) return -1;
  Py_ssize_t rank = py->PyTuple_Size(tuple);
  bool done = rank >= 0 && rank <= DL_ATTRIBUTES_RANK;
  for (Py_ssize_t axis = 0; done && axis < rank; axis++) {
    to[axis] = py->PyLong_AsLongLong(py->PyTuple_GetItem(tuple, axis));
    done = !failed(py, to[axis]);
  }
  py->Py_DecRef(tuple);
  return done ? (int32_t)rank : -1;
}

/* The object has the two ends of an array of extents. */
static int32_t read_extents(PyObject *object, int64_t offset, int64_t *to) {
  const int64_t *ends[2];
  memcpy(ends, (char *)object + offset, sizeof ends);
  ptrdiff_t rank = ends[1] - ends[0];
  if (rank < 0 || rank > DL_ATTRIBUTES_RANK) return -1;
  if (rank > 0) memcpy(to, ends[0], (size_t)rank * sizeof *to);
  return (int32_t)rank;
}

static int is_contiguous(const dl_attributes *how, PyObject *object) {
  if (how->contiguous_at >= 0) {
    int32_t flag;
    memcpy(&flag, (char *)object + how->contiguous_at, sizeof flag);
    return flag != 0;
  }
  PyObject *answer = how->py->PyObject_GetAttr(object, how->contiguous);
  if (answer == NULL) return -1;
  int is = how->py->PyObject_IsTrue(answer);
  how->py->Py_DecRef(answer);
  return is;
}

/* Bytes to elements: false where an axis has steps of no whole number of them. */
static bool count_elements(const DLTensor *tensor, int64_t *strides) {
  int64_t size = (tensor->dtype.bits * (int64_t)tensor->dtype.lanes + 7) / 8;
  for (int32_t axis = 0; axis < tensor->ndim; axis++) {
    if (size == 0 || (strides[axis] % size != 0 && tensor->shape[axis] > 1)) return false;
    strides[axis] /= size;
  }
  return true;
}

bool dl_attributes_read(dl_attributes *how, PyObject *object, DLTensor *out, int64_t axes[DL_AXES]) {
  const dl_python *py = how->py;
  *out = (DLTensor){.shape = axes};
  if (!read_address(how, object, out) || !read_dtype(how, object, &out->dtype)) return false;
  out->ndim = how->shape_at >= 0 ? read_extents(object, how->shape_at, axes) : read_tuple(py, object, how->shape, axes);
  if (out->ndim < 0) return false;
  int contiguous = is_contiguous(how, object);
  if (contiguous != 0) return contiguous > 0;
  out->strides = axes + DL_ATTRIBUTES_RANK;
  return read_tuple(py, object, how->strides, out->strides) == out->ndim && count_elements(out, out->strides);
}

bool dl_attributes_has_stream(const dl_attributes *how) { return how->current_stream != how->py->_Py_NoneStruct; }

bool dl_attributes_stream(const dl_attributes *how, int32_t device, uint64_t *out) {
  const dl_python *py = how->py;
  if (how->stream_of != NULL) { /* a failure may be 0 or -1, as may a stream */
    *out = (uint64_t)how->stream_of(device);
    return *out + 1 > 1 || py->PyErr_Occurred() == NULL;
  }
  PyObject *number = py->PyLong_FromLongLong(device), *stream = NULL, *ptr = NULL;
  if (number != NULL) stream = py->PyObject_CallFunctionObjArgs(how->current_stream, number, NULL);
  if (stream != NULL) ptr = py->PyObject_GetAttr(stream, how->ptr);
  if (ptr != NULL) *out = py->PyLong_AsUnsignedLongLong(ptr);
  PyObject *held[] = {number, stream, ptr};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
    if (held[i] != NULL) py->Py_DecRef(held[i]);
  }
  return ptr != NULL && (*out != UINT64_MAX || py->PyErr_Occurred() == NULL);
}

/* ---- making one */

static PyObject *held_item(const dl_python *py, PyObject *tuple, Py_ssize_t index) {
  PyObject *item = py->PyTuple_GetItem(tuple, index);
  if (item != NULL) py->Py_IncRef(item);
  return item;
}

static int64_t item_number(const dl_python *py, PyObject *tuple, Py_ssize_t index) {
  PyObject *item = held_item(py, tuple, index);
  return integer_of(py, item);
}

dl_attributes *dl_attributes_new(const dl_python *py, size_t type_offset, PyObject *recipe) {
  dl_attributes *how = calloc(1, sizeof *how);
  if (how == NULL) return (void *)py->PyErr_NoMemory();
  how->py = py;
  how->type_offset = type_offset;
  how->device.device_type = (int32_t)item_number(py, recipe, DEVICE_TYPE);
  how->asks_device = item_number(py, recipe, ASKS_DEVICE) != 0;
  how->dtype_of = held_item(py, recipe, DTYPE_OF);
  how->current_stream = held_item(py, recipe, CURRENT_STREAM);
  how->data_type = held_item(py, recipe, DATA_TYPE);
  int64_t *offsets[] = {&how->data_at, &how->ptr_at, &how->dtype_at, &how->contiguous_at, &how->shape_at};
  for (Py_ssize_t i = 0; i <= SHAPE_AT - DATA_AT; i++) *offsets[i] = item_number(py, recipe, DATA_AT + i);
  how->stream_of = (intptr_t (*)(int))(uintptr_t)item_number(py, recipe, STREAM_OF);
  how->data = py->PyUnicode_InternFromString("data");
  how->ptr = py->PyUnicode_InternFromString("ptr");
  how->device_id = py->PyUnicode_InternFromString("device_id");
  how->dtype = py->PyUnicode_InternFromString("dtype");
  how->shape = py->PyUnicode_InternFromString("shape");
  how->strides = py->PyUnicode_InternFromString("strides");
  how->contiguous = py->PyUnicode_InternFromString("_c_contiguous");
  if (py->PyErr_Occurred() != NULL) {
    dl_attributes_free(how);
    return NULL;
  }
  return how;
}

void dl_attributes_free(dl_attributes *how) {
  PyObject *held[] = {how->dtype_of,  how->current_stream, how->data_type, how->data,    how->ptr,
                      how->device_id, how->dtype,          how->shape,     how->strides, how->contiguous};
  for (size_t i = 0; i < sizeof held / sizeof *held; i++) {
    if (held[i] != NULL) how->py->Py_DecRef(held[i]);
  }
  for (uint32_t i = 0; i < how->num_dtypes; i++) how->py->Py_DecRef(how->dtypes[i].object);
  free(how);
}
