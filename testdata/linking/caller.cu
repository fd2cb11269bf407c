// Uses a function and a variable of callee.cu, and has an `offset` of its own, as that has.
#include "dlaunch_device.cuh"

extern __device__ int twice(int x);
extern __device__ int calls;
static __device__ int offset = 7;

extern "C" __global__ void apply(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] = twice(x[i]) + offset;
  atomicAdd(&calls, 1);
}
DLAUNCH_PROTOTYPE(apply, "(x: inout i32[n], n: i32 = n)");

template <class T, int N> __global__ void fill(T *x) { x[threadIdx.x] = N; }
template __global__ void fill<float, 3>(float *);
template __global__ void fill<int, 4>(int *);

namespace shapes {
__device__ int sides = 4;
__global__ void count(int *x) { x[threadIdx.x] = sides; }
} // namespace shapes
