#include <dlaunch_device.cuh>

DLAUNCH_PROTOTYPE(view_transpose, "view_transpose(x: f32[rows,cols] @view, y: out f32[cols,rows] @view)");

extern "C" __global__ void view_transpose(dlaunch::view<const float, 2> x, dlaunch::view<float, 2> y) {
  unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < x.shape(0) && col < x.shape(1)) y(col, row) = x(row, col);
}
