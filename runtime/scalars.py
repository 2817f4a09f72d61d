"""Scalar arguments as a machine takes them: rounded to their parameter's dtype."""

from __future__ import annotations

import bisect
import functools
import math
import re
import struct

from dslc.runtime.expression import Number

_CODES = {"f16": "<e", "f32": "<f"}
_CUT = {"bf16": 16, "tf32": 13}  # bits of f32's mantissa that the dtype lacks
_SMALL = re.compile(r"f[3-8]e([1-7])m([0-6])")
_INFINITE, _ONE_NAN = ("f8e5m2", "f8e3m4"), "f8e4m3"


def as_dtype(number: Number, dtype: str) -> Number:
    """The number of a dtype that is nearest, ties to even; past the range what a cast gives.

    Integers and f64 stay as they are.
    """
    if (small := _SMALL.fullmatch(dtype)) is not None:
        return _small(float(number), dtype, int(small[1]), int(small[2]))
    if dtype == "e8m0":
        return _scale(float(number))
    if dtype in _CODES:
        try:
            (rounded,) = struct.unpack(_CODES[dtype], struct.pack(_CODES[dtype], float(number)))
        except OverflowError:
            return math.copysign(math.inf, number)
        return float(rounded)
    return _cut(number, _CUT[dtype]) if dtype in _CUT else number


@functools.cache
def _ladder(dtype: str, exponent: int, mantissa: int) -> list[float]:
    """The finite numbers of a small float from 0 upwards, by their codes, and what would be next."""
    bias, count = (1 << exponent - 1) - 1, 1 << exponent + mantissa
    numbers = []
    for code in range(count + 1):
        power, fraction = code >> mantissa, code & (1 << mantissa) - 1
        whole = fraction / (1 << mantissa) + (power > 0)
        numbers.append(math.ldexp(whole, max(power, 1) - bias))
    if dtype in _INFINITE:  # its last power is that of infinity and NaN
        del numbers[count - (1 << mantissa) + 1 :]
    elif dtype == _ONE_NAN:
        numbers.pop()
    return numbers


def _small(number: float, dtype: str, exponent: int, mantissa: int) -> float:
    """A float of 3 to 8 bits; of two that are equally near, the one whose code is even."""
    ladder = _ladder(dtype, exponent, mantissa)
    special = dtype in _INFINITE or dtype == _ONE_NAN
    if math.isnan(number):
        return number if special else ladder[-2]
    size = abs(number)
    code = min(bisect.bisect_left(ladder, size), len(ladder) - 1)
    if code and ladder[code] != size:
        below, above = size - ladder[code - 1], ladder[code] - size
        code -= below < above or (below == above and code % 2 == 1)
    if code == len(ladder) - 1:
        magnitude = ladder[-2] if not special else math.inf if dtype in _INFINITE else math.nan
    else:
        magnitude = ladder[code]
    return math.copysign(magnitude, number)


def _scale(number: float) -> float:
    """A power of two as ml_dtypes rounds to e8m0: ties go up, as does all between the least two."""
    if not 0 < number < math.inf:
        return math.nan
    half, power = math.frexp(number)
    power += (half >= 0.75) - 1
    if power == -127 and half != 0.5:
        power += 1
    return math.nan if power > 127 else math.ldexp(1.0, max(power, -127))


def _cut(number: Number, bits: int) -> float:
    """Round to odd in f32 first: rounding to nearest twice would not be rounding to nearest."""
    near = float(as_dtype(number, "f32"))
    if not math.isfinite(near):
        return near
    (word,) = struct.unpack("<I", struct.pack("<f", near))
    if near != number:
        if abs(near) > abs(number):
            word -= 1
        word |= 1
    word += (1 << (bits - 1)) - 1 + (word >> bits & 1)
    (rounded,) = struct.unpack("<f", struct.pack("<I", word >> bits << bits))
    return float(rounded)
