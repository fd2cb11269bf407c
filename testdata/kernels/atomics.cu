// each word of `out` by another atomic; the order of the threads does not show in the result
extern "C" __global__ void atomics(const unsigned* x, int n, unsigned* out, unsigned long long* wide, float* fsum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = x[i];
  atomicAdd(&out[0], v);
  atomicSub(&out[1], v);
  atomicMin(&out[2], v);
  atomicMax(&out[3], v);
  atomicAnd(&out[4], v | 0xff);
  atomicOr(&out[5], v & 0xff00);
  atomicXor(&out[6], v);
  atomicInc(&out[7], 9);
  atomicDec(&out[8], 6);
  atomicMax((int*)&out[9], (int)v);
  if (atomicExch(&out[10], 1u) == 0) atomicAdd(&out[11], 1u);
  unsigned seen = out[12], want;
  do { want = seen; seen = atomicCAS(&out[12], want, want * 5u); } while (seen != want);
  atomicAdd(&wide[0], (unsigned long long)v << 20);
  atomicMax(&wide[1], (unsigned long long)v * v);
  atomicXor(&wide[2], (unsigned long long)v << 32 | v);
  unsigned long long was = wide[3], tried;
  do { tried = was; was = atomicCAS(&wide[3], tried, tried + v); } while (was != tried);
  atomicAdd(fsum, (float)(v & 7));
}
