"""16-bit activations times weights in the MX formats: a power of two for each 32 rows of a column.

The elements' type is a constant: `W = f4e2m1`, `f6e2m3`, `f6e3m2`, `f8e4m3`, `f8e5m2` or `i8` (OCP
Microscaling Formats Specification 1.0, section 5; of i8 the specification takes code / 64: put the
2^-6 into the scales). bf16 has the range of the scales; `T = f16` serves scales that f16 has.
"""

from __future__ import annotations

import time

import dslc
import ml_dtypes
import numpy as np
from dslc.lang import *
from dslc.quantize import dequantize, quantize_mx

T = bf16
W = f4e2m1
G, BM, BN, BK, M, K, N = dims("G BM BN BK M K N")


@dslc.kernel(G=32, BM=[16, 8, 64, 128], BN=[128, 64, 256], BK=[128, 64, 32, 256, 512])
def gemm_mx(
    a: tensor[T, M, K], w: tensor[W, K, N], s: tensor[e8m0, K // G, N], c: out[T, M, N]
) -> None:
    """c = a @ (w * s)."""
    require(K % G == 0)
    # A block of K covers whole groups, so each row of scales is repeated over the rows of its group.
    require(BK % G == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            g = k // G
            # A power of two changes no digit of a weight: the product is exact.
            scale = repeat(cast(s[g : g + BK // G, n : n + BN], T), G, 0)
            b = cast(w[k : k + BK, n : n + BN], T) * scale
            acc += dot(a[m : m + BM, k : k + BK], b)
        c[m : m + BM, n : n + BN] = cast(acc, T)


def main() -> None:
    """Quantises random weights, multiplies and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 16, 512, 1024
    a = rng.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    weights = quantize_mx(rng.standard_normal((k, n)) / 32, "f4e2m1")
    c = np.empty((m, n), ml_dtypes.bfloat16)
    start = time.perf_counter()
    gemm_mx(a, weights.codes, weights.scales, c)
    seconds = time.perf_counter() - start
    error = np.abs(c.astype(np.float32) - a.astype(np.float32) @ dequantize(weights)).max()
    print(f"MX f4e2m1 product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
