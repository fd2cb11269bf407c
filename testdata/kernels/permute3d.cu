// (depth, height, width) to (width, depth, height), with where each thread was in the grid
extern "C" __global__ void permute3d(const short* in, short* out, unsigned* place, int depth, int height, int width) {
  int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y, d = blockIdx.z * blockDim.z + threadIdx.z;
  if (w >= width || h >= height || d >= depth) return;
  int from = (d * height + h) * width + w;
  out[(w * depth + d) * height + h] = in[from];
  place[from] = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}
