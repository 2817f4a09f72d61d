"""Strides that a kernel names are those of the arrays at the call, wherever they are compiled in."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import call

BATCHED = """
kernel batched(a: f32[B, M, K] strides (sa, K, 1), b: f32[B, K, N], c: out f32[B, M, N]):
    for i, m, n in parallel(range(B), range(0, M, 8), range(0, N, 16)):
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 16):
            acc += dot(a[i, m : m + 8, k : k + 16], b[i, k : k + 16, n : n + 16])
        c[i, m : m + 8, n : n + 16] = acc
"""
TURNED = """
kernel turned(x: f32[M, K] strides (sm, sk), y: out f32[M, K]):
    for m in parallel(range(0, M, 4)):
        y[m : m + 4, :] = x[m : m + 4, :] * 2.0
"""


@pytest.mark.parametrize("target", ["interp", "aie:npu2", "aarch64:bf16", "nki:trn2"])
def test_strides_come_from_the_call(target: str) -> None:
    rng = np.random.default_rng(0)
    b = rng.integers(-3, 4, (3, 32, 32)).astype(np.float32)
    for rows in (20, 50):
        a = rng.integers(-3, 4, (3, rows, 32)).astype(np.float32)[:, :16, :]
        c = np.zeros((3, 16, 32), np.float32)
        call(target, BATCHED, {"a": a, "b": b, "c": c})
        np.testing.assert_array_equal(c, a @ b)
    for order in ("C", "F"):
        x = np.array(rng.integers(-3, 4, (8, 16)), np.float32, order=order)
        y = np.zeros((8, 16), np.float32)
        call(target, TURNED, {"x": x, "y": y})
        np.testing.assert_array_equal(y, 2 * x)
