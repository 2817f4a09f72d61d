"""Numbers as codes of floats of at most 8 bits, rounded to the nearest, ties to the even code.

The leading bits of an f32, its exponent moved by the difference of the biases, are the code, and what
is cut off says whether it is one more; numbers below the least normal one are whole multiples of the
least subnormal. The vector engine counts in f32: every number here is below 2^24, and exact.
"""

from __future__ import annotations

from dslc.codegen.nki.arithmetic.bits import viewed
from dslc.codegen.nki.arithmetic.combining import combine, compared, put, step
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import BOOL, F32, I32, DType, Kind, limits

_WHOLE = 8388608.0  # 2^23: what is added to this is rounded to a whole number
_EXPONENT = 23  # where an f32 has its exponent


def encode(e: Emission, made: TileValue, x: TileValue, dtype: DType, *, saturate: bool) -> None:
    """Fill a tile with codes; the rules for overflow and NaN are those of `dtypes.rounding`."""
    x = e.tensors(x)
    if x.dtype != F32:
        wide = e.like(x, "number", F32)
        copy(e, wide, x)
        x = wide
    if dtype.kind is Kind.SCALE:
        code = _scale(e, x, saturate=saturate)
    else:
        code = _signed(e, x, dtype, saturate=saturate)
    copy(e, made, code)


def _signed(e: Emission, x: TileValue, dtype: DType, *, saturate: bool) -> TileValue:
    bounds = limits(dtype)
    least = bounds.smallest_normal
    assert least is not None
    clamped = saturate or not bounds.has_nan
    bias, last = (1 << (dtype.exponent - 1)) - 1, _last(dtype)
    size = e.like(x, "size", F32)
    with e.filled(size) as at:
        e.call("activation", dst=e.text(size, at), op="nl.abs", data=e.text(x, at))
    size = step(e, "size", size, F32, "nl.minimum", float(bounds.greatest) * (1 if clamped else 2))
    code = _leading(e, size, dtype.mantissa, 127 - bias)
    # Multiples of the least subnormal number, where the size is below the least normal one.
    unit = 2.0 ** (bias + dtype.mantissa - 1)
    most = float(2 << dtype.mantissa)
    multiple = step(e, "multiple", size, F32, "nl.multiply", unit, "nl.minimum", most)
    whole = step(e, "whole", multiple, I32, "nl.add", _WHOLE, "nl.subtract", _WHOLE)
    put(e, code, whole, compared(e, size, "nl.less", least))
    code = step(e, "code", code, I32, "nl.minimum", float(last + (0 if clamped else 1)))
    if bounds.has_nan:
        quiet = ((1 << dtype.exponent) - 1) << dtype.mantissa | 1 << max(dtype.mantissa - 1, 0)
        put(e, code, str(quiet if bounds.has_infinity else last + 1), _nan(e, x))
    bits, top = viewed(e, x, I32), 1 << (dtype.bits - 1)
    sign = step(e, "sign", bits, I32, "nl.right_shift", 32 - dtype.bits, "nl.bitwise_and", top)
    signed = e.like(x, "signed", I32)
    combine(e, signed, "nl.bitwise_or", code, sign)
    if not bounds.has_nan:
        put(e, signed, str(last), _nan(e, x))
    return signed


def _last(dtype: DType) -> int:
    """The code of the greatest finite number."""
    whole = (1 << (dtype.bits - 1)) - 1
    bounds = limits(dtype)
    return whole - (1 << dtype.mantissa) if bounds.has_infinity else whole - bounds.has_nan


def _leading(e: Emission, size: TileValue, mantissa: int, less: int) -> TileValue:
    """The code by the leading bits of f32, rounded by the rest of them to the nearest or even one."""
    bits, cut = viewed(e, size, I32), _EXPONENT - mantissa
    leading = step(e, "leading", bits, I32, "nl.right_shift", cut)
    code = step(e, "code", leading, I32, "nl.subtract", float(less << mantissa))
    odd = step(e, "odd", code, I32, "nl.bitwise_and", 1)
    return _rounded_up(e, code, bits, odd, cut)


def _rounded_up(
    e: Emission, code: TileValue, bits: TileValue, odd: TileValue, cut: int
) -> TileValue:
    """The code, one more where what is cut off and `odd` are together more than a half."""
    rest = step(e, "rest", bits, I32, "nl.bitwise_and", (1 << cut) - 1)
    both, rounded = e.like(code, "both", I32), e.like(code, "code", I32)
    combine(e, both, "nl.add", rest, odd)
    combine(e, rounded, "nl.add", code, step(e, "up", both, I32, "nl.greater", float(1 << cut - 1)))
    return rounded


def _scale(e: Emission, x: TileValue, *, saturate: bool) -> TileValue:
    """e8m0: the exponent of f32; ties go up, but for those between the least two scales."""
    bits = viewed(e, x, I32)
    code = step(e, "code", bits, I32, "nl.right_shift", _EXPONENT, "nl.bitwise_and", 255)
    normal = step(e, "normal", code, I32, "nl.minimum", 1.0)
    code = _rounded_up(e, code, bits, normal, _EXPONENT)
    code = step(e, "scale", code, I32, "nl.minimum", 254.0 if saturate else 255.0)
    put(e, code, "255", compared(e, x, "nl.less" if saturate else "nl.less_equal", 0.0))
    put(e, code, "255", _nan(e, x))
    return code


def _nan(e: Emission, x: TileValue) -> TileValue:
    is_nan = e.like(x, "none", BOOL)
    combine(e, is_nan, "nl.not_equal", x, x)
    return is_nan
