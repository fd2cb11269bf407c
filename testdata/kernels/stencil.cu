// five points, zero outside; block 16 x 16, each tile with a halo of one
#define TILE 16
extern "C" __global__ void stencil(const float* x, float* y, int rows, int cols, float centre, float side) {
  __shared__ float t[TILE + 2][TILE + 2];
  int c = blockIdx.x * TILE + threadIdx.x, r = blockIdx.y * TILE + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  bool inside = r < rows && c < cols;
  t[ty][tx] = inside ? x[r * cols + c] : 0.0f;
  if (threadIdx.x == 0) t[ty][0] = r < rows && c > 0 ? x[r * cols + c - 1] : 0.0f;
  if (threadIdx.x == TILE - 1) t[ty][TILE + 1] = r < rows && c + 1 < cols ? x[r * cols + c + 1] : 0.0f;
  if (threadIdx.y == 0) t[0][tx] = r > 0 && c < cols ? x[(r - 1) * cols + c] : 0.0f;
  if (threadIdx.y == TILE - 1) t[TILE + 1][tx] = r + 1 < rows && c < cols ? x[(r + 1) * cols + c] : 0.0f;
  __syncthreads();
  if (inside) y[r * cols + c] = centre * t[ty][tx] + side * (t[ty - 1][tx] + t[ty + 1][tx] + t[ty][tx - 1] + t[ty][tx + 1]);
}
