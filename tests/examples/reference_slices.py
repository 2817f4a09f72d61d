"""References of one row in slices of 7 bits times low-bit integers."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, codes, normal
from near import U32, Array, Near, exact

UNITS = 2.0 ** (7 * np.arange(8) - 24)


def slices(x: Array) -> Array:
    """Integers [M, 8, K] of at most 64 whose sum, times 2^(7 i - 24), is x."""
    left = x.astype(np.float64)
    found = np.zeros((x.shape[0], 8, x.shape[1]), np.int8)
    for i in reversed(range(8)):
        found[:, i] = np.rint(left / UNITS[i])
        left = left - found[:, i] * UNITS[i]
    assert not left.any()
    return found


def rows(rng: Rng, d: Dims) -> Array:
    """Numbers of every size that f16 has, one of which in each row is among the least."""
    x = normal(rng, (d["M"], d["K"]), "f16") * np.exp2(rng.integers(-14, 3, (d["M"], d["K"])))
    x[:, :1] = 2.0**-24
    return x.astype(np.float16)


def slice_rows(rng: Rng, d: Dims, **_: str) -> Problem:
    x = rows(rng, d)
    x[:, 1::7] *= 4096  # up to the greatest
    made, bad = slices(x), np.zeros((d["M"], d["K"] // d["G"]))
    args = {"x": x, "d": np.full(made.shape, -1, np.int8), "bad": blank(bad.shape, "f32")}
    return Problem(args, {"d": exact(made), "bad": exact(bad)})


def product(rng: Rng, d: Dims, weight: str) -> tuple[Array, Array, Array, dict[str, Array], Near]:
    """x, w, s, the output before the call, and what it becomes."""
    x = rows(rng, d)
    w, value = codes(rng, (d["K"], d["N"]), weight)
    s = rng.uniform(0.01, 0.02, (d["K"] // d["G"], d["N"])).astype(np.float16)
    b = value * np.repeat(s.astype(np.float64), d["G"], 0)
    # A row's slices may add up to three times its numbers; each is summed over groups in f32.
    most = 3 * np.abs(x.astype(np.float64)) @ np.abs(b)
    steps = d["K"] // d["G"] + 16
    expected = Near(x.astype(np.float64) @ b, steps * U32 * most).rounded("f16")
    return x, w, s, {"c": blank((d["M"], d["N"]), "f16")}, expected


def gemv_sliced(rng: Rng, d: Dims, weight: str, **_: str) -> Problem:
    x, w, s, c, expected = product(rng, d, weight)
    bad = np.zeros((d["M"], d["K"] // d["G"]), np.float32)
    return Problem({"d": slices(x), "bad": bad, "w": w, "s": s, **c}, {"c": expected})


def gemv_quantized(rng: Rng, d: Dims, weight: str, **_: str) -> Problem:
    x, w, s, c, expected = product(rng, d, weight)
    return Problem({"x": x, "w": w, "s": s, **c}, {"c": expected})
