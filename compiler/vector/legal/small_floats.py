"""Floats of at most 16 bits: their codes as f32, and f32 rounded to their codes.

Codes lie in unsigned integers. Everything is exact, subnormals too, whether or not the machine flushes
its own: no f32 here is a subnormal unless the value is one.
"""

from __future__ import annotations

import functools

import numpy as np
from dslc.compiler.dtypes import (
    BF16,
    F16,
    F32,
    F64,
    TF32,
    U8,
    U32,
    DType,
    Kind,
    decode,
    has_infinity,
    has_nan,
    limits,
)
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import codes_of, constant_of
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import U16
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Constant, Operand

_NUMBERS, _BYTES = (32, 16), (8, 16)  # bits and lanes of tables with a row for each code of 4 bits
_QUIET = 0x7FC00000
_INFINITY = 0x7F800000


def to_number(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """The values of a float's container as f32 (f64 for f64), exact."""
    type_ = vector_type(x)
    if dtype in (F64, F32, TF32):
        return x
    if dtype == F16:
        return b.convert(b.bitcast(x, type_.of(F16)), F32)
    if dtype == BF16:
        return b.bitcast(b.binary("lshift", b.convert(x, U32), 16), type_.of(F32))
    if dtype.kind is Kind.SCALE:
        wide = b.binary("lshift", b.convert(x, U32), 23)
        wide = b.select(b.binary("eq", x, 0), 0x00400000, wide)
        wide = b.select(b.binary("eq", x, 255), _QUIET, wide)
        return b.bitcast(wide, type_.of(F32))
    if dtype.bits <= 4 and type_.lanes:
        if _NUMBERS in b.capabilities.permutations:
            return b.permute(_numbers(dtype), b.convert(x, U32))
        if _BYTES in b.capabilities.permutations and b.capabilities.f16_converts:
            return _by_table_of_bytes(b, x, dtype)
    if dtype.exponent <= 5 and b.capabilities.f16_converts:
        return _through_f16(b, x, dtype)
    return _by_integers(b, x, dtype)


@functools.cache
def _numbers(dtype: DType) -> Constant:
    """The number of each code of at most 4 bits, over and over."""
    codes = np.arange(16, dtype=np.uint8) & ((1 << dtype.bits) - 1)
    return constant_of(decode(codes, dtype), VectorType(F32, 16))


def _by_table_of_bytes(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """The upper byte of each code as an f16, whose lower one is 0: two bits of fraction suffice."""
    table = codes_of(_numbers(dtype)).astype(np.float16).view(np.uint16) >> 8
    upper = b.permute(constant_of(table.astype(np.uint8), VectorType(U8, 16)), x)
    bits = b.binary("lshift", b.convert(upper, U16), 8)
    return b.convert(b.bitcast(bits, vector_type(x).of(F16)), F32)


def _bias(dtype: DType) -> int:
    return (1 << (dtype.exponent - 1)) - 1


def _through_f16(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """The code's fields in those of an f16, whose bias is another: one product by a power of two."""
    type_ = vector_type(x)
    wide = b.convert(x, U16)
    bits = b.binary("lshift", wide, 16 - dtype.bits)
    if dtype.exponent < 5:
        sign = 1 << (dtype.bits - 1)
        magnitude = b.binary("lshift", b.binary("and", wide, sign - 1), 10 - dtype.mantissa)
        bits = b.binary("or", magnitude, b.binary("and", bits, 0x8000))
    elif not has_infinity(dtype):
        return _by_integers(b, x, dtype)  # f16 reads its greatest exponent as infinity
    number = b.convert(b.bitcast(bits, type_.of(F16)), F32)
    shift = 15 - _bias(dtype)
    if shift:
        number = b.mul(number, 2.0**shift)
    return _special(b, x, number, dtype) if dtype.exponent < 5 else number


def _special(b: LegalBuilder, x: Operand, number: Operand, dtype: DType) -> Operand:
    """Infinities and NaN of a format put in place of what their codes gave; signs stay."""
    if not has_nan(dtype):
        return number
    bits = b.bitcast(number, vector_type(x).of(U32))
    magnitude = b.binary("and", x, (1 << (dtype.bits - 1)) - 1)
    nan = b.binary("or", bits, _QUIET)
    if not has_infinity(dtype):
        is_nan = b.binary("eq", magnitude, (1 << (dtype.bits - 1)) - 1)
        return b.bitcast(b.select(is_nan, nan, bits), vector_type(number))
    top = ((1 << dtype.exponent) - 1) << dtype.mantissa
    infinity = b.binary("or", b.binary("and", bits, 0x80000000), _INFINITY)
    bits = b.select(b.binary("eq", magnitude, top), infinity, bits)
    bits = b.select(b.binary("gt", magnitude, top), nan, bits)
    return b.bitcast(bits, vector_type(number))


def _by_integers(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """Fields moved into those of an f32; subnormals are a number with a leading 1, less that 1."""
    type_ = vector_type(x)
    wide, bias = b.convert(x, U32), _bias(dtype)
    sign = 1 << (dtype.bits - 1)
    fields = b.binary("lshift", b.binary("and", wide, sign - 1), 23 - dtype.mantissa)
    normal = b.bitcast(b.add(fields, (127 - bias) << 23), type_.of(F32))
    leading = b.bitcast(b.add(fields, (128 - bias) << 23), type_.of(F32))
    below = b.sub(leading, 2.0 ** (1 - bias))
    number = b.select(b.binary("lt", fields, 1 << 23), below, normal)
    signs = b.binary("lshift", b.binary("and", wide, sign), 32 - dtype.bits)
    bits = b.binary("or", b.bitcast(number, type_.of(U32)), signs)
    return _special(b, x, b.bitcast(bits, type_.of(F32)), dtype)


def from_number(b: LegalBuilder, x: Operand, dtype: DType, saturate: bool = False) -> Operand:
    """f32 or f64 rounded once to a float, as its container."""
    if saturate and dtype.bits > 8:
        x = _bounded(b, x, dtype)
    type_ = vector_type(x)
    if dtype in (F32, F64):
        return b.convert(x, dtype)
    if type_.dtype == F64:
        x = to_odd(b, x)
    if dtype == F16:
        return b.bitcast(b.convert(x, F16), type_.of(U16))
    if dtype == BF16:
        bits = _rounded_bits(b, b.bitcast(x, type_.of(U32)), 16)
        high = b.convert(b.binary("rshift", bits, 16), U16)
        nan = b.binary(
            "or", b.convert(b.binary("rshift", b.bitcast(x, type_.of(U32)), 16), U16), 0x40
        )
        return b.select(b.binary("ne", x, x), nan, high)
    if dtype == TF32:
        bits = b.bitcast(x, type_.of(U32))
        kept = b.binary("and", _rounded_bits(b, bits, 13), 0xFFFFE000)
        nan = b.binary("and", b.binary("or", bits, _QUIET), 0xFFC00000)
        return b.bitcast(b.select(b.binary("ne", x, x), nan, kept), type_.of(F32))
    if dtype.kind is Kind.SCALE:
        return _scale_code(b, x, saturate)
    return _code(b, x, dtype, saturate)


def _bounded(b: LegalBuilder, x: Operand, dtype: DType) -> Operand:
    """Infinities and what is past the range moved to its ends; NaN stays."""
    greatest = float(limits(dtype).greatest)
    if vector_type(x).dtype == F32 and dtype == F64:
        x = b.convert(x, F64)
    x = b.select(b.binary("gt", x, greatest), greatest, x)
    return b.select(b.binary("lt", x, -greatest), -greatest, x)


def to_odd(b: LegalBuilder, x: Operand) -> Operand:
    """f64 as f32, an inexact one as the neighbour whose last bit is 1 (Boldo and Melquiond, 2008)."""
    type_ = vector_type(x)
    near = b.convert(x, F32)
    back = b.convert(near, F64)
    bits = b.bitcast(near, type_.of(U32))
    inexact = b.binary("and", b.binary("ne", back, x), b.binary("eq", x, x))
    away = b.binary("gt", b.unary("abs", back), b.unary("abs", x))
    cut = b.binary("or", b.sub(bits, b.convert(away, U32)), 1)
    return b.bitcast(b.select(inexact, cut, bits), type_.of(F32))


def _rounded_bits(b: LegalBuilder, bits: Operand, drop: int) -> Operand:
    """The bits of f32 with half a unit of the bits above the last `drop` added, ties to even."""
    odd = b.binary("and", b.binary("rshift", bits, drop), 1)
    return b.add(b.add(bits, odd), (1 << (drop - 1)) - 1)


def _code(b: LegalBuilder, x: Operand, dtype: DType, saturate: bool) -> Operand:
    """f32 as the nearest code of a format of at most 8 bits, ties to even.

    Normal results are rounded in the bits of x. For subnormal ones the addition of a constant whose
    last place is the format's least number rounds.
    """
    type_, m, bias = vector_type(x), dtype.mantissa, _bias(dtype)
    bits = b.bitcast(x, type_.of(U32))
    magnitude = b.binary("and", bits, 0x7FFFFFFF)
    rounded = b.binary("rshift", _rounded_bits(b, magnitude, 23 - m), 23 - m)
    normal = b.sub(rounded, (127 - bias) << m)
    least = 2.0 ** (24 - bias - m)
    shifted = b.add(b.bitcast(magnitude, type_.of(F32)), least)
    exponent = (127 + 24 - bias - m) << 23
    below = b.sub(b.bitcast(shifted, type_.of(U32)), exponent)
    code = b.select(b.binary("lt", magnitude, (128 - bias) << 23), below, normal)
    last = _last(dtype)
    past = last if saturate or not has_nan(dtype) else last + 1  # infinity, or the one NaN
    code = b.binary("min", code, past)
    sign = b.binary("lshift", b.binary("rshift", bits, 31), dtype.bits - 1)
    is_nan = b.binary("gt", magnitude, _INFINITY)
    if has_infinity(dtype):
        quiet = ((1 << dtype.exponent) - 1) << m | 1 << max(m - 1, 0)
        code = b.select(is_nan, quiet, code)
    elif has_nan(dtype):
        code = b.select(is_nan, last + 1, code)
    else:
        code = b.select(is_nan, last, code)
        sign = b.select(is_nan, 0, sign)
    return b.convert(b.binary("or", code, sign), U8)


def _last(dtype: DType) -> int:
    """The code of the greatest number."""
    codes = 1 << (dtype.bits - 1)
    if has_infinity(dtype):
        return codes - 1 - (1 << dtype.mantissa)
    return codes - 1 - has_nan(dtype)


def _scale_code(b: LegalBuilder, x: Operand, saturate: bool) -> Operand:
    """f32 as a code of e8m0: ties go up, and between the least two values all do."""
    bits = b.bitcast(x, vector_type(x).of(U32))
    magnitude = b.binary("and", bits, 0x7FFFFFFF)
    code = b.binary("rshift", b.add(magnitude, 1 << 22), 23)
    code = b.select(b.binary("eq", magnitude, 1 << 22), 0, code)
    code = b.binary("min", code, 254 if saturate else 255)
    none = b.binary("gt", b.select(b.binary("eq", magnitude, 0), 0, bits), _INFINITY)
    if not saturate:
        none = b.binary("or", none, b.binary("eq", magnitude, 0))
    return b.convert(b.select(none, 255, code), U8)
