"""Root-mean-square normalisation (Zhang and Sennrich, 2019) of the rows of a matrix."""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f16
EPS, BM, M, H = dims("EPS BM M H")


@dslc.kernel(EPS=1e-6, BM=[4, 1, 16])
def rmsnorm(x: tensor[T, M, H], g: tensor[T, H], y: out[T, M, H]) -> None:
    """y = x / sqrt(mean(x * x) + EPS) * g, row by row."""
    for m in parallel(range(0, M, BM)):
        # The open slice takes whole rows: H becomes a constant of the compiled kernel.
        row = cast(x[m : m + BM, :], f32)
        scale = rsqrt(sum(row * row, 1, keepdims=True) / H + EPS)
        y[m : m + BM, :] = cast(row * scale * cast(g[:], f32), T)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 1536)).astype(np.float16)
    g = rng.standard_normal(1536).astype(np.float16)
    y = np.empty_like(x)
    start = time.perf_counter()
    rmsnorm(x, g, y)
    seconds = time.perf_counter() - start
    row = x.astype(np.float32)
    expected = row / np.sqrt((row * row).mean(1, keepdims=True) + 1e-6) * g.astype(np.float32)
    error = np.abs(y - expected).max()
    print(f"rmsnorm of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
