"""Products whose groups along k have scales of their own, for tests of running sums."""

from __future__ import annotations

import numpy as np
from dslc.compiler.dtypes.storage import Array
from dslc.compiler.ir import Kernel

from support.kernels import one


def grouped(tile: tuple[int, int, int], dtype: str = "f16", update: str | None = None) -> Kernel:
    """c = sum over groups of (a @ b) * s, a group a step of k; `update` is how sums are updated."""
    rows, columns, depth = tile
    update = update or "fma(part, s[k // G, n : n + BN], acc)"
    text = f"""
kernel grouped(a: {dtype}[M, K], b: {dtype}[N, K], s: f32[K // G, N], c: out f32[M, N]):
    const G = {depth}
    const BM = {rows}
    const BN = {columns}
    require M % 16 == 0 and N % BN == 0 and K % G == 0

    for m, n in parallel(range(0, M, BM), range(0, N, BN)):
        acc = zeros(f32, [BM, BN])
        for k in range(0, K, G):
            part = dot(a[m : m + BM, k : k + G], b[n : n + BN, k : k + G], transposed="b")
            acc = {update}
        c[m : m + BM, n : n + BN] = acc
"""
    return one(text)


def operands(m: int, n: int, k: int, depth: int) -> dict[str, Array]:
    """Whole numbers and scales that are powers of two, so that every order of sums gives the same."""
    rng = np.random.default_rng(m + n + k)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((m, k), (n, k)))
    s = np.exp2(rng.integers(-2, 3, (k // depth, n))).astype(np.float32)
    return {"a": a, "b": b, "s": s, "c": np.full((m, n), np.nan, np.float32)}


def expected(given: dict[str, Array]) -> Array:
    """What c is to be."""
    a, b, s = (given[name].astype(np.float64) for name in "abs")
    wanted = np.zeros(given["c"].shape)
    for i, scales in enumerate(s):
        depth = a.shape[1] // len(s)
        step = slice(i * depth, (i + 1) * depth)
        wanted += a[:, step] @ b[:, step].T * scales
    return wanted.astype(np.float32)
