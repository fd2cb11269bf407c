// steps until escape: neighbours leave the loop at different times. Without contraction, so that any IEEE machine counts the same
extern "C" __global__ void mandelbrot(int* steps, int rows, int cols, double left, double top, double scale, int limit) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  double re = __dadd_rn(left, __dmul_rn(scale, c)), im = __dadd_rn(top, -__dmul_rn(scale, r));
  double x = 0, y = 0;
  int k = 0;
  while (k < limit) {
    double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
    if (__dadd_rn(xx, yy) > 4.0) break;
    y = __dadd_rn(__dmul_rn(__dadd_rn(x, x), y), im);
    x = __dadd_rn(__dadd_rn(xx, -yy), re);
    ++k;
  }
  steps[r * cols + c] = k;
}
