// a 64-bit mixer, and what the bit instructions say of its result
__device__ unsigned long long mix(unsigned long long z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

extern "C" __global__ void hash64(const unsigned long long* x, unsigned long long seed, unsigned long long* hash,
                                  unsigned long long* high, unsigned* bits, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long h = mix(x[i] + seed * (i + 1));
  unsigned lo = (unsigned)h, hi = (unsigned)(h >> 32);
  hash[i] = __brevll(h) ^ (h << (i & 63) | h >> (63 - (i & 63)));
  high[i] = __umul64hi(h, x[i]);
  unsigned counts = __popcll(h) | __clzll((long long)(h >> (i & 31))) << 8 | __ffsll((long long)(h & ~0xffull)) << 16 | __clz((int)lo) << 24;
  bits[i] = counts ^ __byte_perm(lo, hi, 0x5140) ^ __funnelshift_l(lo, hi, i) ^ (__brev(hi) >> 7) ^ __umulhi(lo, hi);
}
