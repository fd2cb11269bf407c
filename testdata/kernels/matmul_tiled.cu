// block 16 x 16
#define TILE 16
extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
  float s = 0.0f;
  for (int first = 0; first < k; first += TILE) {
    as[ty][tx] = row < m && first + tx < k ? a[row * k + first + tx] : 0.0f;
    bs[ty][tx] = col < n && first + ty < k ? b[(first + ty) * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) s += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = s;
}
