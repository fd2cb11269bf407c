// rounding modes, saturation, narrowing
extern "C" __global__ void conversions(const float* x, const double* d, int* ints, long long* wides, float* floats, unsigned char* bytes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  double w = d[i];
  int* a = ints + i * 6;
  a[0] = __float2int_rn(v); a[1] = __float2int_rz(v); a[2] = __float2int_ru(v); a[3] = __float2int_rd(v);
  a[4] = (int)__float2uint_rn(v); a[5] = __double2int_rz(w);
  long long* b = wides + i * 2;
  b[0] = __double2ll_rn(w); b[1] = (long long)__float2ull_rz(v);
  float* c = floats + i * 4;
  c[0] = __double2float_rn(w); c[1] = __saturatef(v); c[2] = __uint2float_rz(__float_as_uint(v)); c[3] = (float)(signed char)__float2int_rz(v);
  bytes[i] = (unsigned char)(short)__float2int_rn(v * 3.0f);
}
