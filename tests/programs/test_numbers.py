"""Arithmetic where it is easily wrong: integers that wrap, logarithms and angles far from 1."""

from __future__ import annotations

import numpy as np
import pytest

from support.machines import MACHINES, call

INTEGERS = """
kernel k(x: i32[N], y: i32[N], a: out i32[N], b: out i32[N]):
    for n in parallel(range(0, N, 16)):
        v = x[n : n + 16]
        w = y[n : n + 16]
        a[n : n + 16] = v * w + v // (w | 1) - abs(v)
        b[n : n + 16] = v % (w | 1) ^ -v
"""
LOGARITHMS = """
kernel k(x: f32[N], a: out f32[N], b: out f32[N]):
    for n in parallel(range(0, N, 16)):
        a[n : n + 16] = log(x[n : n + 16])
        b[n : n + 16] = rsqrt(x[n : n + 16])
"""
ANGLES = """
kernel k(x: f32[N], a: out f32[N], b: out f32[N]):
    for n in parallel(range(0, N, 16)):
        a[n : n + 16] = sin(x[n : n + 16])
        b[n : n + 16] = cos(x[n : n + 16])
"""


@pytest.mark.parametrize("target", MACHINES)
def test_integers_wrap(target: str) -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, 32, dtype=np.int32)
    y = np.random.default_rng(1).integers(-(2**31), 2**31, 32, dtype=np.int32)
    x[:4], y[:4] = -(2**31), (-1, 1, 3, -(2**31))
    a, b = np.zeros_like(x), np.zeros_like(x)
    call(target, INTEGERS, {"x": x, "y": y, "a": a, "b": b})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(a, x * y + x // (y | 1) - abs(x))
        np.testing.assert_array_equal(b, x % (y | 1) ^ -x)


@pytest.mark.parametrize("target", MACHINES)
def test_logarithms_of_all_numbers(target: str) -> None:
    x = np.array(
        [0, 1e-38, 1e-30, 5e-20, 1e-5, 0.9999, 1, 1.0001, 3, 1e5, 1e20, 1e30, 3e38, np.inf, -1, np.nan],
        np.float32,
    )  # fmt: skip
    a, b = np.zeros_like(x), np.zeros_like(x)
    call(target, LOGARITHMS, {"x": x, "a": a, "b": b})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(a, np.log(x.astype(np.float64)), rtol=2e-6, atol=1e-7)
        np.testing.assert_allclose(b, 1 / np.sqrt(x.astype(np.float64)), rtol=2e-6)


@pytest.mark.parametrize("target", MACHINES)
def test_angles_of_many_turns(target: str) -> None:
    x = np.linspace(-40000, 40000, 48, dtype=np.float32)
    a, b = np.zeros_like(x), np.zeros_like(x)
    call(target, ANGLES, {"x": x, "a": a, "b": b})
    np.testing.assert_allclose(a, np.sin(x.astype(np.float64)), atol=2e-6)
    np.testing.assert_allclose(b, np.cos(x.astype(np.float64)), atol=2e-6)


PLACES = """
kernel k(x: f32[M, 8], a: out i32[M], b: out i32[M]):
    for m in parallel(range(0, M, 4)):
        t = x[m : m + 4, :]
        a[m : m + 4] = argmax(t, 1)
        b[m : m + 4] = argmin(t, 1)
"""


@pytest.mark.parametrize("target", MACHINES)
def test_the_first_nan_is_the_extreme(target: str) -> None:
    x = np.random.default_rng(2).integers(-2, 3, (8, 8)).astype(np.float32)
    x[1, 3] = x[2, 6:] = x[3, 0] = x[5, [5, 7]] = x[6] = np.nan
    x[7] = -np.inf
    a, b = np.zeros(8, np.int32), np.zeros(8, np.int32)
    call(target, PLACES, {"x": x, "a": a, "b": b})
    np.testing.assert_array_equal(a, x.argmax(1))
    np.testing.assert_array_equal(b, x.argmin(1))
