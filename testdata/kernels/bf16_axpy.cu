// arch: compute_80
// pairs of bf16 with one rounding, and the greater of each pair widened to f32
#include <cuda_bf16.h>
extern "C" __global__ void bf16_axpy(float a, const __nv_bfloat162* x, __nv_bfloat162* y, float* greater, int pairs) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  __nv_bfloat162 v = __hfma2(__float2bfloat162_rn(a), x[i], y[i]);
  y[i] = v;
  greater[i] = __bfloat162float(__hmax(v.x, v.y));
}
