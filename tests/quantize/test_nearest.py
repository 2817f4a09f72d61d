"""Quantisation: the nearest code in every type, exactness where it must be exact, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import F16, DType, Kind, all_dtypes, decode, parse_dtype
from dslc.quantize import dequantize, quantize, quantize_mx, quantize_nvfp4
from hypothesis import given, settings
from hypothesis import strategies as st

TYPES = [d for d in all_dtypes() if d.bits <= 8 and d.kind in (Kind.INT, Kind.UINT, Kind.FLOAT)]


def random_weights(seed: int = 0, rows: int = 256, columns: int = 24) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


def levels(dtype: DType) -> np.ndarray:
    """Every finite value of the dtype."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8)
    if dtype.is_integer:
        least, greatest = dtype.integer_range
        return np.arange(least, greatest + 1, dtype=np.float64)
    values = decode(codes, dtype).astype(np.float64)
    return np.unique(values[np.isfinite(values)])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_code_is_the_nearest_to_its_weight(dtype: DType) -> None:
    weights = random_weights()
    made = quantize(weights, dtype, 64)
    scale = decode(made.scales, F16).astype(np.float64)
    zero = 0.0 if made.zero_points is None else made.zero_points.astype(np.float64)
    every = (levels(dtype)[:, None, None] - zero) * scale  # what a code of each group stands for
    every = np.repeat(every, 64, axis=1)
    nearest = np.abs(every - weights).min(axis=0)
    gap = np.abs(dequantize(made).astype(np.float64) - weights)
    assert (gap <= nearest + 1e-6).all()


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f6e3m2", "f8e4m3", "f4e2m1"])
def test_more_groups_lose_less(dtype: str) -> None:
    weights = random_weights(1)
    coarse, fine = (
        np.square(dequantize(quantize(weights, dtype, g)) - weights).mean() for g in (256, 16)
    )
    assert fine < coarse


@settings(max_examples=40)
@given(st.sampled_from(["u3", "u4", "i3", "i6", "f6e3m2", "f5e2m2"]), st.integers(0, 2**32 - 1))
def test_quantising_what_was_dequantised_gives_it_back(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = parse_dtype(dtype)
    assert known is not None
    grid = levels(known)
    grid = grid[grid >= -grid[-1]]  # symmetric: the one code more below zero is not used
    codes = rng.choice(grid, (32, 4))
    codes[0], codes[1] = grid[-1], (0 if known.kind is Kind.UINT else -grid[-1])
    weights = codes * 2.0 ** rng.integers(-8, 8)  # a power of two is exact in f16
    made = quantize(weights, dtype, 32)
    assert np.array_equal(dequantize(made), weights.astype(np.float32))


def test_a_group_of_zeros_stays_zero() -> None:
    for dtype in TYPES:
        made = quantize(np.zeros((8, 2), np.float32), dtype, 4)
        assert not dequantize(made).any()
        assert np.isfinite(made.scales.astype(np.float32)).all()


def test_tiny_weights_do_not_divide_by_zero() -> None:
    made = quantize(np.full((4, 1), 1e-12, np.float32), "i4", 4)
    assert (decode(made.scales, F16) > 0).all()
    assert np.abs(dequantize(made)).max() < 1e-6


@pytest.mark.parametrize("scale_dtype", ["f16", "bf16", "f32", "e8m0"])
def test_scales_of_other_types(scale_dtype: str) -> None:
    weights = random_weights(2)
    made = quantize(weights, "i8", 64, scale_dtype)
    assert np.abs(dequantize(made) - weights).max() < 0.05


@pytest.mark.parametrize(
    ("weights", "dtype", "group", "words"),
    [
        (np.zeros(8), "u4", 4, "matrix"),
        (np.zeros((6, 2)), "u4", 4, "does not divide"),
        (np.zeros((4, 2)), "u4", 0, "does not divide"),
        (np.full((4, 2), np.nan), "u4", 4, "finite"),
        (np.full((4, 2), 1e9), "i2", 4, "range of f16"),
        (np.zeros((4, 2)), "f16", 4, "cannot be quantised"),
        (np.zeros((4, 2)), "e8m0", 4, "cannot be quantised"),
        (np.zeros((4, 2)), "u9", 4, "no dtype"),
    ],
)
def test_refusals(weights: np.ndarray, dtype: str, group: int, words: str) -> None:
    with pytest.raises(DiagnosticError, match=words):
        quantize(weights, dtype, group)


@pytest.mark.parametrize("name", ["f4e2m1", "f6e2m3", "f6e3m2", "f8e4m3", "f8e5m2", "i8"])
def test_mx_scales_are_the_least_powers_that_clip_nothing(name: str) -> None:
    weights = random_weights() * np.exp2(np.random.default_rng(1).integers(-20, 20, (1, 24)))
    made = quantize_mx(weights, name)
    assert (made.group, made.scale_dtype.name, made.tensor_scale) == (32, "e8m0", 1.0)
    assert made.scales.shape == (8, 24)
    dtype = parse_dtype(name)
    assert dtype is not None
    most = levels(dtype)[-1]
    scale = np.exp2(made.scales.astype(np.float64) - 127)
    greatest = np.abs(weights.reshape(8, 32, 24)).max(axis=1)
    assert (greatest <= most * scale).all()
    assert (greatest > most * scale / 2).all()
    values = decode(made.codes, dtype).astype(np.float64) * np.repeat(scale, 32, 0)
    np.testing.assert_array_equal(values, dequantize(made))


@pytest.mark.parametrize("factor", [1e-30, 1.0, 3e4])
def test_nvfp4_scales_use_the_range_of_theirs(factor: float) -> None:
    weights = random_weights().astype(np.float64) * factor
    made = quantize_nvfp4(weights)
    assert (made.group, made.dtype.name, made.scale_dtype.name) == (16, "f4e2m1", "f8e4m3")
    scale = decode(made.scales, made.scale_dtype).astype(np.float64)
    assert scale.max() == 448
    found = dequantize(made).astype(np.float64)
    # Half a step of the greatest codes, and what rounding the scale clips: 1 part in 16.
    most = np.repeat(np.abs(weights.reshape(16, 16, 24)).max(axis=1), 16, 0)
    assert (np.abs(found - weights) <= most * (1 / 6 + 1 / 16)).all()
    assert np.linalg.norm(found - weights) < 0.11 * np.linalg.norm(weights)
    whole = made.tensor_scale * np.repeat(scale, 16, 0)
    np.testing.assert_allclose(
        found, decode(made.codes, made.dtype).astype(float) * whole, rtol=1e-6
    )


def test_nvfp4_of_zeros_is_zeros() -> None:
    made = quantize_nvfp4(np.zeros((32, 4)))
    assert made.tensor_scale == 1.0
    assert not dequantize(made).any()
    with pytest.raises(DiagnosticError, match="does not divide"):
        quantize_nvfp4(np.zeros((40, 4)))


@pytest.mark.parametrize("dtype", ["u4", "i6", "f6e3m2"])
def test_of_a_transposed_view_all_parts_are_row_major(dtype: str) -> None:
    weights = np.random.default_rng(0).standard_normal((24, 64)).astype(np.float32).T
    made = quantize(weights, dtype, 32)
    parts = [made.codes, made.scales] + ([] if made.zero_points is None else [made.zero_points])
    assert all(part.flags.c_contiguous for part in parts)
    same = quantize(np.ascontiguousarray(weights), dtype, 32)
    np.testing.assert_array_equal(made.codes, same.codes)
    np.testing.assert_array_equal(made.scales, same.scales)
