"""The head of a language model: the last norm, and the vocabulary's weights in eight parts.

A part is what one configuration of an NPU multiplies; the eight of them are one dispatch.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from rmsnorm import rmsnorm

T = f16
BM, BN, BK, M, K, N, S, H, P = dims("BM BN BK M K N S H P")


@dslc.kernel(BM=[64, 16, 128], BN=[128, 64, 256], BK=[64, 32, 128])
def logits(a: tensor[T, M, K], b: tensor[T, K, N], c: out[f32, M, N]) -> None:
    """c = a @ b, in f32."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = acc


@dslc.program
def lm_head(
    x: tensor[T, S, H],
    g: tensor[T, H],
    w0: tensor[T, H, P],
    w1: tensor[T, H, P],
    w2: tensor[T, H, P],
    w3: tensor[T, H, P],
    w4: tensor[T, H, P],
    w5: tensor[T, H, P],
    w6: tensor[T, H, P],
    w7: tensor[T, H, P],
    y0: out[f32, S, P],
    y1: out[f32, S, P],
    y2: out[f32, S, P],
    y3: out[f32, S, P],
    y4: out[f32, S, P],
    y5: out[f32, S, P],
    y6: out[f32, S, P],
    y7: out[f32, S, P],
) -> None:
    """y0 to y7 = x normalised times w0 to w7."""
    normed = buffer(T, [S, H])
    rmsnorm(x, g, normed)
    logits(normed, w0, y0)
    logits(normed, w1, y1)
    logits(normed, w2, y2)
    logits(normed, w3, y3)
    logits(normed, w4, y4)
    logits(normed, w5, y5)
    logits(normed, w6, y6)
    logits(normed, w7, y7)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    rows, hidden, part = 3, 256, 130
    x = rng.standard_normal((rows, hidden)).astype(np.float16)
    g = rng.uniform(0.5, 1.5, hidden).astype(np.float16)
    weights = [(rng.standard_normal((hidden, part)) / 16).astype(np.float16) for _ in range(8)]
    parts = [np.empty((rows, part), np.float32) for _ in range(8)]
    start = time.perf_counter()
    lm_head(x, g, *weights, *parts)
    seconds = time.perf_counter() - start

    row = x.astype(np.float32)
    normed = row / np.sqrt((row * row).mean(1, keepdims=True) + 1e-6) * g
    pairs = zip(parts, weights, strict=True)
    error = max(np.abs(y - normed @ w.astype(np.float32)).max() for y, w in pairs)
    print(f"LM head of {x.shape}, {8 * part} words: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
