"""Cores that run turns past the end of the grid: these touch nothing that the last turn does not."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import call

# Both keep memory on the chip that a turn indexes: a tensor that stays there, and a buffer.
STAYS = """
kernel stays(x: bool[N, M], y: out i16[M, N]):
    for m, n in parallel(range(0, M, 2), range(0, N, 1)):
        some = where(x[0:1, m : m + 1], full(i16, [2, 1], 1), full(i16, [2, 1], 3))
        y[m : m + 2, n : n + 1] = some
"""
BUFFER = """
kernel indexed(x: i32[M], y: out i32[M]):
    for m in parallel(range(0, M, 2)):
        b = buffer(i32, [34])
        b[:] = full(i32, [34], 1)
        b[m : m + 2] = x[m : m + 2]
        y[m : m + 2] = b[m : m + 2] + sum(b[:])
"""


@pytest.mark.parametrize("source", [STAYS, BUFFER])
@pytest.mark.parametrize("rows", [33, 34])
def test_they_stay_within_memory(source: str, rows: int) -> None:
    found, wanted = [], []
    for target, out in (("aie:npu2", found), ("interp", wanted)):
        if source is STAYS:
            args = {
                "x": np.arange(4 * rows).reshape(4, rows) % 3 == 0,
                "y": np.zeros((rows, 4), np.int16),
            }
        else:
            args = {"x": np.arange(rows, dtype=np.int32), "y": np.zeros(rows, np.int32)}
        call(target, source, args)
        out.append(args["y"].tolist())
    assert found == wanted
