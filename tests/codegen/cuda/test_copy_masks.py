"""Asynchronous copies by threads in the emulator: what is out of bounds is zeros, and is not read."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import call


@pytest.mark.parametrize("first", [-5, 0])
def test_rows_out_of_bounds_are_zeros(first: int) -> None:
    text = (
        "kernel k(x: f16[M, 64], y: out f16[P, 64]):\n"
        "    for m in parallel(range(0, P, 32)):\n"
        "        s = shared(f16, [32, 64])\n"
        f"        copy_async(s[:, :], x[m + {first} : m + {first} + 32, :])\n"
        "        commit()\n        wait()\n        sync()\n"
        "        y[m : m + 32, :] = s[:, :]\n"
    )
    x = np.random.default_rng(1).integers(1, 9, (45, 64)).astype(np.float16)
    y = np.full((64, 64), 7, np.float16)
    call("cuda:sm_90a", text, {"x": x, "y": y})
    wanted = np.zeros_like(y)
    wanted[-first : 45 - first] = x[: 64 + first]
    np.testing.assert_array_equal(y, wanted)
