"""`cast` by the rules of the language, on value arrays."""

from __future__ import annotations

import functools

import numpy as np
from dslc.compiler.dtypes.dtype import DType, Kind
from dslc.compiler.dtypes.formats import has_infinity, limits
from dslc.compiler.dtypes.rounding import clamp, round_to, wrap
from dslc.compiler.dtypes.storage import Array, value_dtype


def cast(values: Array, src: DType, dst: DType, saturate: bool = False) -> Array:
    """Values of `src` as values of `dst`, same shape, in value_dtype(dst).

    To a float: rounded once to nearest even, past the range as `encode` says. Float to integer:
    truncated, saturated, NaN gives 0. Integer to integer: wraps, or clamps if `saturate`. To bool:
    whether it is not 0. The result may share its memory with `values`.
    """
    values = np.asarray(values)
    if dst.kind is Kind.BOOL:
        return np.asarray(values != 0)
    if dst.is_float:
        if is_exact(src, dst) and not (saturate and has_infinity(src)):
            return values.astype(value_dtype(dst), copy=False)
        return round_to(values, dst, saturate)
    if src.is_float:
        return _truncate(values, dst)
    return wrap(clamp(values, dst) if saturate else values, dst)


@functools.cache
def is_exact(src: DType, dst: DType) -> bool:
    """Whether every value of `src` is one of the float `dst`, asked of wide floats only."""
    if dst.bits <= 8:
        return False
    if limits(src).greatest > limits(dst).greatest:
        return False
    if src.is_float:
        return src.exponent <= dst.exponent and src.mantissa <= dst.mantissa
    least, greatest = src.integer_range
    digits = max(-least, greatest).bit_length()
    return digits <= dst.mantissa + 1


def _truncate(values: Array, dst: DType) -> Array:
    least, greatest = dst.integer_range
    kind = value_dtype(dst).type
    # -least and greatest + 1 are powers of two, or 0: exact in float32 and float64.
    low, high = values <= float(least), values >= float(greatest + 1)
    with np.errstate(invalid="ignore"):
        whole = np.where(low | high | np.isnan(values), 0, values).astype(value_dtype(dst))
    return np.asarray(np.where(low, kind(least), np.where(high, kind(greatest), whole)))
