"""python matmul_triton.py > matmul_triton.ptx   (triton 3.9.0; no torch, driver or GPU needed)

float32 with input_precision "ieee": plain fused multiply-adds, no tensor cores."""
import os
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul_triton(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    col = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    s = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        i = first + inner
        x = tl.load(a + row[:, None] * k + i[None, :], mask=(row[:, None] < m) & (i[None, :] < k), other=0.0)
        y = tl.load(b + i[:, None] * n + col[None, :], mask=(i[:, None] < k) & (col[None, :] < n), other=0.0)
        s = tl.dot(x, y, acc=s, input_precision="ieee")
    tl.store(c + row[:, None] * n + col[None, :], s, mask=(row[:, None] < m) & (col[None, :] < n))


if __name__ == "__main__":
    signature = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32", "M": "constexpr", "N": "constexpr", "K": "constexpr"}
    src = ASTSource(fn=matmul_triton, signature=signature, constexprs={"M": 16, "N": 16, "K": 16})
    kernel = triton.compile(src, target=GPUTarget("cuda", 80, 32), options={"num_warps": 2, "num_stages": 1})
    print(f"// dynamic shared memory: {kernel.metadata.shared} bytes")
    print(kernel.asm["ptx"], end="")
