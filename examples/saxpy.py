"""Launches saxpy on NumPy arrays: on a GPU, or on the simulator."""

import dlaunch
import numpy as np

library = dlaunch.load("testdata/kernels/saxpy.ptx")
saxpy = library.kernel("saxpy(a: f32, x: f32[n], y: inout f32[n], n: i32 = n)")

x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
saxpy[4, 256](2.0, x, y)  # or with tensors of torch, CuPy, JAX

assert (y == 2 * x + 1).all()
print(f"saxpy from Python on {dlaunch.driver_info().kind}: y[999] = {y[999]:g}")
