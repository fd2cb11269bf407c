// inclusive sums inside each block (of whole warps), and the total of each block
extern "C" __global__ void scan(const int* x, int* y, int* totals, int n) {
  __shared__ int warp_totals[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  int v = i < n ? x[i] : 0;
  for (int step = 1; step < 32; step *= 2) {
    int left = __shfl_up_sync(0xffffffffu, v, step);
    if (lane >= step) v += left;
  }
  if (lane == 31) warp_totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = lane < blockDim.x / 32 ? warp_totals[lane] : 0;
    for (int step = 1; step < 32; step *= 2) {
      int left = __shfl_up_sync(0xffffffffu, t, step);
      if (lane >= step) t += left;
    }
    warp_totals[lane] = t;
  }
  __syncthreads();
  if (warp > 0) v += warp_totals[warp - 1];
  if (i < n) y[i] = v;
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = v;
}
