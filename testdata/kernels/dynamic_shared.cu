// reverses each run of `per_block` values through shared memory that the launch sizes (8 * per_block bytes)
extern "C" __global__ void dynamic_shared(const double* x, double* y, int per_block, int n) {
  extern __shared__ double run[];
  int first = blockIdx.x * per_block;
  int length = min(per_block, n - first);
  for (int k = threadIdx.x; k < length; k += blockDim.x) run[k] = x[first + k];
  __syncthreads();
  for (int k = threadIdx.x; k < length; k += blockDim.x) y[first + k] = run[length - 1 - k];
}
