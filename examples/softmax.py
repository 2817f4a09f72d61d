"""Softmax over the rows of a matrix, of any width or of widths that fit on the chip.

Rows of any width are read block by block, and the running sum is rescaled when a greater element turns
up (the online softmax of Milakov and Gimelshein, 2018). They are read twice. A row that fits on the
chip, up to some ten thousand elements, is read once.
"""

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

T = f32
BM, BN, M, N = dims("BM BN M N")


@dslc.kernel(BM=[4, 1, 16], BN=[1024, 256, 4096])
def softmax(x: tensor[T, M, N], y: out[T, M, N]) -> None:
    """y = exp(x - max(x)) / sum(exp(x - max(x))), row by row."""
    for m in parallel(range(0, M, BM)):
        top = full(f32, [BM], -inf)
        total = zeros(f32, [BM])
        for n in range(0, N, BN):
            # Past the end of a row reads give 0, which is no neutral element here.
            block = where(arange(BN) + n < N, cast(x[m : m + BM, n : n + BN], f32), -inf)
            higher = maximum(top, max(block, 1))
            total = total * exp(top - higher) + sum(exp(block - higher[:, None]), 1)
            top = higher
        for n in range(0, N, BN):
            e = exp(cast(x[m : m + BM, n : n + BN], f32) - top[:, None])
            y[m : m + BM, n : n + BN] = cast(e / total[:, None], T)


@dslc.kernel(BM=[1, 4, 16])
def softmax_rows(x: tensor[T, M, N], y: out[T, M, N]) -> None:
    """The same, each row read once and kept on the chip."""
    for m in parallel(range(0, M, BM)):
        # The open slice takes whole rows: N becomes a constant of the compiled kernel.
        row = cast(x[m : m + BM, :], f32)
        e = exp(row - max(row, 1, keepdims=True))
        # One division a row, then products: an element costs a few instructions.
        y[m : m + BM, :] = cast(e * (1 / sum(e, 1, keepdims=True)), T)


def main() -> None:
    """Runs both on random inputs and compares with NumPy."""
    x = np.random.default_rng(0).standard_normal((64, 5000), np.float32)
    e = np.exp(x - x.max(1, keepdims=True))
    expected = e / e.sum(1, keepdims=True)
    for kernel in softmax, softmax_rows:
        y = np.empty_like(x)
        start = time.perf_counter()
        kernel(x, y)
        seconds = time.perf_counter() - start
        error = np.abs(y - expected).max()
        print(f"{kernel.__name__} of {x.shape}: greatest error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
