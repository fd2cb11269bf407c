// clang-19 --target=nvptx64-nvidia-cuda -march=sm_75 -O2 -S gcd_clang.c -o gcd_clang.ptx
__attribute__((nvptx_kernel)) void gcd_clang(const unsigned long long *a, const unsigned long long *b, unsigned long long *g, int *rounds, long long n) {
  long long stride = (long long)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
  for (long long i = (long long)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x(); i < n; i += stride) {
    unsigned long long x = a[i], y = b[i];
    int count = 0;
    while (y) {
      unsigned long long rest = x % y;
      x = y;
      y = rest;
      ++count;
    }
    g[i] = x;
    rounds[i] = count;
  }
}
