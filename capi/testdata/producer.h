/*
 * A producer of tensors: every kind that DLPack can say, right and wrong, in both
 * structs, with deleters that count and may do what deleters do.
 */
#ifndef PRODUCER_H
#define PRODUCER_H

#include "contract.h"

#include <pthread.h>

enum { ITEMS = 24, AXES = 66 };

typedef struct product {
  DLManagedTensor legacy;
  struct DLManagedTensorVersioned versioned;
  DLTensor *tensor; /* the one of the struct that is used */
  int is_versioned;
  double data[2 * ITEMS]; /* aligned for all types; the tensor begins in the middle */
  int64_t shape[AXES], strides[AXES];

  int deleted; /* how often */
  pthread_t deleted_by;
  void (*also)(struct product *); /* what else its deleter does */
  void *with;
} product;

static inline void deleted(product *p) {
  __atomic_add_fetch(&p->deleted, 1, __ATOMIC_SEQ_CST);
  p->deleted_by = pthread_self();
  if (p->also != NULL) p->also(p);
}

static inline void delete_legacy(DLManagedTensor *self) { deleted((product *)self->manager_ctx); }
static inline void delete_versioned(struct DLManagedTensorVersioned *self) { deleted((product *)self->manager_ctx); }

static inline int times_deleted(const product *p) { return __atomic_load_n(&p->deleted, __ATOMIC_SEQ_CST); }

/* A host tensor of ITEMS floats, 0 to ITEMS - 1, in C order. */
static inline void produce(product *p, int is_versioned) {
  float *data = (float *)(p->data + ITEMS / 2);
  int i;
  memset(p, 0, sizeof *p);
  for (i = 0; i < ITEMS; i++) data[i] = (float)i;
  for (i = 0; i < AXES; i++) p->shape[i] = p->strides[i] = 1;
  p->shape[0] = ITEMS;
  p->is_versioned = is_versioned;
  p->legacy.manager_ctx = p->versioned.manager_ctx = p;
  p->legacy.deleter = delete_legacy;
  p->versioned.deleter = delete_versioned;
  p->versioned.version.major = 1;
  p->versioned.version.minor = 3;
  p->tensor = is_versioned ? &p->versioned.dl_tensor : &p->legacy.dl_tensor;
  *p->tensor = host_tensor(data, 1, p->shape);
  p->tensor->strides = p->strides;
}

static inline dlaunch_status import_product(product *p, dlaunch_tensor *out, dlaunch_error *err) {
  return p->is_versioned ? dlaunch_tensor_import_versioned(&p->versioned, out, err)
                         : dlaunch_tensor_import(&p->legacy, out, err);
}

/* How each kind differs from that. */

static inline void as_it_is(product *p) { (void)p; }
static inline void null_strides(product *p) { p->tensor->strides = NULL; }
static inline void null_deleter(product *p) {
  p->legacy.deleter = NULL;
  p->versioned.deleter = NULL;
}
static inline void newer_minor(product *p) { p->versioned.version.minor = 99; }
static inline void zero_dimensions(product *p) {
  p->tensor->ndim = 0;
  p->tensor->shape = p->tensor->strides = NULL;
}
static inline void no_elements(product *p) {
  p->shape[0] = 0;
  p->tensor->data = NULL;
  p->tensor->byte_offset = 12;
}
static inline void an_offset(product *p) {
  p->shape[0] = ITEMS - 2;
  p->tensor->byte_offset = 2 * sizeof(float);
}
static inline void sixty_four_axes(product *p) { p->tensor->ndim = 64; }
static inline void stride_of_one_item(product *p) {
  p->shape[0] = 1;
  p->strides[0] = INT64_MIN;
}
static inline void every_second(product *p) {
  p->shape[0] = ITEMS / 2;
  p->strides[0] = 2;
}
static inline void backwards(product *p) {
  p->tensor->data = (float *)p->tensor->data + ITEMS - 1;
  p->strides[0] = -1;
}
static inline void one_for_all(product *p) { p->strides[0] = 0; }
static inline void doubles(product *p) { p->tensor->dtype.bits = 64; }
static inline void integers(product *p) { p->tensor->dtype.code = kDLInt; }
static inline void four_lanes(product *p) {
  p->tensor->dtype.lanes = 4;
  p->shape[0] = ITEMS / 4;
}
static inline void four_bits(product *p) {
  p->tensor->dtype = dtype_of(17 /* kDLFloat4_e2m1fn, which an old dlpack.h lacks */, 4);
}
static inline void odd_address(product *p) {
  p->tensor->byte_offset = 2;
  p->shape[0] = ITEMS - 1;
}
static inline void other_device(product *p) { p->tensor->device.device_type = kDLROCM; }
static inline void two_dimensions(product *p) {
  p->tensor->ndim = 2;
  p->shape[0] = 4;
  p->shape[1] = ITEMS / 4;
  p->strides[0] = ITEMS / 4;
}

