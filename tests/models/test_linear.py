"""Products with weights of every form that checkpoints have, beside their dequantised matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import dslc
import numpy as np
import pytest
from dslc.models.kernel_sources import KERNELS
from dslc.models.linear import form_of
from dslc.quantize import Quantized, dequantize, quantize, quantize_mx, quantize_nvfp4

RNG = np.random.default_rng(3)
WEIGHTS = RNG.standard_normal((128, 40)).astype(np.float32)


def with_offsets() -> Quantized:
    made = quantize(WEIGHTS, "u4", 32)
    assert made.zero_points is not None
    scales = made.scales.astype(np.float32)
    return replace(made, zero_points=None, offsets=-scales * made.zero_points)


def with_a_table() -> Quantized:
    made = quantize(WEIGHTS, "u4", 64, "f32")
    return replace(made, zero_points=None, table=np.sort(RNG.standard_normal(16)).astype("f4"))


def past_the_codes() -> Quantized:
    made = quantize(WEIGHTS, "u4", 32)
    return replace(made, zero_points=np.full((4, 40), 16, np.uint8))


FORMS: dict[str, Callable[[], Quantized]] = {
    "i4": lambda: quantize(WEIGHTS, "i4", 32),
    "i8 of a row": lambda: quantize(WEIGHTS, "i8", 128, "f32"),
    "u4": lambda: quantize(WEIGHTS, "u4", 64),
    "u3 in bf16": lambda: quantize(WEIGHTS, "u3", 32, "bf16"),
    "mxfp4": lambda: quantize_mx(WEIGHTS),
    "nvfp4": lambda: quantize_nvfp4(WEIGHTS),
    "f8": lambda: quantize(WEIGHTS, "f8e4m3", 128, "f32"),
    "offsets": with_offsets,
    "table": with_a_table,
    "zero points past the codes": past_the_codes,
    "act-order": lambda: replace(quantize(WEIGHTS, "u4", 32), row_order=RNG.permutation(128)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_product_is_that_with_the_dequantised_matrix(name: str) -> None:
    weight = FORMS[name]()
    form = form_of(weight, "f32")
    kernel = dslc.compile(KERNELS, "interp", define={"T": "f32", **form.constants})[form.kernel]
    x = RNG.standard_normal((3, 128)).astype(np.float32)
    y = np.empty((3, 40), np.float32)
    given = x if form.order is None else np.ascontiguousarray(x[:, form.order])
    kernel(a=given, w=form.codes, c=y, **form.arrays)
    expected = x.astype(np.float64) @ dequantize(weight).astype(np.float64)
    np.testing.assert_allclose(y, expected, atol=2e-5 * np.abs(expected).max())


def test_a_dense_weight_lies_as_torch_has_it() -> None:
    form = form_of(WEIGHTS.T, "f32")
    assert (form.kernel, form.rows, form.columns) == ("linear", 128, 40)
    np.testing.assert_array_equal(form.codes, WEIGHTS)
