/* Tensors: every check that a prototype asks for, and the pointer. */
#include <string.h>

#include "tensor.h"

int32_t dl_tensor_of(const dlaunch_arg *arg, const DLTensor **tensor, uint64_t *flags, dl_fault *fault) {
  *flags = 0;
  switch (arg->kind) {
    case DLAUNCH_ARG_TENSOR:
    case DLAUNCH_ARG_MANAGED: /* its DLTensor comes first */
      *tensor = arg->value.tensor;
      return *tensor ? DL_OK : dl_refuse(fault, DL_NULL, -1, 0, 0);
    case DLAUNCH_ARG_VERSIONED: {
      const struct DLManagedTensorVersioned *versioned = arg->value.versioned;
      if (versioned == NULL) return dl_refuse(fault, DL_NULL, -1, 0, 0);
      if (versioned->version.major != DLPACK_MAJOR_VERSION) {
        return dl_refuse(fault, DL_VERSION, -1, versioned->version.major, DLPACK_MAJOR_VERSION);
      }
      *tensor = &versioned->dl_tensor;
      *flags = versioned->flags;
      return DL_OK;
    }
    case DLAUNCH_ARG_HANDLE: {
      uint64_t kind = dl_kind(arg->value.handle);
      dl_object *object = dl_find(arg->value.handle);
      if (object == NULL || (kind != DL_KIND_ARRAY && kind != DL_KIND_TENSOR)) {
        return dl_refuse(fault, DL_STALE_ARGUMENT, -1, (int64_t)arg->value.handle, 0);
      }
      *tensor = &((dl_tensor *)object)->tensor;
      *flags = ((dl_tensor *)object)->flags;
      return DL_OK;
    }
    default:
      return dl_refuse(fault, DL_KIND, -1, arg->kind, 0);
  }
}

static uint64_t item_bits(DLDataType dtype) { return (uint64_t)dtype.bits * dtype.lanes; }

/* Whether a float of less than two bytes has the bits that its code says. */
static bool is_known_width(DLDataType dtype) {
  if (dtype.code < kDLFloat8_e3m4 || dtype.code > kDLFloat4_e2m1fn) return true;
  return dtype.bits == (dtype.code <= kDLFloat8_e8m0fnu ? 8 : dtype.code <= kDLFloat6_e3m2fn ? 6 : 4);
}

/* What an element takes in memory: types of less than a byte are packed, unless
 * the producer says that they are padded. */
static uint64_t stored_bits(DLDataType dtype, uint64_t flags) {
  if (flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) return (dtype.bits + UINT64_C(7)) / 8 * 8 * dtype.lanes;
  return item_bits(dtype);
}

static uint32_t packed_dtype(DLDataType dtype) {
  return dtype.code | (uint32_t)dtype.bits << 8 | (uint32_t)dtype.lanes << 16;
}

/*
 * Walks the axes in the order in which they ought to lie in memory, innermost
 * first, and says whether they do. *elements is 0 if any extent is: then strides
 * mean nothing.
 */
