"""Layer normalisation (Ba, Kiros and Hinton, 2016) of the rows of a matrix."""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
EPS, BM, M, H = dims("EPS BM M H")


@dslc.kernel(EPS=1e-5, BM=[4, 1, 16])
def layernorm(x: tensor[T, M, H], g: tensor[T, H], b: tensor[T, H], y: out[T, M, H]) -> None:
    """y = (x - mean(x)) / sqrt(var(x) + EPS) * g + b, row by row."""
    for m in parallel(range(0, M, BM)):
        row = cast(x[m : m + BM, :], f32)
        # The variance of the centred row: mean(x * x) - mean(x) ** 2 would cancel.
        centred = row - sum(row, 1, keepdims=True) / H
        scale = rsqrt(sum(centred * centred, 1, keepdims=True) / H + EPS)
        y[m : m + BM, :] = cast(centred * scale * cast(g[:], f32) + cast(b[:], f32), T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 1536)).astype(np.float16)
    g = rng.standard_normal(1536).astype(np.float16)
    b = rng.standard_normal(1536).astype(np.float16)
    y = np.empty_like(x)
    start = time.perf_counter()
    layernorm(x, g, b, y)
    seconds = time.perf_counter() - start
    row = x.astype(np.float32)
    deviation = np.sqrt(row.var(1, keepdims=True) + 1e-5)
    expected = (row - row.mean(1, keepdims=True)) / deviation * g.astype(np.float32) + b
    error = np.abs(y - expected).max()
    print(f"layernorm of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
