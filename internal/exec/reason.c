/* Why a launch was refused; and the words that reports have for what left the fast path. */
#include "exec.h"

void dl_say(dl_fault *fault, int32_t reason, int32_t axis, int64_t found, int64_t wanted) {
  fault->reason = reason;
  fault->axis = axis;
  fault->found = found;
  fault->wanted = wanted;
}

const char *dl_reason_name(int32_t reason) {
  switch (reason) {
    case DL_ATTENTION:
      return "attention";
    case DL_LIMITS:
      return "first on a device";
    case DL_SHARED:
      return "shared memory opt-in";
    case DL_HOST:
      return "host tensor";
    case DL_SCRATCH:
      return "scratch memory";
    case DL_CAPTURED:
      return "graph capture";
    case DL_DRIVER:
      return "driver error";
  }
  return "refused";
}
