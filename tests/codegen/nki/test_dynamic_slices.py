"""Slices that begin at a number from a tile, in range or not: the interpreter's elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dslc
import numpy as np
import pytest

BODIES = {
    "rows": "y[0:4, 0:8] = x[t : t + 4, 0:8]",
    "one row": "y[0, 0:8] = x[t, 0:8]",
    "columns": "y[0:16, 0:4] = x[0:16, t : t + 4]",
    "rows that are written": "y[t : t + 4, 0:8] = x[0:4, 0:8]",
    "rows that are added to": "y[t : t + 4, 0:8] += x[0:4, 0:8]",
    "one number, and what stood there": "y[0, 0] = atomic_add(y[1, t], 2.0)",
    "in a loop": "for j in range(0, 3):\n        y[j : j + 1, 0:8] = x[t + j : t + j + 1, 0:8] + 1.0",
}


def results(path: Path, target: str, start: int) -> Any:
    x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
    y = np.zeros_like(x)
    dslc.compile(path, target=target, cache=False).k(x, np.array([start], np.int32), y)
    return y


@pytest.mark.parametrize("target", ["nki:trn1", "nki:trn2"])
@pytest.mark.parametrize("case", BODIES)
def test_a_slice_at_a_number_of_the_machine(case: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "dynamic.tile"
    head = "kernel k(x: f32[16, 8], at: i32[1], y: inout f32[16, 8]):\n    t = max(at[0:1], 0)\n"
    path.write_text(f"{head}    {BODIES[case]}\n", encoding="utf-8")
    for start in (-2, 3, 6, 14, 40):
        np.testing.assert_array_equal(
            results(path, target, start), results(path, "interp", start), err_msg=str(start)
        )
