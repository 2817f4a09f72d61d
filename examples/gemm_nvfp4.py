"""16-bit activations times 4-bit floats with scales at two levels, as in NVFP4.

Each 16 rows of a column have a scale of 8 bits (f8e4m3), and the whole tensor has one in f32 that
brings these scales into their range.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from dslc.quantize import dequantize, quantize_nvfp4

T = f16
G, BM, BN, BK, M, K, N = dims("G BM BN BK M K N")


@dslc.kernel(G=16, BM=[16, 8, 64, 128], BN=[128, 64, 256], BK=[128, 64, 32, 256, 512])
def gemm_nvfp4(
    a: tensor[T, M, K],
    w: tensor[f4e2m1, K, N],
    s: tensor[f8e4m3, K // G, N],
    t: f32,
    c: out[T, M, N],
) -> None:
    """c = a @ (w * s) * t."""
    require(K % G == 0)
    require(BK % G == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            g = k // G
            scale = repeat(cast(s[g : g + BK // G, n : n + BN], T), G, 0)
            # 2 and 4 digits: the product is exact in f16 and in bf16.
            b = cast(w[k : k + BK, n : n + BN], T) * scale
            acc += dot(a[m : m + BM, k : k + BK], b)
        c[m : m + BM, n : n + BN] = cast(acc * t, T)


def main() -> None:
    """Quantises random weights, multiplies and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 16, 512, 1024
    a = rng.standard_normal((m, k)).astype(np.float16)
    weights = quantize_nvfp4(rng.standard_normal((k, n)) / 32)
    c = np.empty((m, n), np.float16)
    start = time.perf_counter()
    gemm_nvfp4(a, weights.codes, weights.scales, weights.tensor_scale, c)
    seconds = time.perf_counter() - start
    error = np.abs(c - a.astype(np.float32) @ dequantize(weights)).max()
    print(f"NVFP4 product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
