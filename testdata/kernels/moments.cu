// sum and extremes of doubles by atomics; the extremes are of the values rounded down
extern "C" __global__ void moments(const double* x, int n, double* sum, long long* low, long long* high) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(sum, x[i]);
    long long whole = __double2ll_rd(x[i]);
    atomicMin(low, whole);
    atomicMax(high, whole);
  }
}
