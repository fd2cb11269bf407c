// narrow and wide integer arithmetic; vector loads and stores
extern "C" __global__ void integers(const int4* x, int4* y, const signed char* narrow, short* sums, long long* wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int4 v = x[i], r;
  int by = v.w | 1;
  r.x = v.x / by;
  r.y = v.y % by;
  r.z = (unsigned)__mulhi(v.x, v.y) + (unsigned)__mul24(v.z, v.w) + (unsigned)abs(v.z) + __sad(v.x, v.y, 5u);
  r.w = (unsigned)__dp4a(v.x, v.y, v.z) + (unsigned)min(v.x, v.w) - (unsigned)max(v.y, v.z);
  y[i] = r;
  signed char a = narrow[2 * i], b = narrow[2 * i + 1];
  sums[i] = (short)((signed char)(a + b) * (short)(a - b)) >> 1;
  unsigned long long quotient = ((long long)v.x << 32 | (unsigned)v.y) / (v.z | 1LL), product = (long long)v.w * v.x;
  wide[i] = quotient + product + __mul64hi((long long)v.x << 31, (long long)v.y << 31);
}
