"""python block_max_numba.py > block_max_numba.ptx   (numba-cuda[cu12] 0.30.4; no driver or GPU needed)"""
from numba import cuda, float32


def block_max_numba(x, largest):
    """Block of 64: the largest value of each block."""
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else float32(-3.0e38)
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] = max(s[t], s[t + half])
        cuda.syncthreads()
        half //= 2
    if t == 0:
        largest[cuda.blockIdx.x] = s[0]


if __name__ == "__main__":
    print(cuda.compile_ptx(block_max_numba, (float32[::1], float32[::1]), cc=(7, 5))[0].rstrip("\0"), end="")
