"""What the codes of a float mean: the values of small formats and the limits of all.

A format of E exponent and M mantissa bits has the bias 2^(E-1) - 1 and subnormals. IEEE 754's formats,
f8e5m2 and f8e3m4 keep the greatest exponent for infinities and NaN; f8e4m3 keeps one code a sign for
NaN (OCP 8-bit Floating Point Specification, revision 1.0); e8m0 is 2^(code - 127) with NaN at 255 (OCP
Microscaling Formats, version 1.0); every other format is finite throughout.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from dslc.compiler.dtypes.dtype import BF16, F16, F32, F64, TF32, DType, Kind
from dslc.compiler.dtypes.storage import Array

_WITH_INFINITY = frozenset({"f8e3m4", "f8e5m2", *(d.name for d in (F16, BF16, TF32, F32, F64))})
_ONE_NAN = frozenset({"f8e4m3", "e8m0"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The finite range of a dtype; `smallest_*` is None where there is no such number.

    A float's `smallest_normal` is the least positive number with full precision.
    """

    least: int | float
    greatest: int | float
    smallest_normal: float | None
    smallest_subnormal: float | None
    has_infinity: bool
    has_nan: bool


def has_infinity(dtype: DType) -> bool:
    """Whether the format has codes for plus and minus infinity."""
    return dtype.name in _WITH_INFINITY


def has_nan(dtype: DType) -> bool:
    """Whether the format has a code for NaN."""
    return dtype.name in _WITH_INFINITY or dtype.name in _ONE_NAN


@functools.cache
def limits(dtype: DType) -> Limits:
    """The limits of a dtype (an index's are those of i64)."""
    if not dtype.is_float:
        least, greatest = dtype.integer_range
        return Limits(least, greatest, None, None, False, False)
    if dtype.kind is Kind.SCALE:
        return Limits(2.0**-127, 2.0**127, 2.0**-127, None, False, True)
    bias = (1 << (dtype.exponent - 1)) - 1
    top = (1 << dtype.exponent) - 1 - bias - has_infinity(dtype)
    ulps = 2 if dtype.name == "f8e4m3" else 1  # the code of all ones is its NaN
    peak = (2.0 - ulps * 2.0**-dtype.mantissa) * 2.0**top
    subnormal = 2.0 ** (1 - bias - dtype.mantissa) if dtype.mantissa else None
    return Limits(-peak, peak, 2.0 ** (1 - bias), subnormal, has_infinity(dtype), has_nan(dtype))


@functools.cache
def rounds_twice(dtype: DType) -> bool:
    """Whether an integer of 32 bits that f32 rounds may be rounded otherwise to this float after it.

    f32 has all up to 2^24; e8m0 is defined by way of f32.
    """
    return dtype.kind is Kind.FLOAT and dtype.mantissa < 23 and limits(dtype).greatest >= 2.0**24


@functools.cache
def magnitudes(dtype: DType) -> Array:
    """The finite values of the codes without sign, in order: value = magnitudes[code], float64.

    For float formats of at most 8 bits. Codes past the end are the format's infinity and NaN.
    """
    if dtype.kind is Kind.SCALE:
        return np.ldexp(1.0, np.arange(255) - 127)
    code = np.arange(1 << (dtype.bits - 1))
    exponent, fraction = code >> dtype.mantissa, code & ((1 << dtype.mantissa) - 1)
    significand = fraction + np.where(exponent > 0, 1 << dtype.mantissa, 0)
    bias = (1 << (dtype.exponent - 1)) - 1
    values = np.ldexp(
        significand.astype(np.float64), np.maximum(exponent, 1) - bias - dtype.mantissa
    )
    return np.asarray(values[values <= limits(dtype).greatest])


@functools.cache
def decoded(dtype: DType) -> Array:
    """The values of all 256 bytes read as codes, float32; bits above the code's do not matter."""
    values = np.full(256, np.nan, np.float32)
    positive = magnitudes(dtype).astype(np.float32)
    values[: len(positive)] = positive
    if dtype.kind is Kind.SCALE:
        return values
    if has_infinity(dtype):
        values[len(positive)] = np.inf
    half, codes = 1 << (dtype.bits - 1), 1 << dtype.bits
    values[half:codes] = -values[:half]
    return np.tile(values[:codes], 256 // codes)
