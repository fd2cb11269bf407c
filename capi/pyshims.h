/*
 * Torch's own C functions for reading a tensor, where Python has proved them, and its
 * fields where they are proved to say the same. Not a public header.
 */
#ifndef DL_PYSHIMS_H
#define DL_PYSHIMS_H

#include <stdbool.h>
#include <string.h>

#include "dlaunch.h"
#include "python.h"

enum { DL_SHIMS_DTYPES = 64, DL_SHIMS_PROVED = 4 };

typedef int32_t (*dl_read_int32)(void *tensor, int32_t *out); /* 0, or an error */
typedef int32_t (*dl_read_int64)(void *tensor, int64_t *out);
typedef int32_t (*dl_read_pointer)(void *tensor, void **out);
typedef int32_t (*dl_read_axes)(void *tensor, int64_t **out);

/*
 * Tensors of which the functions have told what the fields say: on this device, with
 * these dispatch keys (which say that it is dense, and neither conjugate, nor negative,
 * nor a wrapper) and this deleter of memory (which says that it is not copied on write).
 */
typedef struct dl_proved {
  uint64_t keys, deleter;
  uint16_t device; /* its type and its number, a byte each */
} dl_proved;

typedef struct dl_shims {
  int64_t tensor_at;     /* in an object */
  int32_t strided, cuda; /* torch's numbers of a layout and of a device type */
  dl_read_int32 layout, device_type, device_index, dtype;
  dl_read_int64 dim;
  dl_read_axes sizes, strides;
  dl_read_pointer data;
  struct {                                               /* where fields are ... */
    bool known;                                          /* ... if they are */
    uint32_t keys, storage, rank, offset, dtype, device; /* in the tensor; sizes follow the rank, then strides */
    uint32_t data, deleter;                              /* in its storage */
  } at;
  uint32_t num_proved;
  dl_proved proved[DL_SHIMS_PROVED];
  uint32_t num_dtypes;
  DLDataType dtypes[DL_SHIMS_DTYPES]; /* by torch's number; of no bits where it has no counterpart */
} dl_shims;

/* Makes one of the tuple that python/src/dlaunch/_torch.py gives: NULL with an
 * exception set. */
dl_shims *dl_shims_new(const dl_python *py, PyObject *recipe);
void dl_shims_free(dl_shims *how);

/* Reads a tensor on a GPU: false for any other. The data of one whose memory torch has
 * freed is NULL. The shape is valid while the tensor lives and nobody changes it. */
bool dl_shims_read(const dl_shims *how, PyObject *object, DLTensor *out);

/* Whether torch may have freed the memory of a tensor that the exchange API has told: the address
 * is then the offset of the first element. `how` may be NULL: then an address tells that is so
 * low as none seen of a GPU's (driver 580). */
bool dl_may_be_freed(const dl_shims *how, PyObject *object, const DLTensor *told);

/* Whether fields say what dl_shims_read has told of a tensor, and of what kind it then is. */
bool dl_shims_agree(const dl_shims *how, PyObject *object, const DLTensor *told, dl_proved *kind);

/* From now on dl_shims_peek reads those of a kind, none of which may be conjugate or negative. */
void dl_shims_believe(dl_shims *how, const dl_proved *kind);

enum { DL_INLINE_RANK = 5 }; /* torch keeps as many sizes in the tensor itself */

static inline uint64_t dl_word_at(const char *from, uint32_t at) {
  uint64_t word;
  memcpy(&word, from + at, sizeof word);
  return word;
}

static inline uint16_t dl_half_at(const char *from, uint32_t at) {
  uint16_t half;
  memcpy(&half, from + at, sizeof half);
  return half;
}

static inline bool dl_is_proved(const dl_shims *how, uint64_t keys, uint64_t deleter, uint16_t device) {
  for (uint32_t i = 0; i < how->num_proved; i++) {
    const dl_proved *proved = &how->proved[i];
    if ((keys ^ proved->keys | deleter ^ proved->deleter | (uint64_t)(device ^ proved->device)) == 0) return true;
  }
  return false;
}

/* What dl_shims_read does, without a call: of tensors like those that were proved. */
static inline bool dl_shims_peek(const dl_shims *how, PyObject *object, DLTensor *out) {
  if (__builtin_expect(how->num_proved == 0, 0)) return false;
  const char *tensor = *(const char **)((char *)object + how->tensor_at);
  if (__builtin_expect(tensor == NULL, 0)) return false;
  const char *storage = (const char *)dl_word_at(tensor, how->at.storage);
  if (__builtin_expect(storage == NULL, 0)) return false;
  uint64_t keys = dl_word_at(tensor, how->at.keys), deleter = dl_word_at(storage, how->at.deleter);
  uint16_t device = dl_half_at(tensor, how->at.device), dtype = dl_half_at(tensor, how->at.dtype);
  if (__builtin_expect(!dl_is_proved(how, keys, deleter, device), 0)) return false;
  uint64_t rank = dl_word_at(tensor, how->at.rank);
  if (__builtin_expect((rank > DL_INLINE_RANK) | (dtype >= DL_SHIMS_DTYPES), 0)) return false;
  out->dtype = how->dtypes[dtype];
  if (__builtin_expect(out->dtype.bits == 0, 0)) return false;
  uint64_t memory = dl_word_at(storage, how->at.data);
  if (__builtin_expect(memory == 0, 0)) return false; /* that of no elements, or freed by torch's resize_ */
  out->data = (void *)(memory + dl_word_at(tensor, how->at.offset) * (out->dtype.bits / 8u));
  out->device = (DLDevice){kDLCUDA, device >> 8};
  out->ndim = (int32_t)rank;
  out->shape = (int64_t *)(tensor + how->at.rank) + 1;
  out->strides = out->shape + DL_INLINE_RANK;
  out->byte_offset = 0;
  return true;
}

#endif
