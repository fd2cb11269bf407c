// The Mandelbrot set, smoothly coloured: one thread a pixel.
//
// mandelbrot.ptx beside it was made by NVRTC 13.0.88 (testdata/kernels/compile.py ../../examples/mandelbrot.cu).

// A cosine palette: each channel is a wave of its own phase.
__device__ unsigned char wave(float t, float phase) {
  return (unsigned char)(255.0f * (0.5f + 0.5f * __cosf(6.2831853f * (t + phase))));
}

extern "C" __global__ void mandelbrot(unsigned char *image, int rows, int cols, float center_x, float center_y,
                                      float height, int limit) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols) return;

  float pixel = height / rows;
  float cx = center_x + pixel * (col - 0.5f * cols);
  float cy = center_y - pixel * (row - 0.5f * rows);

  // The main cardioid and the disc beside it never escape.
  float q = (cx - 0.25f) * (cx - 0.25f) + cy * cy;
  bool inside = q * (q + cx - 0.25f) <= 0.25f * cy * cy || (cx + 1.0f) * (cx + 1.0f) + cy * cy <= 0.0625f;

  float x = 0, y = 0, xx = 0, yy = 0;
  int steps = inside ? limit : 0;
  while (steps < limit && xx + yy < 256.0f) {
    y = 2.0f * x * y + cy;
    x = xx - yy + cx;
    xx = x * x;
    yy = y * y;
    ++steps;
  }

  unsigned char *rgb = image + 3 * (row * cols + col);
  if (steps == limit) {
    rgb[0] = rgb[1] = rgb[2] = 0;
    return;
  }
  // The fraction of a step by which the point overshot makes the colours smooth.
  float smooth = steps + 4.0f - __log2f(__log2f(xx + yy));
  float t = 0.55f * __log2f(smooth);
  rgb[0] = wave(t, 0.45f);
  rgb[1] = wave(t, 0.55f);
  rgb[2] = wave(t, 0.65f);
}
