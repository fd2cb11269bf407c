// a parameter of each width; all is widened into doubles or kept whole in words
#include <cuda_fp16.h>
extern "C" __global__ void scalars(bool b, signed char i8, unsigned char u8, short i16, unsigned short u16, int i32, unsigned u32,
                                   long long i64, unsigned long long u64, __half f16, float f32, double f64, double* values, unsigned long long* words) {
  int t = threadIdx.x;
  double v = 0;
  switch (t) {
    case 0: v = b; break;
    case 1: v = i8; break;
    case 2: v = u8; break;
    case 3: v = i16; break;
    case 4: v = u16; break;
    case 5: v = i32; break;
    case 6: v = u32; break;
    case 7: v = __half2float(f16); break;
    case 8: v = f32; break;
    case 9: v = f64; break;
  }
  if (t < 10) values[t] = v;
  if (t == 0) { words[0] = (unsigned long long)i64; words[1] = u64; }
}
