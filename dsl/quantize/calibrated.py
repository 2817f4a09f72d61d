"""Weights to codes so that a product's results change least, not the weights themselves.

Frantar, Ashkboos, Hoefler, Alistarh, "GPTQ: Accurate Post-Training Quantization for Generative
Pre-trained Transformers", ICLR 2023, section 3.3 and Algorithm 1: rows of a matrix [K, N] are rounded
one after another, and what rounding a row does to the results is made up for by the rows that are
still floats, as the second moments of the inputs say.
"""

from __future__ import annotations

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, decode, storage_dtype
from dslc.quantize.nearest import (
    Array,
    Quantized,
    check_groups,
    finite_floats,
    group_parameters,
    nearest_codes,
    rounding_dtypes,
)

_ROWS = 128  # rounded before what they do to the others is added up: one matrix product
_DAMPING = 0.01  # of the mean of the moments' diagonal (the paper's section 3.3, step 3)
_SMALL = 256


def quantize_calibrated(
    weights: Array,
    moments: Array,
    dtype: DType | str,
    group: int = 128,
    scale_dtype: DType | str = "f16",
) -> Quantized:
    """Quantise a float matrix [K, N] for inputs x [..., K] whose X^T X is `moments` [K, K].

    The codes have the form of `dslc.quantize.quantize`: groups of `group` rows of a column, whose
    scales and zero points follow from the weights as the rows before have left them. Inputs that are
    always 0 change nothing. Takes some K^3 / 1.5 + K^2 N multiplications. Errors (DSL0790) as of
    `quantize`, and moments of another shape or that are not finite.
    """
    target, scale_type = rounding_dtypes(dtype, scale_dtype)
    check_groups(weights, group)
    rows, columns = weights.shape
    factor = _inverse_factor(moments, rows)
    left = finite_floats(weights)
    codes = np.empty((rows, columns), storage_dtype(target))
    scales = np.empty((rows // group, columns), storage_dtype(scale_type))
    zeros = np.empty(scales.shape)
    step = group * max(1, _ROWS // group)
    for start in range(0, rows, step):
        stop = min(start + step, rows)
        errors = np.empty((stop - start, columns), left.dtype)
        for row in range(start, stop):
            own = row // group
            if row % group == 0:
                whole = left[row : row + group].T
                scales[own], zeros[own] = group_parameters(whole, target, scale_type)
            codes[row] = nearest_codes(
                left[row].copy(), scales[own], zeros[own], target, scale_type
            )
            kept = (decode(codes[row], target) - zeros[own]) * decode(scales[own], scale_type)
            errors[row - start] = (left[row] - kept) / factor[row, row]
            left[row + 1 : stop] -= np.outer(factor[row, row + 1 : stop], errors[row - start])
        left[stop:] -= factor[start:stop, stop:].T @ errors
    points = zeros.astype(codes.dtype) if target.kind is Kind.UINT else None
    return Quantized(target, scale_type, group, codes, scales, points)


def _inverse_factor(moments: Array, rows: int) -> Array:
    """U, upper triangular with a positive diagonal, with U^T U the inverse of the damped moments.

    With the rows and columns of H reversed, Cholesky's factor is one R of H = R R^T that is upper
    triangular, so that U is R's inverse: H itself needs no inverse.
    """
    if moments.shape != (rows, rows) or not np.isfinite(moments).all():
        raise error("DSL0790", f"second moments are finite numbers [{rows}, {rows}]")
    damped = moments.astype(np.float64)
    mean = float(np.trace(damped)) / rows
    damped[np.diag_indices(rows)] += _DAMPING * mean if mean > 0 else 1.0
    upper = np.linalg.cholesky(damped[::-1, ::-1])[::-1, ::-1]
    return _inverse_of_upper(upper).astype(np.float32)


def _inverse_of_upper(matrix: Array) -> Array:
    """By halves: most of it is products."""
    size = len(matrix)
    if size <= _SMALL:
        return np.asarray(np.triu(np.linalg.inv(matrix)))
    half = size // 2
    first, last = _inverse_of_upper(matrix[:half, :half]), _inverse_of_upper(matrix[half:, half:])
    inverse = np.zeros_like(matrix)
    inverse[:half, :half], inverse[half:, half:] = first, last
    inverse[:half, half:] = -first @ (matrix[:half, half:] @ last)
    return inverse
