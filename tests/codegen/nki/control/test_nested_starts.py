"""Loops within loops that the machine bounds: starts, and what is handed on, come from counters."""

from __future__ import annotations

import dslc
import numpy as np
import pytest

HEAD = "kernel k(b: i32[1], x: f32[64], y: inout f32[64]):\n    v = b[0]\n"
NESTS = {
    "up": """
    for m in range(v, 64, 16):
        for n in range(m, 64, 32):
            y[n : n + 4] = y[n : n + 4] + x[n : n + 4]
""",
    "down": """
    for m in range(v, 64, 16):
        for n in range(m, -1, -16):
            y[n : n + 4] = y[n : n + 4] + x[n : n + 4]
""",
    "from a counter": """
    for m in range(0, v, 16):
        for n in range(m, 64, 32):
            for j in range(n + 1, 64, 16):
                y[j : j + 4] = y[j : j + 4] + x[j : j + 4]
""",
    "carried from a counter": """
    for m in range(0, v, 16):
        s = m
        for n in range(0, 3):
            s += 2
        for n in range(s, 64, 32):
            y[n : n + 4] = y[n : n + 4] + x[n : n + 4]
""",
}


@pytest.mark.parametrize("bound", [0, 5, 40])
@pytest.mark.parametrize("name", NESTS)
def test_the_machine_counts_as_the_interpreter_does(name: str, bound: int) -> None:
    results = []
    for target in ("interp", "nki:trn2"):
        kernel = dslc.compile(HEAD + NESTS[name].lstrip("\n"), target=target, cache=False)["k"]
        y = np.zeros(64, np.float32)
        kernel(np.array([bound], np.int32), np.arange(64, dtype=np.float32), y)
        results.append(y)
    np.testing.assert_array_equal(*results)
