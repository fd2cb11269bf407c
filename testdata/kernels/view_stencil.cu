#include <dlaunch_device.cuh>

DLAUNCH_PROTOTYPE(view_stencil,
                  "(x: f64[planes,rows,cols] @view, w: f64[3] @view, scale: f64[] @view, "
                  "y: inout f64[planes,rows,cols] @view)");

// Three points along the last axis, whose ends stay as they are.
extern "C" __global__ void view_stencil(dlaunch::view<const double, 3> x, dlaunch::view<const double, 1> w,
                                        dlaunch::view<const double, 0> scale, dlaunch::view<double, 3> y) {
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < x.size(); i += gridDim.x * blockDim.x) {
    long long col = i % x.shape(2), row = i / x.shape(2) % x.shape(1), plane = i / x.shape(2) / x.shape(1);
    if (col == 0 || col == x.shape(2) - 1) continue;
    y(plane, row, col) =
        scale() * (w(0) * x(plane, row, col - 1) + w(1) * x(plane, row, col) + w(2) * x(plane, row, col + 1));
  }
}