static int32_t check_shape(dl_pack *pack, const dl_step *step, const DLTensor *t, int64_t *elements, bool *in_order,
                           dl_fault *fault) {
  bool fortran = step->flags & DL_FORTRAN, strided = step->flags & DL_STRIDED;
  int32_t leading = t->ndim - step->rank;
  const dl_dim *dims = pack->kernel->program.dims + step->dims;
  int64_t contiguous = 1, bad_found = 0, bad_wanted = 0;
  int32_t bad = -1;
  bool empty = false;
  for (int32_t n = 0; n < t->ndim; n++) {
    int32_t axis = fortran ? n : t->ndim - 1 - n;
    int64_t extent = t->shape[axis], wanted;
    if (extent < 0) return dl_refuse(fault, DL_NEGATIVE, axis, extent, 0);
    if (axis >= leading && step->op == DL_OP_TENSOR &&
        !dl_extent_fits(&dims[axis - leading], pack->sizes, extent, &wanted)) {
      return dl_refuse(fault, DL_EXTENT, axis, extent, wanted);
    }
    int64_t stride = contiguous;
    if (t->strides != NULL) {
      stride = t->strides[axis];
    } else if (fortran) { /* NULL is C order, whatever is wanted */
      stride = 1;
      for (int32_t inner = axis + 1; inner < t->ndim; inner++) {
        if (__builtin_mul_overflow(stride, t->shape[inner], &stride)) {
          return dl_refuse(fault, DL_OVERFLOW, inner, t->shape[inner], 0);
        }
      }
    }
    if (extent > 1 && stride != contiguous && bad < 0) {
      bad = axis;
      bad_found = stride;
      bad_wanted = contiguous;
    }
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(contiguous, extent, &contiguous)) {
      return dl_refuse(fault, DL_OVERFLOW, axis, extent, 0);
    }
  }
  *elements = empty ? 0 : contiguous;
  *in_order = bad < 0 || t->strides == NULL;
  if (bad >= 0 && !strided && !empty) return dl_refuse(fault, DL_LAYOUT, bad, bad_found, bad_wanted);
  return DL_OK;
}

bool dl_stride_of(const DLTensor *t, int32_t axis, int64_t *stride) {
  if (t->strides != NULL && t->shape[axis] > 1) {
    *stride = t->strides[axis];
    return true;
  }
  *stride = 1;
  for (int32_t inner = axis + 1; inner < t->ndim; inner++) {
    if (__builtin_mul_overflow(*stride, t->shape[inner] > 1 ? t->shape[inner] : 1, stride)) return false;
  }
  return true;
}

/* What a kernel writes must have one place for each element: the axes, from the
 * smallest step up, must each step over all that lies below. */
static int32_t check_overlap(const DLTensor *t, dl_fault *fault) {
  uint64_t done = 0; /* a bit an axis: DL_MAX_RANK of them */
  unsigned __int128 reach = 0;
  for (;;) {
    int32_t next = -1;
    uint64_t smallest = 0;
    for (int32_t axis = 0; axis < t->ndim; axis++) {
      if (t->shape[axis] <= 1 || done >> axis & 1) continue;
      uint64_t stride = t->strides[axis] < 0 ? -(uint64_t)t->strides[axis] : (uint64_t)t->strides[axis];
      if (next >= 0 && stride >= smallest) continue;
      smallest = stride;
      next = axis;
    }
    if (next < 0) return DL_OK;
    if (smallest <= reach) return dl_refuse(fault, DL_OVERLAP, next, t->strides[next], 0);
    reach += (unsigned __int128)smallest * (uint64_t)(t->shape[next] - 1);
    done |= UINT64_C(1) << next;
  }
}

/*
 * The bytes that hold every element: [low, high) around the first one. False if
 * they lead past the end of memory: shape and strides are a stranger's numbers.
 * Package dlpack's View draws the same line.
 */
static bool span(const DLTensor *t, uint64_t flags, uint64_t address, int64_t elements, bool in_order,
                 dl_range *range) {
  range->data = range->low = range->high = address;
  if (elements == 0) return true;
  uint64_t bits = stored_bits(t->dtype, flags);
  unsigned __int128 below = 0, above = in_order ? (uint64_t)elements - 1 : 0;
  for (int32_t axis = 0; !in_order && axis < t->ndim; axis++) {
    int64_t stride = t->strides[axis];
    unsigned __int128 *side = stride < 0 ? &below : &above;
    *side += (unsigned __int128)(stride < 0 ? -(uint64_t)stride : (uint64_t)stride) * (uint64_t)(t->shape[axis] - 1);
    if (*side > INT64_MAX) return false;
  }
  below = (below * bits + 7) / 8;
  above = ((above + 1) * bits + 7) / 8;
  unsigned __int128 all = ((unsigned __int128)(uint64_t)elements * bits + 7) / 8;
  if (below > address || above > UINT64_MAX - address || above > INT64_MAX || all > INT64_MAX) return false;
  range->low = address - (uint64_t)below;
  range->high = address + (uint64_t)above;
  return true;
}

