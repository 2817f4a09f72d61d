"""A low-rank matrix in place of a full one: y = x U V in one kernel.

The intermediate x U has R columns, few enough to stay on the chip between the two products; as two
kernels it would go out to memory and back.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
BM, BN, BK, M, K, R, N = dims("BM BN BK M K R N")


@dslc.kernel(BM=[64, 16, 128], BN=[128, 64, 256], BK=[64, 32, 128])
def lowrank(x: tensor[T, M, K], u: tensor[T, K, R], v: tensor[T, R, N], y: out[T, M, N]) -> None:
    """y = (x @ u) @ v; x @ u is rounded to T for the second product."""
    for m in parallel(range(0, M, BM)):
        acc = zeros(f32, [BM, R])
        for k in range(0, K, BK):
            acc += dot(x[m : m + BM, k : k + BK], u[k : k + BK, :])
        low = cast(acc, T)
        for n in range(0, N, BN):
            y[m : m + BM, n : n + BN] = cast(dot(low, v[:, n : n + BN]), T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k, r = 64, 512, 512, 48
    x = rng.standard_normal((m, k)).astype(np.float16)
    u = (rng.standard_normal((k, r)) / k**0.5).astype(np.float16)
    v = (rng.standard_normal((r, n)) / r**0.5).astype(np.float16)
    y = np.empty((m, n), np.float16)
    start = time.perf_counter()
    lowrank(x, u, v, y)
    seconds = time.perf_counter() - start
    expected = x.astype(np.float32) @ u.astype(np.float32) @ v.astype(np.float32)
    error = np.abs(y - expected).max()
    print(f"rank {r} product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
