// one line for each thread whose value is beyond the limit
extern "C" __global__ void report_printf(const float* x, float limit, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > limit) printf("%s %d of %u: %.3f (%lld)\n", "value", i, (unsigned)n, x[i], (long long)i << 33);
}
