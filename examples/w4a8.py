"""4-bit weights times 8-bit activations on integer units; the activations are quantised on the fly.

A weight code c of u4 means c - 8. A row of activations is scaled so that its greatest magnitude
becomes 127. The programs at the end are what a caller wants: 16-bit in, 16-bit out, one dispatch.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
G = 128
BM, BK, M, K, BN, N = dims("BM BK M K BN N")


@dslc.kernel(BM=[4, 1, 16], BK=[1024, 256, 4096])
def quantize_rows(x: tensor[T, M, K], q: out[i8, M, K], t: out[f32, M]) -> None:
    """q = round(x / t), t = max(abs(x)) / 127, row by row."""
    for m in parallel(range(0, M, BM)):
        # A row of zeros has any scale but 0.
        top = full(f32, [BM], 1e-30)
        for k in range(0, K, BK):
            top = maximum(top, max(abs(cast(x[m : m + BM, k : k + BK], f32)), 1))
        scale = top / 127
        t[m : m + BM] = scale
        for k in range(0, K, BK):
            r = cast(x[m : m + BM, k : k + BK], f32) / scale[:, None]
            q[m : m + BM, k : k + BK] = cast(round(r), i8)


@dslc.kernel(BM=[16, 64, 128], BN=[128, 64, 256], BK=[128, 64, 256])
def gemm_w4a8_channel(
    q: tensor[i8, M, K], t: tensor[f32, M], w: tensor[u4, K, N], s: tensor[f32, N], c: out[T, M, N]
) -> None:
    """c = t * (q @ (w - 8)) * s: one scale a column, so the whole reduction is in integers."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(i32, [BM, BN])
        for k in range(0, K, BK):
            b = cast(w[k : k + BK, n : n + BN], i8) - 8
            acc += dot(q[m : m + BM, k : k + BK], b)
        r = cast(acc, f32) * t[m : m + BM, None] * s[n : n + BN]
        c[m : m + BM, n : n + BN] = cast(r, T)


@dslc.kernel(BM=[16, 64, 128, 256], BN=[128, 64, 256], BK=[128, 64, 32])
def gemm_w4a8_group(
    q: tensor[i8, M, K],
    t: tensor[f32, M],
    w: tensor[u4, K, N],
    s: tensor[f32, K // G, N],
    c: out[T, M, N],
) -> None:
    """c = t * sum over groups of (q @ (w - 8)) * s: integers inside a group, f32 across groups."""
    require(K % G == 0)
    require(G % BK == 0)

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            b = cast(w[k : k + BK, n : n + BN], i8) - 8
            # The scale multiplies the partial sums: BM * BN products, not BK * BN.
            part = dot(q[m : m + BM, k : k + BK], b)
            acc = fma(cast(part, f32), s[k // G, n : n + BN], acc)
        c[m : m + BM, n : n + BN] = cast(acc * t[m : m + BM, None], T)


@dslc.program
def w4a8_channel(
    x: tensor[T, M, K], w: tensor[u4, K, N], s: tensor[f32, N], c: out[T, M, N]
) -> None:
    """c = x @ ((w - 8) * s), x quantised to 8 bits a row."""
    q = buffer(i8, [M, K])
    t = buffer(f32, [M])
    quantize_rows(x, q, t)
    gemm_w4a8_channel(q, t, w, s, c)


@dslc.program
def w4a8_group(
    x: tensor[T, M, K], w: tensor[u4, K, N], s: tensor[f32, K // G, N], c: out[T, M, N]
) -> None:
    """c = x @ ((w - 8) * s) with a scale per G rows of a column, x quantised to 8 bits a row."""
    q = buffer(i8, [M, K])
    t = buffer(f32, [M])
    quantize_rows(x, q, t)
    gemm_w4a8_group(q, t, w, s, c)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    m, n, k = 16, 256, 512
    x = rng.standard_normal((m, k)).astype(np.float16)
    w = rng.integers(0, 16, (k, n), np.uint8)
    c = np.empty((m, n), np.float16)

    s = rng.uniform(0.01, 0.02, n).astype(np.float32)
    start = time.perf_counter()
    w4a8_channel(x, w, s, c)
    seconds = time.perf_counter() - start
    expected = x.astype(np.float32) @ ((w - 8.0) * s)
    error = np.linalg.norm(c - expected) / np.linalg.norm(expected)
    print(f"w4a8 by channel {m} x {n} x {k}: relative error {error:.1e}, {seconds:.3f} s")

    s = rng.uniform(0.01, 0.02, (k // G, n)).astype(np.float32)
    start = time.perf_counter()
    w4a8_group(x, w, s, c)
    seconds = time.perf_counter() - start
    expected = x.astype(np.float32) @ ((w - 8.0) * np.repeat(s, G, 0))
    error = np.linalg.norm(c - expected) / np.linalg.norm(expected)
    print(f"w4a8 by group {m} x {n} x {k}: relative error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
