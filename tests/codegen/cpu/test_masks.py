"""Masks of chunks that end within a register, where a row of a tensor may be out of bounds as well."""

from __future__ import annotations

import dslc
import numpy as np

from support.machines import this_cpu

SPARSE = """
kernel extremes(x: i32[M, 1, 3], y: out i32[M]):
    y[0:3] = min(max(x[0:3, 0:3, 0:16], 2), 1)
"""


def test_rows_past_the_end_are_not_read() -> None:
    """LLVM 22 read the upper half of such a chunk without its mask on AVX2."""
    x = np.arange(1, 10, dtype=np.int32).reshape(3, 1, 3)
    y = np.full(3, -1, np.int32)
    dslc.compile(SPARSE, target=this_cpu())["extremes"](x, y)
    assert (y == 0).all()
