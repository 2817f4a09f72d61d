"""Each weight to the nearest code, with group scales, and back.

A group is `group` rows of one column, as in `s: f16[K // G, N]`. Integers with a sign and floats are
quantised symmetrically: w ~ code * scale. Unsigned integers get a zero point of the weights' own type:
w ~ (code - zero) * scale (Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference", CVPR 2018, section 2.1).

`quantize_mx` gives the MX formats (OCP Microscaling Formats Specification 1.0: a scale e8m0 for 32
rows), `quantize_nvfp4` 4-bit floats with scales of 8 bits for 16 rows and one of the whole tensor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.dtypes import DType, Kind, decode, encode, limits, parse_dtype, storage_dtype

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_BLOCK = 1 << 18  # weights at a time: what they become stays in a core's cache
_SQUARE = 256
_THREADS = 16


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
    target, scale_type = rounding_dtypes(dtype, scale_dtype)
    check_groups(weights, group)
    rows, columns = weights.shape
    shape = (columns, rows // group)
    # Codes as torch has weights, [N, K]: a group then lies in one piece.
    codes = np.empty((columns, rows), storage_dtype(target))
    scales = np.empty(shape, storage_dtype(scale_type))
    points = np.empty(shape, codes.dtype) if target.kind is Kind.UINT else None

    def fill(start: int) -> None:
        block = slice(start, start + step)
        values = finite_floats(weights[:, block].T).reshape(-1, rows // group, group)
        quantized, scales[block], zeros = _rounded(values, target, scale_type)
        codes[block] = quantized.reshape(-1, rows)
        if points is not None:
            points[block] = zeros

    step = max(1, _BLOCK // rows)
    _for_each(fill, range(0, columns, step))
    return Quantized(
        target,
        scale_type,
        group,
        transposed(codes),
        np.ascontiguousarray(scales.T),
        None if points is None else np.ascontiguousarray(points.T),
    )


def _rounded(groups: Array, target: DType, scale_type: DType) -> tuple[Array, Array, Array]:
    """Codes of floats [N, K // group, group], their scales and zero points; `groups` is scratch."""
    scales, zeros = group_parameters(groups, target, scale_type)
    return (
        nearest_codes(groups, scales[..., None], zeros[..., None], target, scale_type),
        scales,
        zeros,
    )


def group_parameters(groups: Array, target: DType, scale_type: DType) -> tuple[Array, Array]:
    """The scales of floats [..., group], in storage of their dtype, and zero points of the codes."""
    greatest = float(limits(target).greatest)
    if target.kind is Kind.UINT:
        low = np.minimum(groups.min(axis=-1), 0.0)
        span = np.maximum(groups.max(axis=-1), 0.0) - low
        scales = _scales(span / greatest, scale_type)
        return scales, np.rint(-low / decode(scales, scale_type)).clip(0, greatest)
    # i1 holds -1 and 0: its one step is the whole span.
    steps = max(greatest, 1.0)
    scales = _scales(np.maximum(groups.max(axis=-1), -groups.min(axis=-1)) / steps, scale_type)
    return scales, np.zeros(scales.shape)


def nearest_codes(
    values: Array, scales: Array, zeros: Array, target: DType, scale_type: DType
) -> Array:
    """The codes next to `values`, which are scratch, in storage; scales and zeros are broadcast."""
    values /= decode(scales, scale_type).astype(values.dtype)
    if not target.is_integer:
        return encode(values, target, saturate=True)
    np.rint(values, out=values)
    if zeros.any():
        values += zeros.astype(values.dtype)
    np.clip(values, float(limits(target).least), float(limits(target).greatest), out=values)
    return values.astype(storage_dtype(target))


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
    check_groups(weights, group)
    greatest = np.abs(finite_floats(weights)).max(initial=0.0)
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
    known = parse_dtype(dtype) if isinstance(dtype, str) else dtype
    if known is None:
        raise error("DSL0790", f"there is no dtype {dtype!r}", hint="u4, i6, f6e3m2, ...")
    return known


def rounding_dtypes(dtype: DType | str, scale_dtype: DType | str) -> tuple[DType, DType]:
    """The dtypes of codes and of scales by name; DSL0790 for what is none."""
    target, scale_type = _dtype(dtype), _float(scale_dtype)
    if not (target.is_integer or target.kind is Kind.FLOAT) or target.bits > 8:
        raise error(
            "DSL0790", f"weights cannot be quantised to {target}", hint="u1..u8, i1..i8, fNeXmY"
        )
    return target, scale_type


def _float(dtype: DType | str) -> DType:
    scale = _dtype(dtype)
    if not scale.is_float:
        raise error("DSL0790", f"scales are floats, not {scale}", hint="f16, bf16, f32 or e8m0")
    return scale


def check_groups(weights: Array, group: int) -> None:
    """DSL0790 where weights are no matrix [K, N], or the groups do not divide K."""
    if weights.ndim != 2:
        raise error("DSL0790", f"weights to quantise are a matrix [K, N], not {weights.ndim}-d")
    rows = weights.shape[0]
    if group < 1 or rows % group or not rows:
        raise error("DSL0790", f"a group of {group} rows does not divide the {rows} rows")


def finite_floats(weights: Array) -> Array:
    """A row-major copy in float32, or in float64 what float32 cannot hold. DSL0790 for inf and NaN."""
    exact = weights.dtype.itemsize <= 2 or weights.dtype == np.float32
    values = np.array(weights, np.float32 if exact else np.float64, order="C")
    # A sum is finite only if all are, or where finite ones overflow.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise error("DSL0790", "weights to quantise must be finite; there are inf or NaN")
    return values


def _for_each(do: Callable[[int], None], starts: Sequence[int]) -> None:
    """Do it for every block, on all cores: NumPy works without Python's lock."""
    threads = min(len(starts), _THREADS, os.cpu_count() or 1)
    if threads < 2:
        for start in starts:
            do(start)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(do, starts))


def transposed(array: Array) -> Array:
    """A row-major copy of a matrix's transpose, by squares that stay in a cache."""
    rows, columns = array.shape
    out = np.empty((columns, rows), array.dtype)

    def fill(start: int) -> None:
        for at in range(0, rows, _SQUARE):
            block = array[at : at + _SQUARE, start : start + _SQUARE]
            out[start : start + _SQUARE, at : at + _SQUARE] = block.T

    _for_each(fill, range(0, columns, _SQUARE))
    return out


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
