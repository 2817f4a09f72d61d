"""Matrix products of any M, N and K: floating point (f16, bf16, ...) and 8-bit integers.

`T = bf16` makes the same kernel for another element type.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
BM, BN, BK, M, K, N = dims("BM BN BK M K N")


@dslc.kernel(BM=[64, 16, 128], BN=[128, 64, 256], BK=[64, 32, 128])
def gemm(a: tensor[T, M, K], b: tensor[T, K, N], c: out[T, M, N]) -> None:
    """c = a @ b, accumulated in f32."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = cast(acc, T)


@dslc.kernel(BM=[64, 16, 128], BN=[128, 64, 256], BK=[64, 128, 256])
def gemm_i8(a: tensor[i8, M, K], b: tensor[i8, K, N], c: out[i32, M, N]) -> None:
    """c = a @ b, exact: integers accumulate in i32."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(i32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = acc


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 100, 300, 500
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    c = np.empty((m, n), np.float16)
    start = time.perf_counter()
    gemm(a, b, c)
    seconds = time.perf_counter() - start
    error = np.abs(c - a.astype(np.float32) @ b.astype(np.float32)).max()
    print(f"f16 product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")

    a = rng.integers(-128, 128, (m, k), np.int8)
    b = rng.integers(-128, 128, (k, n), np.int8)
    c = np.empty((m, n), np.int32)
    start = time.perf_counter()
    gemm_i8(a, b, c)
    seconds = time.perf_counter() - start
    error = np.abs(c - a.astype(np.int32) @ b.astype(np.int32)).max()
    print(f"i8 product {m} x {n} x {k}: greatest error {error}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
