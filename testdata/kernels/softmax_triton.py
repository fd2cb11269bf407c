"""python softmax_triton.py > softmax_triton.ptx   (triton 3.9.0; no torch, driver or GPU needed)"""
import os
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def softmax_triton(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=float("-inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


if __name__ == "__main__":
    src = ASTSource(fn=softmax_triton, signature={"x": "*fp32", "y": "*fp32", "cols": "i32", "BLOCK": "constexpr"}, constexprs={"BLOCK": 512})
    kernel = triton.compile(src, target=GPUTarget("cuda", 80, 32), options={"num_warps": 4})
    print(f"// dynamic shared memory: {kernel.metadata.shared} bytes")
    print(kernel.asm["ptx"], end="")
