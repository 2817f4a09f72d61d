"""What stands before attention in a decoder layer, as one dispatch: norm, projections, positions.

The kernels come from the files beside this one.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *
from gemm import gemm
from rmsnorm import rmsnorm
from rope import rope

T = f16
S, H, Q, KV, D = dims("S H Q KV D")


@dslc.program
def attention_input(
    x: tensor[T, S, H],
    g: tensor[T, H],
    wq: tensor[T, H, Q],
    wk: tensor[T, H, KV],
    wv: tensor[T, H, KV],
    cos_sin: tensor[f32, S, D],
    q: out[T, S, Q],
    k: out[T, S, KV],
    v: out[T, S, KV],
) -> None:
    """q, k, v = x normalised times wq, wk, wv; q and k rotated by their positions."""
    normed = buffer(T, [S, H])
    rmsnorm(x, g, normed)
    gemm(normed, wq, q)
    gemm(normed, wk, k)
    gemm(normed, wv, v)
    rope(q, cos_sin)
    rope(k, cos_sin)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    rows, hidden, width, heads, key_heads = 50, 256, 64, 4, 2
    angles = np.outer(np.arange(rows), 10_000.0 ** (-np.arange(width // 2) / (width // 2)))
    cos_sin = np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    x = rng.standard_normal((rows, hidden)).astype(np.float16)
    g = rng.uniform(0.5, 1.5, hidden).astype(np.float16)
    columns = [n * width for n in (heads, key_heads, key_heads)]
    weights = [(rng.standard_normal((hidden, n)) / 16).astype(np.float16) for n in columns]
    q, k, v = (np.empty((rows, n), np.float16) for n in columns)
    start = time.perf_counter()
    attention_input(x, g, *weights, cos_sin, q, k, v)
    seconds = time.perf_counter() - start

    row = x.astype(np.float32)
    normed = row / np.sqrt((row * row).mean(1, keepdims=True) + 1e-6) * g
    expected = [normed @ w.astype(np.float32) for w in weights]
    for i in (0, 1):
        pairs = expected[i].reshape(rows, -1, 2, width // 2)
        turned = (pairs[:, :, 0] + 1j * pairs[:, :, 1]) * np.exp(1j * angles)[:, None, :]
        expected[i] = np.stack([turned.real, turned.imag], 2).reshape(rows, -1)
    error = np.max([np.abs(y - e).max() for y, e in zip((q, k, v), expected, strict=True)])
    print(f"attention input of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
