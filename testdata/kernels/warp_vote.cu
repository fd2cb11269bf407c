// keeps the positive values of each warp in order, and what the warp's votes say; the last warp may be partly out of range
extern "C" __global__ void warp_vote(const int* x, int* kept, unsigned* ballots, int* counts, int* votes, unsigned* peers, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x % 32, first = i - lane, warp = i / 32;
  bool there = i < n;
  int v = there ? x[i] : 0;
  unsigned mask = __ballot_sync(0xffffffffu, v > 0);
  int any = __any_sync(0xffffffffu, v < -90), all = __all_sync(0xffffffffu, v > -95);
  int broadcast = __shfl_sync(0xffffffffu, v, mask ? __ffs(mask) - 1 : 0);
  int neighbour = __shfl_down_sync(0xffffffffu, v, 1, 8);
  if (v > 0) kept[first + __popc(mask & ((1u << lane) - 1))] = v;
  if (lane == 0) {
    ballots[warp] = mask;
    counts[warp] = __popc(mask);
    votes[warp] = any * 2 + all;
  }
  unsigned inside = __ballot_sync(0xffffffffu, there);
  if (there) peers[i] = __match_any_sync(inside, v & 3) ^ (unsigned)(broadcast * 31 + neighbour);
}
