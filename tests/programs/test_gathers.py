"""Rows by number of tensors of which other axes are points, or stand beside new axes."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import MACHINES, call

X = np.random.default_rng(0).standard_normal((3, 5, 8)).astype(np.float32)
IDS = np.array([4, 0, 7, 2], np.int32)
ROWS = np.where((IDS < 5)[:, None], X[1][IDS % 5], 0)
WANTED = {
    "gather(x[1, :, 0:8], ids[0:4], 1)": ROWS,
    "gather(x[1, :, 3], ids[0:4], 1)": ROWS[:, 3],
    "gather(x[1, 2, :], ids[0:4], 2)": X[1, 2, IDS],
    "gather(x[None, 1, :, 0:8], ids[0:4], 1)": ROWS[None],
    "gather(x[1, :, None, 0:8], ids[0:4], 1)": ROWS[:, None],
}


@pytest.mark.parametrize("text", WANTED)
@pytest.mark.parametrize("target", ["interp", *MACHINES])
@pytest.mark.sampled(3)
def test_gathered(target: str, text: str) -> None:
    wanted = WANTED[text]
    where = ", ".join(":" * wanted.ndim)
    shape = ", ".join(map(str, wanted.shape))
    source = (
        f"kernel k(x: f32[3, N, 8], ids: i32[4], y: out f32[{shape}]):\n    y[{where}] = {text}\n"
    )
    y = np.zeros(wanted.shape, np.float32)
    call(target, source, {"x": X, "ids": IDS, "y": y})
    np.testing.assert_array_equal(y, wanted)


SCATTERS = """
kernel k(x: f32[3, N, 8], ids: i32[4], y: inout f32[2, N, 8]):
    scatter(y[1, :, 0:8], ids[0:4], gather(x[1, :, 0:8], ids[0:4], 1), 1)
"""


@pytest.mark.parametrize("target", ["interp", *MACHINES])
def test_scattered(target: str) -> None:
    y, wanted = np.zeros((2, 5, 8), np.float32), np.zeros((2, 5, 8), np.float32)
    wanted[1, [4, 0, 2]] = X[1, [4, 0, 2]]
    call(target, SCATTERS, {"x": X, "ids": IDS, "y": y})
    np.testing.assert_array_equal(y, wanted)
