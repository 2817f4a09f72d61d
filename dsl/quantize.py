"""Weights to codes with group scales, and back: what the quantised products take.

A group is `group` rows of one column, as in `s: f16[K // G, N]`. Integers with a sign and floats are
quantised symmetrically: w ~ code * scale. Unsigned integers get a zero point of the weights' own type:
w ~ (code - zero) * scale (Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference", CVPR 2018, section 2.1).

`quantize_mx` gives the MX formats (OCP Microscaling Formats Specification 1.0: a scale e8m0 for 32
rows), `quantize_nvfp4` 4-bit floats with scales of 8 bits for 16 rows and one of the whole tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, decode, encode, limits, parse_dtype, storage_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Quantized:
    """A quantised matrix: `codes` [K, N], `scales` [K // group, N] and, unsigned, `zero_points`.

    Arrays follow the storage convention of a call: integers are their values, floats of 8 bits and
    fewer their bit patterns. `zero_points` has the shape of `scales`; here it is of the type of the
    codes, and None for symmetric types. All is to be multiplied by `tensor_scale`, a number of f32.

    Checkpoints of others (`dslc.checkpoints`) have three more forms. A zero point may lie one past the
    codes (GPTQ's 16 of u4), in uint8. `offsets`, of the shape of `scales`, are added to the scaled
    codes. `table` is what a code stands for, f32 [2**bits]. With `row_order` row r of the codes
    multiplies input `row_order[r]`: `x[:, row_order] @ w`, as GPTQ's act-order asks for.
    """

    dtype: DType
    scale_dtype: DType
    group: int
    codes: Array
    scales: Array
    zero_points: Array | None
    tensor_scale: float = 1.0
    offsets: Array | None = None
    table: Array | None = None
    row_order: Array | None = None


def quantize(
    weights: Array, dtype: DType | str, group: int = 128, scale_dtype: DType | str = "f16"
) -> Quantized:
    """Quantise a float matrix [K, N] in groups of `group` rows of a column, rounding to nearest.

    The scale is rounded to `scale_dtype` first, so that the codes make up for its rounding. A group
    of zeros has codes of zero. Errors (DSL0790): not a matrix of finite numbers, rows that the group
    does not divide, a dtype that has no codes to choose from, scales out of their dtype's range.
    """
    target, scale_type = _dtype(dtype), _float(scale_dtype)
    if not (target.is_integer or target.kind is Kind.FLOAT) or target.bits > 8:
        raise error(
            "DSL0790", f"weights cannot be quantised to {target}", hint="u1..u8, i1..i8, fNeXmY"
        )
    groups = _in_groups(weights, group)
    least, greatest = float(limits(target).least), float(limits(target).greatest)
    if target.kind is Kind.UINT:
        low = np.minimum(groups.min(axis=1), 0.0)
        span = np.maximum(groups.max(axis=1), 0.0) - low
        scales = _scales(span / greatest, scale_type)
        zeros = np.rint(-low / decode(scales, scale_type)).clip(0, greatest)
    else:
        # i1 holds -1 and 0: its one step is the whole span.
        steps = max(greatest, 1.0)
        scales = _scales(np.abs(groups).max(axis=1) / steps, scale_type)
        zeros = np.zeros(scales.shape)
    scaled = groups / decode(scales, scale_type)[:, None, :].astype(np.float64)
    if target.is_integer:
        scaled = (np.rint(scaled) + zeros[:, None, :]).clip(least, greatest).astype(np.int64)
    codes = encode(scaled, target, saturate=True).reshape(weights.shape)
    points = zeros.astype(storage_dtype(target)) if target.kind is Kind.UINT else None
    # Row-major, as kernels take them, also of weights that are a transposed view.
    codes, scales = np.ascontiguousarray(codes), np.ascontiguousarray(scales)
    if points is not None:
        points = np.ascontiguousarray(points)
    return Quantized(target, scale_type, group, codes, scales, points)


def quantize_mx(weights: Array, dtype: DType | str = "f4e2m1") -> Quantized:
    """Elements with a power of two for 32 rows of a column (MX): f4e2m1, f6e2m3, f6e3m2, f8e4m3, ...

    The power is the least that clips nothing. Of `i8` the specification takes code / 64: its scales
    are 2^6 times these. Errors as of `quantize`.
    """
    return quantize(weights, dtype, 32, "e8m0")


def quantize_nvfp4(weights: Array, group: int = 16) -> Quantized:
    """f4e2m1 with scales of f8e4m3 for `group` rows of a column and one of f32 for the tensor (NVFP4).

    `tensor_scale` brings the greatest scale to the greatest number of f8e4m3; of zeros it is 1. Errors
    as of `quantize`.
    """
    element, scale = _dtype("f4e2m1"), _dtype("f8e4m3")
    greatest = np.abs(_in_groups(weights, group)).max(initial=0.0)
    most = float(limits(element).greatest) * float(limits(scale).greatest)
    factor = float(np.float32(greatest / most)) or 1.0
    # A quotient just past the range, by the factor's rounding, has the range's end for its scale.
    scaled = np.clip(weights.astype(np.float64) / factor, -most, most)
    return replace(quantize(scaled, element, group, scale), tensor_scale=factor)


def dequantize(quantized: Quantized) -> Array:
    """The matrix that the codes stand for, float32 [K, N], its rows in the order of the inputs."""
    rows, columns = quantized.codes.shape
    shape = (rows // quantized.group, quantized.group, columns)
    if quantized.table is not None:
        values = quantized.table.astype(np.float32)[quantized.codes].reshape(shape)
    else:
        values = decode(quantized.codes, quantized.dtype).astype(np.float32).reshape(shape)
    if quantized.zero_points is not None:
        values = values - quantized.zero_points[:, None, :].astype(np.float32)
    scales = decode(quantized.scales, quantized.scale_dtype).astype(np.float32)
    whole = values * scales[:, None, :] * np.float32(quantized.tensor_scale)
    if quantized.offsets is not None:
        whole += quantized.offsets[:, None, :].astype(np.float32)
    matrix = np.asarray(whole.reshape(rows, columns))
    if quantized.row_order is None:
        return matrix
    ordered = np.empty_like(matrix)
    ordered[quantized.row_order] = matrix
    return ordered


def _dtype(dtype: DType | str) -> DType:
    found = parse_dtype(dtype) if isinstance(dtype, str) else dtype
    if found is None:
        raise error("DSL0790", f"there is no dtype {dtype!r}", hint="u4, i6, f6e3m2, ...")
    return found


def _float(dtype: DType | str) -> DType:
    found = _dtype(dtype)
    if not found.is_float:
        raise error("DSL0790", f"scales are floats, not {found}", hint="f16, bf16, f32 or e8m0")
    return found


def _in_groups(weights: Array, group: int) -> Array:
    """The weights as float64 [K // group, group, N]."""
    if weights.ndim != 2:
        raise error("DSL0790", f"weights to quantise are a matrix [K, N], not {weights.ndim}-d")
    rows, columns = weights.shape
    if group < 1 or rows % group or not rows:
        raise error("DSL0790", f"a group of {group} rows does not divide the {rows} rows")
    values = weights.astype(np.float64)
    if not np.isfinite(values).all():
        raise error("DSL0790", "weights to quantise must be finite; there are inf or NaN")
    return values.reshape(rows // group, group, columns)


def _scales(exact: Array, dtype: DType) -> Array:
    """The scales in storage of their dtype: never zero, and one for a group of zeros."""
    if float(exact.max(initial=0.0)) > limits(dtype).greatest:
        raise error("DSL0790", f"a scale of {exact.max():.3g} is past the range of {dtype}")
    exact = np.where(exact == 0, 1.0, exact)
    if dtype.kind is Kind.SCALE:
        exact = np.exp2(np.ceil(np.log2(exact)))  # the power of two below would clip
    rounded = decode(encode(exact, dtype), dtype).astype(np.float64)
    smallest = limits(dtype).smallest_subnormal or limits(dtype).smallest_normal
    assert smallest is not None, dtype
    return encode(np.where(rounded == 0, smallest, rounded), dtype)
