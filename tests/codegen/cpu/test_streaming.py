"""Stores past the caches: rows of any beginning and length, whole and right at their edges."""

from __future__ import annotations

import dslc
import numpy as np
import pytest

from support.machines import this_cpu

SCALED = """
kernel scaled(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(0, M, 2)):
        y[m : m + 2, :] = x[m : m + 2, :] * 2.0 + 1.0

kernel softmax(x: f32[M, N], y: out f32[M, N]):
    for m in parallel(range(M)):
        e = exp(x[m, :] - max(x[m, :], 0, keepdims=True))
        y[m, :] = e / sum(e, 0, keepdims=True)
"""


@pytest.mark.parametrize("offset", [0, 1, 5, 16])
@pytest.mark.parametrize(("rows", "columns"), [(33, 40001), (3, 4096), (17, 80000)])
def test_rows_begin_anywhere(rows: int, columns: int, offset: int) -> None:
    """Larger than the caches or not; what stands before and behind the rows is not written."""
    library = dslc.compile(SCALED, target=this_cpu(), cache=False)
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, columns)).astype(np.float32)
    room = np.full(rows * columns + 64, 7, np.float32)
    y = room[offset : offset + rows * columns].reshape(rows, columns)
    library["scaled"](x=x, y=y)
    np.testing.assert_array_equal(y, x * 2 + 1)
    assert (room[:offset] == 7).all()
    assert (room[offset + rows * columns :] == 7).all()


def test_what_is_kept_while_it_is_summed() -> None:
    x = np.random.default_rng(3).normal(size=(5, 1000)).astype(np.float32)
    y = np.zeros_like(x)
    dslc.compile(SCALED, target=this_cpu(), cache=False)["softmax"](x=x, y=y)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)
