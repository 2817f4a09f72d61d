"""Rounding to a dtype's grid, encoding to codes and back: exact, one rounding from any source.

A float of at most 8 bits is rounded by one table look-up: the sign, the exponent and the leading bits
of a float32, with every bit below gathered into the last (sticky) one, decide the code. A float64 is
first cut to float32 with a sticky last bit, so that nothing is rounded twice (rounding to odd: Boldo
and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Transactions on Computers, 2008).
"""

from __future__ import annotations

import functools

import numpy as np
from dslc.compiler.dtypes.dtype import DType, Kind
from dslc.compiler.dtypes.formats import decoded, has_infinity, has_nan, limits, magnitudes
from dslc.compiler.dtypes.storage import Array, storage_dtype, value_dtype


def decode(codes: Array, dtype: DType) -> Array:
    """The values of a storage array: same shape, in value_dtype(dtype).

    Integers are their values (the array itself serves); bits above a small float's width are ignored.
    """
    if dtype.is_float and dtype.bits <= 8:
        return np.asarray(decoded(dtype)[codes])
    return codes.astype(value_dtype(dtype), copy=False)


def encode(values: Array, dtype: DType, saturate: bool = False) -> Array:
    """The storage array of values, rounded to nearest even; integers wrap or, saturating, clamp.

    Values past a float's range become infinity, else NaN, else (and if `saturate`) the greatest
    magnitude; NaN becomes plus the greatest magnitude where the format has no NaN.
    """
    if not dtype.is_float:
        return wrap(clamp(values, dtype) if saturate else values, dtype)
    if dtype.bits <= 8:
        return _small_codes(values, dtype, saturate)
    rounded = round_to(values, dtype, saturate)
    if dtype.name == "bf16":
        return (
            (rounded.view(np.uint32) >> np.uint32(16)).astype(np.uint16).view(storage_dtype(dtype))
        )
    return rounded.astype(storage_dtype(dtype), copy=False)