/* On the simulator: memory that is not the device's, and is used in place. */
static bool is_of_host(uint64_t address) {
  const dl_driver *driver = &dl_the_driver;
  return driver->memory_size != 0 && address - driver->memory_base >= driver->memory_size;
}

/* Where the memory is: DL_OK for what this driver's kernels reach, DL_HOST, or why not. */
static int32_t check_place(dl_pack *pack, const DLTensor *t, uint64_t address, bool marked, bool peer,
                           dl_fault *fault) {
  const dl_driver *driver = &dl_the_driver;
  int32_t type = (int32_t)t->device.device_type;
  if (driver->memory_size != 0) {
    if (type != kDLCPU) return dl_refuse(fault, DL_DEVICE_TYPE, -1, type, kDLCPU);
    if (is_of_host(address) && address != 0 && !marked) return dl_refuse(fault, DL_HOST, -1, 0, 0);
    return DL_OK; /* a host tensor that is marked is used in place */
  }
  if (type == kDLCPU) return dl_refuse(fault, DL_HOST, -1, marked, 0);
  if (type == kDLCUDAHost || type == kDLCUDAManaged) return DL_OK; /* no device number: all reach it */
  if (type != kDLCUDA) return dl_refuse(fault, DL_DEVICE_TYPE, -1, type, kDLCUDA);
  int32_t device = t->device.device_id;
  if (peer && device >= 0 && device < driver->num_devices) return DL_OK;
  if (device < 0 || device >= driver->num_devices) return dl_refuse(fault, DL_DEVICE, -1, device, -driver->num_devices);
  if (pack->device < 0) pack->device = device;
  if (pack->device != device) return dl_refuse(fault, DL_DEVICE, -1, device, pack->device);
  return DL_OK;
}

/* A tensor with its shape and strides: dlaunch::view counts these in elements,
 * numba-cuda in bytes, after five words of its own. */
static int32_t put_struct(uint8_t *to, const dl_step *step, const DLTensor *t, uint64_t address, int64_t elements,
                          dl_fault *fault) {
  int64_t item = (int64_t)(item_bits(t->dtype) + 7) / 8, unit = 1;
  if (step->form == DL_FORM_NUMBA) {
    int64_t words[] = {0, 0, elements, item, (int64_t)address};
    memcpy(to, words, sizeof words);
    to += sizeof words;
    unit = item;
  } else {
    memcpy(to, &address, sizeof address);
    to += sizeof address;
  }
  size_t axes = (size_t)t->ndim;
  if (axes != 0) memcpy(to, t->shape, axes * sizeof(int64_t));
  to += axes * sizeof(int64_t);
  for (int32_t axis = 0; axis < t->ndim; axis++, to += sizeof(int64_t)) {
    int64_t stride;
    if (!dl_stride_of(t, axis, &stride) || __builtin_mul_overflow(stride, unit, &stride)) {
      return dl_refuse(fault, DL_OVERFLOW, axis, t->shape[axis], 0);
    }
    memcpy(to, &stride, sizeof stride);
  }
  return DL_OK;
}

