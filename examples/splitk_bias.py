"""A product with a long K and few output tiles: the reduction is divided among parallel turns.

With M and N small there are fewer output tiles than cores. `split` lets that many turns share one
tile: each sums its part of K, and the last to arrive adds the parts in a fixed order (so the result
does not depend on timing) and does what follows the loop.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
BM, BN, BK, SPLIT, M, K, N = dims("BM BN BK SPLIT M K N")


@dslc.kernel(BM=[16, 64], BN=[64, 128], BK=[64, 128], SPLIT=[4, 1, 2, 8])
def splitk_bias(
    a: tensor[T, M, K], b: tensor[T, K, N], bias: tensor[T, N], c: out[T, M, N]
) -> None:
    """c = a @ b + bias."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK, split=SPLIT):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = cast(acc + cast(bias[n : n + BN], f32), T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 16, 128, 4096
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = (rng.standard_normal((k, n)) / k**0.5).astype(np.float16)
    bias = rng.standard_normal(n).astype(np.float16)
    c = np.empty((m, n), np.float16)
    start = time.perf_counter()
    splitk_bias(a, b, bias, c)
    seconds = time.perf_counter() - start
    error = np.abs(c - (a.astype(np.float32) @ b.astype(np.float32) + bias)).max()
    print(f"split product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
