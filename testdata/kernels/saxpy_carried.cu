// cubin: sm_90
#include <dlaunch_device.cuh>

DLAUNCH_PROTOTYPE(saxpy_carried, "(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)");

extern "C" __global__ void saxpy_carried(float a, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
