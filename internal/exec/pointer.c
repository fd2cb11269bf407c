/* check="pointers": what the driver knows of the memory that a tensor claims. */
#include "exec.h"

/* One allocation; type is 0 where the driver knows of none. */
typedef struct allocation {
  uint32_t type, managed;
  int32_t device;
  uint64_t start, size;
  void *context, *pool;
} allocation;

static int32_t look_up(uint64_t address, allocation *a) {
  int32_t ids[] = {DL_ALLOCATION_MEMORY_TYPE, DL_ALLOCATION_IS_MANAGED, DL_ALLOCATION_DEVICE_ORDINAL,
                   DL_ALLOCATION_RANGE_START, DL_ALLOCATION_RANGE_SIZE, DL_ALLOCATION_CONTEXT,
                   DL_ALLOCATION_POOL};
  void *to[] = {&a->type, &a->managed, &a->device, &a->start, &a->size, &a->context, &a->pool};
  *a = (allocation){0};
  return dl_the_driver.pointer_attributes(sizeof ids / sizeof *ids, ids, to, address);
}

/* Memory that was mapped piece by piece (cuMemMap) has neither context nor pool, and
 * the driver gives all that was reserved for its range, mapped or not (seen: 580). */
static bool is_mapped(const allocation *a) { return a->context == NULL && a->pool == NULL; }

static int32_t refuse_driver(dl_fault *fault, int32_t code) {
  fault->driver_code = code;
  return dl_refuse(fault, DL_POINTER_UNKNOWN, -1, code, 0);
}

int32_t dl_check_pointer(const dl_range *range, const DLDevice *device, bool peer, dl_fault *fault) {
  if (range->low == range->high || dl_the_driver.pointer_attributes == NULL) return DL_OK;
  allocation a;
  int32_t code = look_up(range->data, &a);
  if (code != 0) return refuse_driver(fault, code);
  uint32_t wanted = device->device_type == kDLCUDAHost ? DL_MEMORY_HOST : DL_MEMORY_DEVICE;
  if (a.type == 0) return dl_refuse(fault, DL_POINTER_GONE, -1, (int64_t)range->data, 0);
  if (a.type != wanted) return dl_refuse(fault, DL_POINTER_MEMORY, -1, a.type, wanted);
  if (device->device_type == kDLCUDA && !a.managed && !peer && a.device != device->device_id) {
    return dl_refuse(fault, DL_POINTER_DEVICE, -1, a.device, device->device_id);
  }
  if (range->low < a.start) {
    return dl_refuse(fault, DL_POINTER_RANGE, 0, (int64_t)(a.start - range->low), (int64_t)a.size);
  }
  if (range->high - a.start > a.size) {
    return dl_refuse(fault, DL_POINTER_RANGE, 1, (int64_t)(range->high - a.start - a.size), (int64_t)a.size);
  }
  const uint64_t ends[] = {range->low, range->high - 1};
  for (int32_t i = 0; i < 2 && is_mapped(&a); i++) {
    code = look_up(ends[i], &a);
    if (code != 0) return refuse_driver(fault, code);
    if (a.type == 0) return dl_refuse(fault, DL_POINTER_GONE, -1, (int64_t)ends[i], 0);
  }
  return DL_OK;
}
