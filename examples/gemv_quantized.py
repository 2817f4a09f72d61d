"""One row of f16 times low-bit integer weights, on integer units and yet exactly.

An f16 is an integer of 41 bits times 2^-24, so six slices of 7 bits hold any of them: x = sum over i of
d[i] * 2^(7 i - 24) with abs(d[i]) <= 64. gemv_quantized.tile says where that pays.
"""

# ruff: noqa: PLR1714, SIM109, SIM300 - the language has no `in`

from __future__ import annotations

import time

import dslc
import numpy as np
from dslc.lang import *

W = u2
G = 128
BK, M, K, BN, N = dims("BK M K BN N")


def slice_unit() -> Tile:
    """2^(24 - 7 i) for each of the eight slices i, exactly."""
    i = arange(8)
    return cast(1 << maximum(24 - 7 * i, 0), f32) / cast(1 << maximum(7 * i - 24, 0), f32)


@dslc.kernel(BK=[128, 256, 512])
def slice_rows(x: tensor[f16, M, K], d: out[i8, M, 8, K], bad: out[f32, M, K // G]) -> None:
    """x = sum over i of d[:, i] * 2^(7 i - 24); bad is NaN for a group with one that is not finite."""
    require(K % G == 0)
    require(BK % G == 0)

    for m, k in parallel(range(M), range(0, K, BK)):
        v = cast(x[m, k : k + BK], f32)
        scaled = v[None, :] * slice_unit()[:, None]
        # What is left for a slice is below half of the next: 64, as rounding is to the nearest.
        d[m, :, k : k + BK] = cast(round(scaled) - 128 * round(scaled / 128), i8)
        bad[m, k // G : k // G + BK // G] = sum(reshape(v * 0, [BK // G, G]), 1)


@dslc.kernel(BN=[64, 32, 112, 96, 128], BK=[512, 256, 1024])
def gemv_sliced(
    d: tensor[i8, M, 8, K],
    bad: tensor[f32, M, K // G],
    w: tensor[W, K, N],
    s: tensor[f16, K // G, N],
    c: out[f16, M, N],
) -> None:
    """c = sum over groups of (x @ w) * s for the x that d holds: integers inside a group, then f32."""
    require(K % G == 0)
    require(BK % G == 0)
    # fmt: off
    require(W == u1 or W == u2 or W == u3 or W == u4 or W == u5 or W == u6 or W == u7
            or W == i1 or W == i2 or W == i3 or W == i4 or W == i5 or W == i6 or W == i7 or W == i8)
    # fmt: on

    for m, n in parallel(range(M), range(0, N, BN)):
        # A product for each group, side by side: the warps of a block share the groups.
        acc = zeros(f32, [BK // G, 8, BN])
        for k in range(0, K, BK):
            x = transpose(reshape(d[m, :, k : k + BK], [8, BK // G, G]), [1, 0, 2])
            q = reshape(cast(w[k : k + BK, n : n + BN], i8), [BK // G, G, BN])
            scale = cast(s[k // G : k // G + BK // G, n : n + BN], f32)
            acc = fma(cast(dot(x, q), f32), scale[:, None, :], acc)
        wrong = zeros(f32, [1])
        for g in range(0, K // G, 64):
            wrong += sum(bad[m, g : g + 64])
        c[m, n : n + BN] = cast(sum(sum(acc, 0) / slice_unit()[:, None], 0) + wrong, f16)


@dslc.program
def gemv_quantized(
    x: tensor[f16, M, K], w: tensor[W, K, N], s: tensor[f16, K // G, N], c: out[f16, M, N]
) -> None:
    """c = x @ (w * s): for one row, or a few, each of which reads the weights."""
    d = buffer(i8, [M, 8, K])
    bad = buffer(f32, [M, K // G])
    slice_rows(x, d, bad)
    gemv_sliced(d, bad, w, s, c)


def main() -> None:
    """Runs on random inputs and compares with NumPy."""
    rng = np.random.default_rng(0)
    k, n = 2048, 1024
    x = (rng.standard_normal((1, k)) * np.exp2(rng.integers(-14, 3, k))).astype(np.float16)
    w = rng.integers(0, 4, (k, n), np.uint8)
    s = rng.uniform(0.01, 0.02, (k // G, n)).astype(np.float16)
    c = np.empty((1, n), np.float16)
    start = time.perf_counter()
    gemv_quantized(x, w, s, c)
    seconds = time.perf_counter() - start
    expected = x.astype(np.float64) @ (w * np.repeat(s.astype(np.float64), G, 0))
    error = np.linalg.norm(c - expected) / np.linalg.norm(expected)
    print(f"gemv_quantized 1 x {n} x {k}: relative error {error:.1e}, {seconds:.3f} s")


if __name__ == "__main__":
    main()
