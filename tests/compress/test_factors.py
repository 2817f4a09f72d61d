"""The factors of a weight: the best of their rank, for the weight and for its inputs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compress import compress_weight, factorize, whitening

RNG = np.random.default_rng(11)
Array = np.ndarray[Any, np.dtype[Any]]


def weight(k: int = 96, n: int = 160) -> Array:
    """Singular values that fall slowly, as those of trained weights do."""
    left, _ = np.linalg.qr(RNG.standard_normal((k, k)))
    right, _ = np.linalg.qr(RNG.standard_normal((n, k)))
    return (left * (1 / np.arange(1, k + 1)) @ right.T).astype(np.float32)


def inputs(rows: int = 400, k: int = 96) -> Array:
    """Activations with a few strong directions, not those of the weight."""
    spread = np.where(np.arange(k) % 7 == 0, 5.0, 0.1)
    return (RNG.standard_normal((rows, k)) * spread @ RNG.standard_normal((k, k))).astype(
        np.float32
    )


def miss(x: Array, w: Array, u: Array, v: Array) -> float:
    return float(np.linalg.norm(x @ (w - u @ v)) / np.linalg.norm(x @ w))


def test_without_inputs_the_error_is_that_of_the_dropped_singular_values() -> None:
    w = weight()
    found = factorize(w, 32)
    values = np.linalg.svd(w.astype(np.float64), compute_uv=False)
    want = np.sqrt((values[32:] ** 2).sum() / (values**2).sum())
    assert found.error == pytest.approx(want, rel=1e-5)
    assert found.weight_error == found.error
    assert found.u.shape == (96, 32)
    assert found.v.shape == (32, 160)
    assert found.u.dtype == w.dtype


def test_with_inputs_the_reported_error_is_the_error_over_them() -> None:
    w, x = weight(), inputs()
    found = factorize(w, 32, whitening(x))
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    assert found.error == pytest.approx(miss(x64, w64, found.u, found.v), rel=1e-4)


def test_with_inputs_no_factors_near_by_are_better() -> None:
    """Eckart and Young: stationary and below the plain decomposition."""
    w, x = weight().astype(np.float64), inputs().astype(np.float64)
    found, plain = factorize(w, 32, whitening(x)), factorize(w, 32)
    best = miss(x, w, found.u, found.v)
    assert best < 0.8 * miss(x, w, plain.u, plain.v)
    for _ in range(20):
        u = found.u + 1e-3 * RNG.standard_normal(found.u.shape)
        v = found.v + 1e-3 * RNG.standard_normal(found.v.shape)
        assert miss(x, w, u, v) > best


def test_a_full_rank_loses_nothing() -> None:
    w = weight()
    assert factorize(w, 96, whitening(inputs())).weight_error < 1e-5


def test_whitening_is_the_cholesky_factor_of_the_covariance() -> None:
    x = inputs(400).astype(np.float64)
    s = whitening(x.reshape(4, 100, 96))
    np.testing.assert_allclose(s @ s.T, x.T @ x, rtol=1e-9, atol=1e-6)
    assert np.array_equal(s, np.tril(s))
    assert (np.diag(s) > 0).all()


def test_fewer_inputs_than_columns_still_have_a_factor() -> None:
    x = inputs(20).astype(np.float64)
    s = whitening(x)
    assert np.abs(s @ s.T - x.T @ x).max() < 1e-5 * np.abs(x.T @ x).max()
    w = weight()
    assert factorize(w, 32, s).error < 1e-4  # 20 inputs span 20 directions


def test_factors_keep_the_weights_dtype() -> None:
    found = compress_weight(weight(256, 256).astype(ml_dtypes.bfloat16), 0.4, 32)
    assert found.u.dtype == found.v.dtype == ml_dtypes.bfloat16
    assert found.rank == 64


@pytest.mark.parametrize(
    "wrong", [np.zeros((5, 96)), np.full((5, 96), np.nan), np.zeros(96), np.ones((5, 7))]
)
def test_inputs_that_are_none(wrong: Array) -> None:
    with pytest.raises(DiagnosticError, match="DSL0798"):
        compress_weight(weight(), 0.2, 16, wrong)
