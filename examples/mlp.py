"""The feed-forward half of a decoder layer, as one dispatch, with its norm and its residual.

The kernels come from the files beside this one.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from gemm import gemm
from rmsnorm import rmsnorm
from swiglu import swiglu

T = f16
BM, BN, BK, M, K, N, S, H, F = dims("BM BN BK M K N S H F")


@dslc.kernel(BM=[64, 16, 128], BN=[128, 64, 256], BK=[64, 32, 128])
def gemm_residual(
    a: tensor[T, M, K], b: tensor[T, K, N], r: tensor[T, M, N], c: out[T, M, N]
) -> None:
    """c = r + a @ b, rounded once."""
    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = cast(r[m : m + BM, n : n + BN], f32)
        for k in range(0, K, BK):
            acc += dot(a[m : m + BM, k : k + BK], b[k : k + BK, n : n + BN])
        c[m : m + BM, n : n + BN] = cast(acc, T)


@dslc.program
def mlp(
    x: tensor[T, S, H],
    g: tensor[T, H],
    wg: tensor[T, H, F],
    wu: tensor[T, H, F],
    wd: tensor[T, F, H],
    y: out[T, S, H],
) -> None:
    """y = x + swiglu(n wg, n wu) wd, n being x normalised."""
    normed = buffer(T, [S, H])
    gate = buffer(T, [S, F])
    up = buffer(T, [S, F])
    hidden = buffer(T, [S, F])
    rmsnorm(x, g, normed)
    gemm(normed, wg, gate)
    gemm(normed, wu, up)
    swiglu(gate, up, hidden)
    gemm_residual(hidden, wd, x, y)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    rows, hidden, inner = 50, 256, 600
    x = rng.standard_normal((rows, hidden)).astype(np.float16)
    g = rng.uniform(0.5, 1.5, hidden).astype(np.float16)
    shapes = (hidden, inner), (hidden, inner), (inner, hidden)
    weights = [(rng.standard_normal(s) / s[0] ** 0.5).astype(np.float16) for s in shapes]
    y = np.empty_like(x)
    start = time.perf_counter()
    mlp(x, g, *weights, y)
    seconds = time.perf_counter() - start

    row = x.astype(np.float32)
    normed = row / np.sqrt((row * row).mean(1, keepdims=True) + 1e-6) * g
    wg, wu, wd = (w.astype(np.float32) for w in weights)
    gate = normed @ wg
    error = np.abs(y - (row + gate / (1 + np.exp(-gate)) * (normed @ wu) @ wd)).max()
    print(f"MLP of {x.shape}, {inner} inside: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
