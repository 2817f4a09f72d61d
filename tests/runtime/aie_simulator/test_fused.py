"""Fused products and sums of f32, against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from dslc.runtime.aie_simulator.cores.fused import fused


def _nearest(exact: Fraction) -> np.float32:
    """The nearest f32, ties to even, of a number in the normal range."""
    near = np.float32(float(exact))
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    return min(around, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view(np.uint32)) & 1))


def test_they_round_once() -> None:
    rng = np.random.default_rng(7)
    x, y, z = rng.integers(1, 1 << 24, (3, 400)).astype(np.float32)
    z *= np.exp2(rng.integers(-30, 31, 400)).astype(np.float32) * rng.choice((-1, 1), 400)
    x[:2], y[:2], z[:2] = 1 + 2**-12, 1 + 2**-12, (2**-30, -(2**-30))  # around a tie of f32
    found = fused(x, y, z)
    exact = [
        Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        for a, b, c in zip(x, y, z, strict=True)
    ]
    assert found.tolist() == [float(_nearest(e)) for e in exact]
    assert fused(x[0], y[0], z[0]) == found[0]
    assert (found != x * y + z).any()


def test_what_is_no_number_stays() -> None:
    inf = np.float32(np.inf)
    found = fused(
        np.array([inf, inf, 2, 3e38]), np.array([1, 1, inf, 9]), np.array([1, -inf, 0, 0])
    )
    np.testing.assert_array_equal(found, np.array([inf, np.nan, inf, inf], np.float32))
