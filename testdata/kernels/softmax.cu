// one block a row, any multiple of 32 threads up to 1024
__device__ float warp_max(float v) {
  for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}

__device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float per_warp[32];
  const float* in = x + (long long)blockIdx.x * cols;
  float* out = y + (long long)blockIdx.x * cols;
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

  float top = -3.0e38f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) top = fmaxf(top, in[c]);
  top = warp_max(top);
  if (lane == 0) per_warp[warp] = top;
  __syncthreads();
  top = warp_max(lane < warps ? per_warp[lane] : -3.0e38f);
  __syncthreads();

  float sum = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(in[c] - top);
  sum = warp_sum(sum);
  if (lane == 0) per_warp[warp] = sum;
  __syncthreads();
  sum = warp_sum(lane < warps ? per_warp[lane] : 0.0f);

  for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] = expf(in[c] - top) / sum;
}
