"""Codes by second moments: products change less, and no other rounding of the last row is better."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.quantize import dequantize, quantize, quantize_calibrated

K, N = 96, 40


def drawn() -> tuple[np.ndarray, np.ndarray]:
    """Inputs of few directions with some noise, and weights."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 8)) @ rng.normal(size=(8, K)) + 0.2 * rng.normal(size=(500, K))
    return x, rng.normal(size=(K, N)).astype(np.float32)


@pytest.mark.parametrize(
    ("dtype", "group", "scale"),
    [
        ("u4", 32, "f16"),
        ("i4", 96, "bf16"),
        ("u2", 16, "f16"),
        ("i3", 8, "f32"),
        ("u5", 24, "f16"),
        ("f4e2m1", 32, "e8m0"),
        ("f6e3m2", 48, "f16"),
        ("i1", 96, "f16"),
    ],
)
def test_results_of_the_product_change_less(dtype: str, group: int, scale: str) -> None:
    x, w = drawn()
    nearest, fitted = (
        dequantize(quantized)
        for quantized in (
            quantize(w, dtype, group, scale),
            quantize_calibrated(w, x.T @ x, dtype, group, scale),
        )
    )
    before, after = (np.linalg.norm(x @ (w - given)) for given in (nearest, fitted))
    assert after < (0.8 if dtype == "i1" else 0.5) * before


def test_inputs_that_say_nothing_of_each_other_give_the_nearest_codes() -> None:
    _, w = drawn()
    for moments in (np.eye(K), np.zeros((K, K)), np.diag(np.arange(K, dtype=float))):
        fitted, nearest = quantize_calibrated(w, moments, "u4", 32), quantize(w, "u4", 32)
        np.testing.assert_array_equal(fitted.codes, nearest.codes)
        np.testing.assert_array_equal(fitted.scales, nearest.scales)
        np.testing.assert_array_equal(fitted.zero_points, nearest.zero_points)


def test_codes_lie_in_their_range() -> None:
    x, w = drawn()
    found = quantize_calibrated(100 * w, x.T @ x, "i3", 32)
    assert found.codes.min() >= -4
    assert found.codes.max() <= 3
    assert found.zero_points is None


@pytest.mark.parametrize(
    ("moments", "dtype", "group"),
    [
        (np.eye(K + 1), "u4", 32),
        (np.full((K, K), np.nan), "u4", 32),
        (np.eye(K), "f16", 32),
        (np.eye(K), "u4", 7),
        (np.eye(K), "u4", 0),
    ],
)
def test_what_cannot_be_rounded_is_refused(moments: np.ndarray, dtype: str, group: int) -> None:
    with pytest.raises(DiagnosticError, match="DSL0790"):
        quantize_calibrated(drawn()[1], moments, dtype, group)
