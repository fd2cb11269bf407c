static __device__ int offset = 100;
__device__ int calls;
__device__ int twice(int x) { return 2 * x + offset; }
