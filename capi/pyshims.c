/*
 * Reading a torch tensor by the aoti_torch_get_* functions of libtorch_cpu, on the
 * at::Tensor inside the Python object. Where in the object it is, and that these
 * functions tell what torch's public protocol tells, Python has proved on several
 * tensors (_torch.py): no promise of torch's says it.
 */
#include "pyshims.h"

#include <stdlib.h>

/* Torch itself then gives the offset of the first element from NULL. */
static bool has_no_memory(const dl_shims *how, const char *tensor) {
  if (!how->at.known || tensor == NULL) return false;
  const char *storage = (const char *)dl_word_at(tensor, how->at.storage);
  return storage != NULL && dl_word_at(storage, how->at.data) == 0;
}

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
  if (has_no_memory(how, *(const char **)tensor)) out->data = NULL;
  out->device = (DLDevice){kDLCUDA, device_index};
  out->ndim = (int32_t)dim;
  out->dtype = how->dtypes[dtype];
  out->byte_offset = 0;
  return true;
}

bool dl_may_be_freed(const dl_shims *how, PyObject *object, const DLTensor *told) {
  enum { LOW_BITS = 33 };
  if (told->data == NULL) return false; /* which is refused where there are elements */
  if (how != NULL && how->at.known) return has_no_memory(how, *(const char **)((char *)object + how->tensor_at));
  return (uintptr_t)told->data >> LOW_BITS == 0;
}

static bool is_told(const DLTensor *a, const DLTensor *b) {
  size_t bytes = (size_t)a->ndim * sizeof(int64_t);
  return a->data == b->data && a->ndim == b->ndim && memcmp(&a->dtype, &b->dtype, sizeof a->dtype) == 0 &&
         a->device.device_type == b->device.device_type && a->device.device_id == b->device.device_id &&
         memcmp(a->shape, b->shape, bytes) == 0 && memcmp(a->strides, b->strides, bytes) == 0;
}

bool dl_shims_agree(const dl_shims *how, PyObject *object, const DLTensor *told, dl_proved *kind) {
  const char *tensor = *(const char **)((char *)object + how->tensor_at);
  const char *storage = how->at.known ? (const char *)dl_word_at(tensor, how->at.storage) : NULL;
  if (storage == NULL) return false;
  *kind = (dl_proved){.keys = dl_word_at(tensor, how->at.keys),
                      .deleter = dl_word_at(storage, how->at.deleter),
                      .device = dl_half_at(tensor, how->at.device)};
  dl_shims trial = *how;
  trial.num_proved = 1;
  trial.proved[0] = *kind;
  DLTensor fields;
  return dl_shims_peek(&trial, object, &fields) && is_told(&fields, told);
}

void dl_shims_believe(dl_shims *how, const dl_proved *kind) {
  if (how->num_proved == DL_SHIMS_PROVED) how->num_proved = 0; /* more kinds than are seen at one place */
  how->proved[how->num_proved++] = *kind;
}

/* ---- making one */

/* The items of a recipe, in order; those from LAYOUT to DATA are addresses, those from KEYS
 * to DELETER offsets, or all 0. */
enum {
  TENSOR_AT,
  STRIDED,
  CUDA,
  LAYOUT,
  DEVICE_TYPE,
  DEVICE_INDEX,
  DTYPE,
  DIM,
  SIZES,
  STRIDES,
  DATA,
  KEYS,
  STORAGE,
  RANK,
  OFFSET,
  DTYPE_NUMBER,
  DEVICE,
  STORAGE_DATA,
  DELETER,
  FIRST_DTYPE
};

dl_shims *dl_shims_new(const dl_python *py, PyObject *recipe) {
  dl_shims *how = calloc(1, sizeof *how);
  if (how == NULL) return (void *)py->PyErr_NoMemory();
  uint64_t items[FIRST_DTYPE + DL_SHIMS_DTYPES] = {0};
  Py_ssize_t size = py->PyTuple_Size(recipe);
  for (Py_ssize_t i = 0; i < size && i < FIRST_DTYPE + DL_SHIMS_DTYPES; i++) {
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
  how->layout = (dl_read_int32)(uintptr_t)items[LAYOUT];
  how->device_type = (dl_read_int32)(uintptr_t)items[DEVICE_TYPE];
  how->device_index = (dl_read_int32)(uintptr_t)items[DEVICE_INDEX];
  how->dtype = (dl_read_int32)(uintptr_t)items[DTYPE];
  how->dim = (dl_read_int64)(uintptr_t)items[DIM];
  how->sizes = (dl_read_axes)(uintptr_t)items[SIZES];
  how->strides = (dl_read_axes)(uintptr_t)items[STRIDES];
  how->data = (dl_read_pointer)(uintptr_t)items[DATA];
  how->at.keys = (uint32_t)items[KEYS];
  how->at.storage = (uint32_t)items[STORAGE];
  how->at.rank = (uint32_t)items[RANK];
  how->at.offset = (uint32_t)items[OFFSET];
  how->at.dtype = (uint32_t)items[DTYPE_NUMBER];
  how->at.device = (uint32_t)items[DEVICE];
  how->at.data = (uint32_t)items[STORAGE_DATA];
  how->at.deleter = (uint32_t)items[DELETER];
  how->at.known = how->at.keys != 0;
  for (; how->num_dtypes < DL_SHIMS_DTYPES && FIRST_DTYPE + how->num_dtypes < (uint64_t)size; how->num_dtypes++) {
    uint64_t packed = items[FIRST_DTYPE + how->num_dtypes];
    how->dtypes[how->num_dtypes] = (DLDataType){(uint8_t)packed, (uint8_t)(packed >> 8), (uint16_t)(packed >> 16)};
  }
  return how;
}

void dl_shims_free(dl_shims *how) { free(how); }