static inline void negative_rank(product *p) { p->tensor->ndim = -1; }
static inline void too_many_axes(product *p) { p->tensor->ndim = AXES; }
static inline void null_shape(product *p) { p->tensor->shape = NULL; }
static inline void odd_shape(product *p) { p->tensor->shape = (int64_t *)(void *)((char *)p->shape + 4); }
static inline void odd_strides(product *p) { p->tensor->strides = (int64_t *)(void *)((char *)p->strides + 4); }
static inline void negative_extent(product *p) { p->shape[0] = -1; }
static inline void too_many_elements(product *p) {
  p->tensor->ndim = 2;
  p->shape[0] = p->shape[1] = INT64_MAX;
}
static inline void past_the_end(product *p) {
  p->shape[0] = 3;
  p->strides[0] = INT64_MAX / 2;
}
static inline void null_data(product *p) { p->tensor->data = NULL; }
static inline void no_bits(product *p) { p->tensor->dtype.bits = 0; }
static inline void no_lanes(product *p) { p->tensor->dtype.lanes = 0; }
static inline void wide_float4(product *p) { p->tensor->dtype = dtype_of(17, 8); }

typedef struct kind_of_tensor {
  const char *name;
  void (*make)(product *);
  int imports;          /* 0: refused when it is imported */
  const char *refused;  /* by a launch that wants f32[n]: what the message says; or NULL */
  int fits_any_strides; /* a launch that wants f32[...] @strided takes it */
} kind_of_tensor;

static const kind_of_tensor kinds_of_tensor[] = {
    {"plain", as_it_is, 1, NULL, 1},
    {"NULL strides", null_strides, 1, NULL, 1},
    {"NULL deleter", null_deleter, 1, NULL, 1},
    {"a newer minor version", newer_minor, 1, NULL, 1},
    {"no elements, NULL data", no_elements, 1, NULL, 1},
    {"byte_offset", an_offset, 1, NULL, 1},
    {"any stride of a single item", stride_of_one_item, 1, NULL, 1},
    {"0-d, NULL shape", zero_dimensions, 1, "0 dimensions", 1},
    {"64 axes", sixty_four_axes, 1, "64 dimensions", 1},
    {"two axes", two_dimensions, 1, "2 dimensions", 1},
    {"every second", every_second, 1, "stride 2", 1},
    {"backwards", backwards, 1, "stride -1", 1},
    {"stride 0", one_for_all, 1, "stride 0", 1},
    {"f64", doubles, 1, "f64", 0},
    {"i32", integers, 1, "i32", 0},
    {"lanes", four_lanes, 1, "f32x4", 0},
    {"sub-byte", four_bits, 1, "f4e2m1fn", 0},
    {"misaligned", odd_address, 1, "multiple of 4", 0},
    {"another device", other_device, 1, "rocm", 0},
    {"negative ndim", negative_rank, 0, "ndim is -1", 0},
    {"ndim 66", too_many_axes, 0, "ndim is 66", 0},
    {"NULL shape", null_shape, 0, "shape is NULL", 0},
    {"misaligned shape", odd_shape, 0, "multiple of 8", 0},
    {"misaligned strides", odd_strides, 0, "multiple of 8", 0},
    {"negative extent", negative_extent, 0, "extent -1", 0},
    {"overflow", too_many_elements, 0, "2^63-1", 0},
    {"past the end of memory", past_the_end, 0, "past the end", 0},
    {"NULL data", null_data, 0, "data is NULL", 0},
    {"0 bits", no_bits, 0, "has no size", 0},
    {"0 lanes", no_lanes, 0, "has no size", 0},
    {"f4 of 8 bits", wide_float4, 0, "f4e2m1fn has 4 bits", 0},
};
enum { KINDS_OF_TENSOR = sizeof kinds_of_tensor / sizeof *kinds_of_tensor };

#endif
