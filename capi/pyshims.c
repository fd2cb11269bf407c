/*
 * Reading a torch tensor by the aoti_torch_get_* functions of libtorch_cpu, on the
 * at::Tensor inside the Python object. Where in the object it is, and that these
 * functions tell what torch's public protocol tells, Python has proved on several
 * tensors (_torch.py): no promise of torch's says it.
 */
#include "pyshims.h"

#include <stdlib.h>

enum { MAX_DTYPES = 64 };

typedef int32_t (*read_int32)(void *tensor, int32_t *out); /* 0, or an error */
typedef int32_t (*read_int64)(void *tensor, int64_t *out);
typedef int32_t (*read_pointer)(void *tensor, void **out);
typedef int32_t (*read_axes)(void *tensor, int64_t **out);

struct dl_shims {
  int64_t tensor_at;     /* in an object */
  int32_t strided, cuda; /* torch's numbers of a layout and of a device type */
  read_int32 layout, device_type, device_index, dtype;
  read_int64 dim;
  read_axes sizes, strides;
  read_pointer data;
  uint32_t num_dtypes;
  DLDataType dtypes[MAX_DTYPES]; /* by torch's number; of no bits where it has no counterpart */
};

bool dl_shims_read(const dl_shims *how, PyObject *object, DLTensor *out) {
  void *tensor = (char *)object + how->tensor_at;
  int32_t layout, device_type, device_index, dtype;
  int64_t dim;
  if (how->layout(tensor, &layout) != 0 || layout != how->strided) return false;
  if (how->device_type(tensor, &device_type) != 0 || device_type != how->cuda) return false;
  if (how->device_index(tensor, &device_index) != 0 || how->dtype(tensor, &dtype) != 0) return false;
  if ((uint32_t)dtype >= how->num_dtypes || how->dtypes[dtype].bits == 0) return false;
  if (how->dim(tensor, &dim) != 0 || how->sizes(tensor, &out->shape) != 0) return false;
  if (how->strides(tensor, &out->strides) != 0 || how->data(tensor, &out->data) != 0) return false;
  out->device = (DLDevice){kDLCUDA, device_index};
  out->ndim = (int32_t)dim;
  out->dtype = how->dtypes[dtype];
  out->byte_offset = 0;
  return true;
}

/* ---- making one */

/* The items of a recipe, in order; those from LAYOUT to DATA are addresses. */
enum { TENSOR_AT, STRIDED, CUDA, LAYOUT, DEVICE_TYPE, DEVICE_INDEX, DTYPE, DIM, SIZES, STRIDES, DATA, FIRST_DTYPE };

dl_shims *dl_shims_new(const dl_python *py, PyObject *recipe) {
  dl_shims *how = calloc(1, sizeof *how);
  if (how == NULL) return (void *)py->PyErr_NoMemory();
  uint64_t items[FIRST_DTYPE + MAX_DTYPES] = {0};
  Py_ssize_t size = py->PyTuple_Size(recipe);
  for (Py_ssize_t i = 0; i < size && i < FIRST_DTYPE + MAX_DTYPES; i++) {
    PyObject *item = py->PyTuple_GetItem(recipe, i);
    if (item != NULL) items[i] = py->PyLong_AsUnsignedLongLong(item);
  }
  if (py->PyErr_Occurred() != NULL) {
    free(how);
    return NULL;
  }
  how->tensor_at = (int64_t)items[TENSOR_AT];
  how->strided = (int32_t)items[STRIDED];
  how->cuda = (int32_t)items[CUDA];
  how->layout = (read_int32)(uintptr_t)items[LAYOUT];
  how->device_type = (read_int32)(uintptr_t)items[DEVICE_TYPE];
  how->device_index = (read_int32)(uintptr_t)items[DEVICE_INDEX];
  how->dtype = (read_int32)(uintptr_t)items[DTYPE];
  how->dim = (read_int64)(uintptr_t)items[DIM];
  how->sizes = (read_axes)(uintptr_t)items[SIZES];
  how->strides = (read_axes)(uintptr_t)items[STRIDES];
  how->data = (read_pointer)(uintptr_t)items[DATA];
  for (; how->num_dtypes < MAX_DTYPES && FIRST_DTYPE + how->num_dtypes < (uint64_t)size; how->num_dtypes++) {
    uint64_t packed = items[FIRST_DTYPE + how->num_dtypes];
    how->dtypes[how->num_dtypes] = (DLDataType){(uint8_t)packed, (uint8_t)(packed >> 8), (uint16_t)(packed >> 16)};
  }
  return how;
}

void dl_shims_free(dl_shims *how) { free(how); }
