// what CUDA's mathematical library becomes: long straight code, tables, slow paths in local memory
extern "C" __global__ void math_functions(const float* x, const double* d, float* f, double* g, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], p = fabsf(v) + 0.25f;
  float* o = f + i * 12;
  o[0] = sinf(v); o[1] = cosf(v); o[2] = expf(v * 0.01f); o[3] = logf(p);
  o[4] = sqrtf(p); o[5] = rsqrtf(p); o[6] = powf(p, 1.5f); o[7] = tanhf(v);
  o[8] = floorf(v); o[9] = rintf(v); o[10] = fmodf(v, 3.0f); o[11] = atan2f(v, 2.0f);
  double w = d[i], q = fabs(w) + 0.25;
  double* u = g + i * 6;
  u[0] = sin(w); u[1] = exp(w * 0.01); u[2] = log(q); u[3] = sqrt(q); u[4] = w / q; u[5] = cbrt(w);
}
