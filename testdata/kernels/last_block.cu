// a sum in one launch: the block that counts last adds what the others left; `left` must start as 0 and ends as 0
extern "C" __global__ void last_block(const int* x, long long* partial, unsigned* left, long long* total, int n) {
  __shared__ long long s[256];
  __shared__ bool last;
  long long v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(left, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    long long sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += ((volatile long long*)partial)[b];
    *total = sum;
  }
}
