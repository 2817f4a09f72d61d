"""16-bit activations times weights of 1 to 8 bits with a scale per group of G rows of a column.

The weights' type is a constant: `W = i6`, `W = f6e3m2`, ... make the same kernels for u1 to u8, i2
to i8 and every float of 3 to 8 bits. `cast(w, T)` is natural for each of them: an integer becomes
its value, a small float the same number. Floats of 5 exponent bits and more, f8e5m2 apart, reach past
f16: for them `T = bf16`.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
W = u4
G, BM, BN, BK, SPLIT, M, K, N = dims("G BM BN BK SPLIT M K N")


# Where there are fewer blocks than multiprocessors hold, SPLIT of them share the K of each.
@dslc.kernel(G=128, BM=[16, 8, 64, 128, 256], BN=[128, 64, 256, 32, 80], BK=[128, 64, 32, 256, 512],
             SPLIT=[1, 2, 4])  # fmt: skip
def gemm_quantized(
    a: tensor[T, M, K], w: tensor[W, K, N], s: tensor[T, K // G, N], c: out[T, M, N]
) -> None:
    """c = a @ (w * s): symmetric quantisation, or a code that carries its sign."""
    require(K % G == 0)
    # A block of K lies in one group, or covers whole ones.
    require(G % BK == 0 or BK % G == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK, split=SPLIT):
            g = k // G
            scale = repeat(s[g : g + max(1, BK // G), n : n + BN], min(G, BK), 0)
            b = cast(w[k : k + BK, n : n + BN], T) * scale
            acc += dot(a[m : m + BM, k : k + BK], b)
        c[m : m + BM, n : n + BN] = cast(acc, T)


@dslc.kernel(
    G=128, BM=[16, 8, 32], BN=[64, 128, 32, 80, 112, 224], BK=[512, 256, 128, 1024], SPLIT=[1, 2]
)
def gemm_quantized_sums(
    a: tensor[T, M, K], w: tensor[W, K, N], s: tensor[T, K // G, N], c: out[T, M, N]
) -> None:
    """c = sum over groups of (a @ w) * s, the scales applied to sums in f32: exact weights, few M."""
    require(K % G == 0)
    require(BK % G == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        # A product for each group, side by side: the warps of a block share the groups.
        acc = zeros(f32, [BK // G, BM, BN])
        for k in range(0, K, BK, split=SPLIT):
            x = transpose(reshape(a[m : m + BM, k : k + BK], [BM, BK // G, G]), [1, 0, 2])
            q = reshape(cast(w[k : k + BK, n : n + BN], T), [BK // G, G, BN])
            scale = cast(s[k // G : k // G + BK // G, n : n + BN], f32)
            acc = fma(dot(x, q), scale[:, None, :], acc)
        c[m : m + BM, n : n + BN] = cast(sum(acc, 0), T)


@dslc.kernel(G=32, BM=[16, 8, 64, 128], BN=[128, 64, 256, 32, 80], BK=[64, 32, 128, 256, 512])
def gemm_quantized_zeros(
    a: tensor[T, M, K],
    w: tensor[W, K, N],
    s: tensor[T, K // G, N],
    z: tensor[W, K // G, N],
    c: out[T, M, N],
) -> None:
    """c = a @ ((w - z) * s): asymmetric quantisation, the zero points stored as the weights are."""
    require(K % G == 0)
    # A block of K covers whole groups, so each row of scales is repeated over the rows of its group.
    require(BK % G == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            g = k // G
            scale = repeat(s[g : g + BK // G, n : n + BN], G, 0)
            zero = repeat(z[g : g + BK // G, n : n + BN], G, 0)
            b = (cast(w[k : k + BK, n : n + BN], T) - cast(zero, T)) * scale
            acc += dot(a[m : m + BM, k : k + BK], b)
        c[m : m + BM, n : n + BN] = cast(acc, T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 16, 512, 1024
    a = rng.standard_normal((m, k)).astype(np.float16)
    # Codes are one element a byte; the library packs them.
    w = rng.integers(0, 16, (k, n), np.uint8)
    c = np.empty((m, n), np.float16)

    s = rng.uniform(0.01, 0.02, (k // 128, n)).astype(np.float16)
    start = time.perf_counter()
    gemm_quantized(a, w, s, c)
    seconds = time.perf_counter() - start
    weights = w * np.repeat(s, 128, 0).astype(np.float32)
    error = np.abs(c - a.astype(np.float32) @ weights).max()
    print(f"u4 product {m} x {n} x {k}: greatest error {error:.1e}, {seconds:.3f} s")

    s = rng.uniform(0.01, 0.02, (k // 32, n)).astype(np.float16)
    z = rng.integers(0, 16, (k // 32, n), np.uint8)
    start = time.perf_counter()
    gemm_quantized_zeros(a, w, s, z, c)
    seconds = time.perf_counter() - start
    weights = (w - np.repeat(z, 32, 0).astype(np.float32)) * np.repeat(s, 32, 0)
    error = np.abs(c - a.astype(np.float32) @ weights).max()
    print(f"the same with zero points: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
