// z = w * x * conj(y): complex64 in memory and by value
extern "C" __global__ void complex_mul(float2 w, const float2* x, const float2* y, float2* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 a = x[i], b = y[i];
  float re = a.x * b.x + a.y * b.y, im = a.y * b.x - a.x * b.y;
  z[i] = make_float2(w.x * re - w.y * im, w.x * im + w.y * re);
}
