"""A body for turns of one row: where it is made, and that it means the same."""

from __future__ import annotations

import numpy as np
from dslc.compiler.analysis.axis_extents import extents
from dslc.compiler.interpreter import run
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.cpu.single_row import SingleRow

from support.kernels import every, one

GEMM = """
kernel k(a: f32[M, K], b: f32[K, N], c: out f32[M, N]):
    for m, n in parallel(range(0, M, 8), range(0, N, 16)):
        acc = zeros(f32, [8, 16])
        for k in range(0, K, 16):
            acc += dot(a[m : m + 8, k : k + 16], b[k : k + 16, n : n + 16])
        c[m : m + 8, n : n + 16] = acc * 2.0
"""


def test_it_means_the_same() -> None:
    before, after = one(GEMM), SingleRow()(one(GEMM))
    rng = np.random.default_rng(0)
    for m in (1, 8, 9, 10):
        a = rng.standard_normal((m, 20)).astype(np.float32)
        b = rng.standard_normal((20, 21)).astype(np.float32)
        found = []
        for kernel in (before, after):
            c = np.zeros((m, 21), np.float32)
            run(kernel, {"a": a, "b": b, "c": c})
            found.append(c)
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_what_no_store_keeps_ends_the_axis() -> None:
    kernel = one(GEMM)
    ends = extents(kernel)
    (dot,) = every(kernel, ins.Dot)
    assert {axis for value, axis in ends if value is dot.out} == {0, 1}
    assert not any(value is dot.a and axis == 1 for value, axis in ends)
