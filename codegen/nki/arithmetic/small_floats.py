"""Codes of floats of at most 8 bits as numbers: their digits moved to where f32 has them.

A code's exponent and mantissa, shifted into the place of those of f32, are the number times
2^(bias - 127): subnormal codes become subnormal floats and are right after the product as well. The
sign is put back by a product. e8m0 is an exponent of f32 as it stands.
"""

from __future__ import annotations

from math import frexp

from dslc.codegen.nki.arithmetic.bits import viewed
from dslc.codegen.nki.arithmetic.combining import combine, compared, put
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32, I32, DType, Kind, limits


def decode(e: Emission, codes: TileValue, dtype: DType, to: DType) -> TileValue:
    """The numbers of codes as another float type (exact: f16 and wider have their digits)."""
    wide = e.like(codes, "code", I32)
    copy(e, wide, e.tensors(codes))
    if dtype.kind is Kind.SCALE:
        return _scale(e, wide, to)
    digits, sign = e.like(wide, "digits"), e.like(wide, "sign", F32)
    mask = (1 << (dtype.bits - 1)) - 1
    with e.filled(digits) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(digits, at),
            data=e.text(wide, at),
            op0="nl.bitwise_and",
            operand0=mask,
            op1="nl.left_shift",
            operand1=23 - dtype.mantissa,
        )
    with e.filled(sign) as at:
        # 1 for codes without the sign's bit, -1 for the others.
        e.call(
            "tensor_scalar",
            dst=e.text(sign, at),
            data=e.text(wide, at),
            op0="nl.greater",
            operand0=float(mask),
            op1="nl.multiply",
            operand1=-2.0,
        )
    bits = viewed(e, digits, F32)
    bias = (1 << (dtype.exponent - 1)) - 1
    size = e.like(wide, "size", F32)
    factor = 2.0 ** (127 - bias)
    with e.filled(size) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(size, at),
            data=e.text(bits, at),
            op0="nl.multiply",
            operand0=repr(factor),
        )
    _specials(e, size, dtype)
    numbers = e.like(wide, "number", to)
    with e.filled(numbers) as at:
        e.call(
            "scalar_tensor_tensor",
            dst=e.text(numbers, at),
            data=e.text(sign, at),
            op0="nl.add",
            operand0=1.0,
            op1="nl.multiply",
            operand1=e.text(size, at),
        )
    return numbers


def _specials(e: Emission, size: TileValue, dtype: DType) -> None:
    """Infinity and NaN for the codes past the finite ones, where the format has such."""
    bounds = limits(dtype)
    if not bounds.has_nan:
        return
    first = 2.0 ** frexp(bounds.greatest)[1]  # infinity's code, where there is one
    last = first if bounds.has_infinity else float(bounds.greatest)
    none = compared(e, size, "nl.greater", last)
    if bounds.has_infinity:
        put(e, size, "INFINITY", compared(e, size, "nl.equal", first))
    put(e, size, "NAN", none)


def _scale(e: Emission, codes: TileValue, to: DType) -> TileValue:
    """e8m0: 2^(code - 127), an exponent of f32; code 0 is subnormal there, and put in by itself."""
    shifted = e.like(codes, "power")
    with e.filled(shifted) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(shifted, at),
            data=e.text(codes, at),
            op0="nl.left_shift",
            operand0=23,
        )
    bits = viewed(e, shifted, F32)
    lowest, scale = e.like(codes, "lowest", F32), e.like(codes, "scale", to)
    with e.filled(lowest) as at:
        e.call(
            "tensor_scalar",
            dst=e.text(lowest, at),
            data=e.text(codes, at),
            op0="nl.equal",
            operand0=0.0,
            op1="nl.multiply",
            operand1=repr(2.0**-127),
        )
    combine(e, scale, "nl.add", bits, lowest)
    put(e, scale, "NAN", compared(e, codes, "nl.equal", 255.0))
    return scale
