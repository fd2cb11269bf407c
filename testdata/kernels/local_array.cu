// the median of each window of nine, sorted in an array of the thread's own
extern "C" __global__ void local_array(const int* x, int* y, int n, int window) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int seen[32];
  int count = 0;
  for (int k = i - window / 2; k <= i + window / 2; ++k) {
    if (k < 0 || k >= n) continue;
    int v = x[k], at = count++;
    while (at > 0 && seen[at - 1] > v) { seen[at] = seen[at - 1]; --at; }
    seen[at] = v;
  }
  y[i] = seen[count / 2];
}