def round_to(values: Array, dtype: DType, saturate: bool = False) -> Array:
    """The nearest values of the dtype, ties to even, in value_dtype(dtype); rules as of `encode`."""
    values = np.asarray(values)
    if not dtype.is_float:
        return wrap(clamp(values, dtype) if saturate else values, dtype)
    if dtype.bits <= 8:
        return np.asarray(decoded(dtype)[_small_codes(values, dtype, saturate)])
    if saturate:
        values = _bounded(values, dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        match dtype.name:
            case "f64":
                return values.astype(np.float64, copy=False)
            case "f32":
                return values.astype(np.float32, copy=False)
            case "f16":
                return values.astype(np.float16).astype(np.float32)
            case "bf16" | "tf32":
                return _round_bits(to_odd_float32(values), 23 - dtype.mantissa)
    raise AssertionError(dtype.name)


def wrap(values: Array, dtype: DType) -> Array:
    """Integers modulo 2^bits into the dtype's range, in value_dtype(dtype); bools are as they are."""
    narrowed = np.asarray(values).astype(value_dtype(dtype), copy=False)
    if dtype.kind is Kind.BOOL or dtype.bits >= 8:
        return narrowed
    kind = narrowed.dtype.type
    low = narrowed & kind((1 << dtype.bits) - 1)
    if dtype.kind is Kind.UINT:
        return np.asarray(low)
    sign = kind(1 << (dtype.bits - 1))
    return np.asarray((low ^ sign) - sign)


def clamp(values: Array, dtype: DType) -> Array:
    """Integers moved to the nearest end of an integer dtype's range, in their own NumPy dtype."""
    values = np.asarray(values)
    if values.dtype == np.bool_:
        values = values.astype(np.uint8)
    own, (least, greatest) = np.iinfo(values.dtype), dtype.integer_range
    kind = values.dtype.type
    return np.asarray(np.clip(values, kind(max(least, own.min)), kind(min(greatest, own.max))))


def to_odd_float32(values: Array) -> Array:
    """Numbers as float32; an inexact one becomes the neighbour whose last bit is 1.

    What is rounded from it to 11 bits of precision or fewer is as if rounded from the number itself.
    """
    if values.dtype == np.float32:
        return values
    wide = values if values.dtype == np.float64 else _to_odd_float64(values)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        near = wide.astype(np.float32)
        back = near.astype(np.float64)
    bits = np.asarray(near).view(np.uint32)
    inexact = (back != wide) & ~np.isnan(wide)
    away = np.abs(back) > np.abs(wide)
    return np.asarray(np.where(inexact, (bits - away) | np.uint32(1), bits)).view(np.float32)


def _to_odd_float64(values: Array) -> Array:
    """Numbers as float64, exact but for integers past 2^53, whose low bits become one sticky bit."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8:
        return values.astype(np.float64)
    kind = values.dtype.type
    big = values >= kind(1 << 53)
    if values.dtype.kind == "i":
        big |= values <= kind(-(1 << 53))
    if not big.any():
        return values.astype(np.float64)
    low = kind(0xFFF)
    sticky = (values - (values & low)) | np.where(values & low, kind(0x800), kind(0))
    return np.asarray(np.where(big, sticky, values)).astype(np.float64)


def _bounded(values: Array, dtype: DType) -> Array:
    """Infinities and what is past the finite range moved to its ends; NaN stays."""
    greatest = limits(dtype).greatest
    if values.dtype.kind in "iub":
        values = values.astype(np.float32) if dtype.bits >= 32 else _to_odd_float64(values)
    if values.dtype == np.float32 and greatest > np.finfo(np.float32).max:
        values = values.astype(np.float64)
    kind = values.dtype.type
    return np.asarray(np.clip(values, kind(-greatest), kind(greatest)))


def _round_bits(values: Array, drop: int) -> Array:
    """float32 values rounded to nearest even with the last `drop` bits zero."""
    bits = np.asarray(values).view(np.uint32)
    rounded = bits >> np.uint32(drop)
    rounded &= np.uint32(1)
    rounded += np.uint32((1 << (drop - 1)) - 1)
    rounded += bits
    rounded &= np.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    result = np.asarray(rounded).view(np.float32)
    nan = np.isnan(values)
    # The sum may carry out of a NaN's fraction.
    return np.copysign(np.where(nan, np.float32(np.nan), result), values) if nan.any() else result


def _kept_bits(dtype: DType) -> int:
    """Leading fraction bits of a float32 that decide the code: the mantissa, a half and a sticky bit.

    e8m0's least value is a subnormal float32, where two bits of its fraction go to leading zeros.
    """
    return 4 if dtype.kind is Kind.SCALE else dtype.mantissa + 2


def _small_codes(values: Array, dtype: DType, saturate: bool) -> Array:
    bits = to_odd_float32(np.asarray(values)).view(np.uint32)
    shift = 23 - _kept_bits(dtype)
    key = bits & np.uint32((1 << shift) - 1)
    key = np.asarray(key != 0).astype(np.uint32)
    key |= bits >> np.uint32(shift)
    return np.asarray(_code_table(dtype, saturate)[key])


@functools.cache
def _code_table(dtype: DType, saturate: bool) -> Array:
    """The code of every float32 whose fraction has only the kept bits, uint8, by those bits."""
    kept = _kept_bits(dtype)
    numbers = np.arange(1 << (9 + kept), dtype=np.uint32) << np.uint32(23 - kept)
    with np.errstate(invalid="ignore"):  # signalling NaNs are among them
        values = numbers.view(np.float32).astype(np.float64)
    grid = magnitudes(dtype)
    middles = np.append((grid[:-1] + grid[1:]) / 2, _overflow_threshold(dtype))
    magnitude = np.abs(values)
    codes = np.searchsorted(middles, magnitude)
    tie = middles[np.minimum(codes, len(middles) - 1)] == magnitude
    # ml_dtypes rounds the ties of e8m0 up; elsewhere an even code is an even significand.
    codes += tie if dtype.kind is Kind.SCALE else tie & (codes % 2 == 1)
    last = len(grid) - 1
    if saturate or not has_nan(dtype):
        codes = np.minimum(codes, last)
    elif not has_infinity(dtype):
        codes = np.where(codes > last, _nan_code(dtype), codes)
    codes = np.where(np.isnan(values), _nan_code(dtype) if has_nan(dtype) else last, codes)
    if dtype.kind is Kind.SCALE:
        bad = np.signbit(values) & (magnitude > 0) if saturate else values <= 0
        return np.where(bad, _nan_code(dtype), codes).astype(np.uint8)
    negative = np.signbit(values) & (~np.isnan(values) | has_nan(dtype))
    return (codes | negative.astype(np.int64) << (dtype.bits - 1)).astype(np.uint8)


def _overflow_threshold(dtype: DType) -> float:
    """Half a step above the greatest finite value."""
    grid = magnitudes(dtype)
    if dtype.mantissa == 0:
        return float(grid[-1]) * 1.5
    return float(grid[-1] + (grid[-1] - grid[-2]) / 2)


def _nan_code(dtype: DType) -> int:
    """The quiet NaN without sign."""
    if not has_infinity(dtype):
        return 0xFF if dtype.kind is Kind.SCALE else 0x7F
    return (((1 << dtype.exponent) - 1) << dtype.mantissa) | 1 << (dtype.mantissa - 1)
