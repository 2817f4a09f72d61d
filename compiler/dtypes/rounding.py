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
        return _look_up(decoded(dtype), codes)
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
        high = np.asarray(rounded.view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        return high.view(storage_dtype(dtype))
    return rounded.astype(storage_dtype(dtype), copy=False)


def round_to(values: Array, dtype: DType, saturate: bool = False) -> Array:
    """The nearest values of the dtype, ties to even, in value_dtype(dtype); rules as of `encode`."""
    values = np.asarray(values)
    if not dtype.is_float:
        return wrap(clamp(values, dtype) if saturate else values, dtype)
    if dtype.bits <= 8:
        return _look_up(decoded(dtype), _small_codes(values, dtype, saturate))
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
    if values.dtype.kind not in "f":
        if greatest > 2.0**64:
            return values
        values = _to_odd_float64(values)
    if values.dtype == np.float32 and greatest > float(np.finfo(np.float32).max):
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


def _look_up(table: Array, keys: Array) -> Array:
    # Every key is in the table; `wrap` only spares NumPy's slower check.
    return np.asarray(table.take(keys, mode="wrap"))


def _kept_bits(dtype: DType) -> int:
    """Leading fraction bits of a float32 that decide the code: the mantissa, a half and a sticky bit.

    e8m0's least value is a subnormal float32, where two bits of its fraction go to leading zeros.
    """
    return 4 if dtype.kind is Kind.SCALE else dtype.mantissa + 2


def _small_codes(values: Array, dtype: DType, saturate: bool) -> Array:
    bits = to_odd_float32(np.asarray(values)).view(np.uint32)
    shift = 23 - _kept_bits(dtype)
    below = bits & np.uint32((1 << shift) - 1)
    key = np.asarray(below != 0).astype(np.uint32)
    key |= bits >> np.uint32(shift)
    return _look_up(_code_table(dtype, saturate), key)


@functools.cache
def _code_table(dtype: DType, saturate: bool) -> Array:
    """The code of every float32 whose fraction has only the kept bits, uint8, by those bits."""
    kept = _kept_bits(dtype)
    numbers = np.arange(1 << (9 + kept), dtype=np.uint32) << np.uint32(23 - kept)
    with np.errstate(invalid="ignore"):  # signalling NaNs are among them
        values = numbers.view(np.float32).astype(np.float64)
    codes = _scale_codes if dtype.kind is Kind.SCALE else _nearest_codes
    return codes(values, dtype, saturate).astype(np.uint8)


def _nearest_codes(values: Array, dtype: DType, saturate: bool) -> Array:
    """Codes by search among the values of the format; an even code is an even significand."""
    grid = magnitudes(dtype)
    middles = (grid[:-1] + grid[1:]) / 2
    middles = np.append(middles, 2 * grid[-1] - middles[-1])  # from there on it overflows
    magnitude = np.abs(values)
    codes = np.searchsorted(middles, magnitude)
    tie = middles[np.minimum(codes, len(middles) - 1)] == magnitude
    codes += tie & (codes % 2 == 1)
    last = len(grid) - 1
    if saturate or not has_nan(dtype):
        codes = np.minimum(codes, last)
    quiet = ((1 << dtype.exponent) - 1) << dtype.mantissa | 1 << max(dtype.mantissa - 1, 0)
    nan = (quiet if has_infinity(dtype) else last + 1) if has_nan(dtype) else last
    codes = np.where(np.isnan(values), nan, codes)
    negative = np.signbit(values) & (~np.isnan(values) | has_nan(dtype))
    return np.asarray(codes | negative.astype(np.int64) << (dtype.bits - 1))


def _scale_codes(values: Array, dtype: DType, saturate: bool) -> Array:
    """Codes of e8m0 as ml_dtypes 0.6 rounds: ties go up, as does all between the least two values.

    0, what is negative and what is past the range have none and become NaN; if `saturate`, 0 becomes
    the least scale and what is past the range the greatest.
    """
    nan, last = 255, 254
    fraction, exponent = np.frexp(values)  # values = fraction * 2^exponent, fraction in [0.5, 1)
    codes = exponent + 126 + (fraction >= 0.75)
    codes = np.where(values < 2.0**-126, values > 2.0**-127, np.where(np.isinf(values), nan, codes))
    if saturate:
        return np.where((values < 0) | np.isnan(values), nan, np.minimum(codes, last))
    return np.where(values > 0, np.minimum(codes, nan), nan)