int32_t dl_put_tensor(dl_pack *pack, const dl_step *step, uint32_t index, const dlaunch_arg *arg, dl_fault *fault) {
  const DLTensor *t;
  uint64_t flags;
  int32_t reason = dl_tensor_of(arg, &t, &flags, fault);
  if (reason != DL_OK) return reason;

  uint32_t dtype = packed_dtype(t->dtype);
  if (((dtype ^ step->dtype) & step->dtype_mask) != 0) return dl_refuse(fault, DL_DTYPE, -1, dtype, step->dtype);
  if (t->ndim < step->rank || (t->ndim > step->rank && !(step->flags & DL_OPEN_RANK))) {
    return dl_refuse(fault, DL_RANK, -1, t->ndim, step->rank);
  }
  if (t->ndim > DL_MAX_RANK) return dl_refuse(fault, DL_RANK, -1, t->ndim, DL_MAX_RANK);
  if (t->ndim > 0 && t->shape == NULL) return dl_refuse(fault, DL_NULL, 0, 0, 0);
  if (t->ndim > 0 && dl_is_crooked(t)) return dl_refuse(fault, DL_CROOKED, -1, 0, 0);

  bool in_order;
  int64_t elements;
  reason = check_shape(pack, step, t, &elements, &in_order, fault);
  if (reason != DL_OK) return reason;

  uint64_t address = (uint64_t)(uintptr_t)t->data;
  if (address < DL_FIRST_PAGE && elements != 0) return dl_refuse(fault, DL_NULL_DATA, -1, elements, (int64_t)address);
  uint64_t item = (item_bits(t->dtype) + 7) / 8;
  if (item == 0 || !is_known_width(t->dtype)) return dl_refuse(fault, DL_DTYPE, -1, dtype, step->dtype);
  dl_range range;
  if (address != 0 && __builtin_add_overflow(address, t->byte_offset, &address)) {
    return dl_refuse(fault, DL_REACH, -1, (int64_t)(uintptr_t)t->data, 0);
  }
  if (!span(t, flags, address, elements, in_order, &range)) {
    return dl_refuse(fault, DL_REACH, -1, (int64_t)address, 0);
  }
  uint64_t align = (item & (item - 1)) == 0 && item <= 16 ? item : 1;
  if (step->align > align) align = step->align;
  if (elements != 0 && (address & (align - 1)) != 0)
    return dl_refuse(fault, DL_ALIGNMENT, -1, (int64_t)address, (int64_t)align);

  bool written = step->flags & DL_WRITTEN || arg->flags & DLAUNCH_OUT;
  if (written && flags & DLPACK_FLAG_BITMASK_READ_ONLY) return dl_refuse(fault, DL_READ_ONLY, -1, 0, 0);
  if (written && t->strides != NULL && step->flags & DL_STRIDED && elements != 0) {
    reason = check_overlap(t, fault);
    if (reason != DL_OK) return reason;
  }
  bool marked = step->flags & DL_MARKED || arg->flags & (DLAUNCH_IN | DLAUNCH_OUT);
  reason = check_place(pack, t, address, marked, step->flags & DL_PEER, fault);
  if (reason != DL_OK) return reason;

  if (arg->kind == DLAUNCH_ARG_HANDLE) {
    pack->has_arrays = true;
    dl_remember_stream(dl_owner_of(t), pack->stream);
    if (__builtin_expect(step->flags & DL_PEER, 0)) {
      atomic_fetch_or_explicit(&dl_owner_of(t)->owner->elsewhere, DL_OTHER_DEVICES, memory_order_relaxed);
    }
  }
  if (__builtin_expect(step->form == DL_FORM_POINTER, 1)) {
    memcpy(pack->params + step->offset, &address, sizeof address);
  } else {
    reason = put_struct(pack->params + step->offset, step, t, address, elements, fault);
    if (reason != DL_OK) return reason;
  }
  if (pack->ranges == NULL && !pack->checks_pointers) return DL_OK;
  range.argument = index;
  range.dtype = dtype;
  range.flags = (step->flags & (DL_READ | DL_WRITTEN)) | (arg->flags & DLAUNCH_IN ? DL_READ : 0) |
                (arg->flags & DLAUNCH_OUT ? DL_WRITTEN : 0);
  if (pack->ranges != NULL) pack->ranges[pack->num_ranges++] = range;
  if (!pack->checks_pointers || is_of_host(address)) return DL_OK;
  return dl_check_pointer(&range, &t->device, step->flags & DL_PEER, fault);
}
