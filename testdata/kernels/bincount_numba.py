"""python bincount_numba.py > bincount_numba.ptx   (numba-cuda[cu12] 0.30.4; no driver or GPU needed)"""
from numba import cuda, float64, int32, int64


def bincount_numba(labels, weights, counts, sums):
    """A grid-stride loop; negative or too great labels are left out."""
    for i in range(cuda.grid(1), labels.size, cuda.gridsize(1)):
        b = labels[i]
        if 0 <= b < counts.size:
            cuda.atomic.add(counts, b, 1)
            cuda.atomic.add(sums, b, weights[i])


if __name__ == "__main__":
    signature = (int32[::1], float64[::1], int64[::1], float64[::1])
    print(cuda.compile_ptx(bincount_numba, signature, cc=(7, 5))[0].rstrip("\0"), end="")
