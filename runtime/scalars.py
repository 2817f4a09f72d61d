"""Scalar arguments as a machine takes them: rounded to their parameter's dtype."""

from __future__ import annotations

import math
import struct

from dslc.runtime.expression import Number

_CODES = {"f16": "<e", "f32": "<f"}
_CUT = {"bf16": 16, "tf32": 13}  # bits of f32's mantissa that the dtype lacks


def as_dtype(number: Number, dtype: str) -> Number:
    """The number of a dtype that is nearest, ties to even; past the range an infinity.

    Integers and f64 stay as they are.
    """
    if dtype in _CODES:
        try:
            (rounded,) = struct.unpack(_CODES[dtype], struct.pack(_CODES[dtype], float(number)))
        except OverflowError:
            return math.copysign(math.inf, number)
        return float(rounded)
    return _cut(number, _CUT[dtype]) if dtype in _CUT else number


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
