"""x^y of floats: 2^(y * log2(x)), the logarithm in f64 for f32 and in two f64 for f64.

Special cases are C's (C17, F.10.4.4).
"""

from __future__ import annotations

from dslc.compiler.dtypes import F32, F64
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.mathematics.exponentials import power_near_one
from dslc.compiler.vector.legal.mathematics.formats import (
    between,
    fast_two_sum,
    fields_of,
    polynomial,
    scaled,
    two_product,
    two_sum,
    whole,
)
from dslc.compiler.vector.legal.mathematics.logarithms import near_one
from dslc.compiler.vector.values import Operand

_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_LOG2_E = (1.4426950408889634, 2.0355273740931033e-17)


def power(b: LegalBuilder, x: Operand, y: Operand) -> Operand:
    """x to the y."""
    magnitude = b.unary("abs", x)
    if fields_of(x).is_single:
        exponent = b.mul(b.convert(y, F64), b.unary("log2", b.convert(magnitude, F64)))
        powered = b.convert(b.unary("exp2", exponent), F32)
    else:
        powered = _precise(b, magnitude, y)
    return _special(b, x, y, magnitude, powered)


def _precise(b: LegalBuilder, x: Operand, y: Operand) -> Operand:
    """Of f64; x is 0 or more, and what is not finite is put right by `_special`."""
    high, low = _logarithm(b, x)
    first, error = two_product(b, y, high)
    inside = b.binary("lt", b.unary("abs", first), 1100.0)
    tail = b.select(inside, b.fma(y, low, error), 0.0)
    first = between(b, first, -1100.0, 1100.0)
    number, exponent = whole(b, first)
    return scaled(b, power_near_one(b, b.add(b.sub(first, number), tail)), number, exponent)


def _logarithm(b: LegalBuilder, x: Operand) -> tuple[Operand, Operand]:
    """log2 of f64 as a sum of two, to 2^-64 of it or better."""
    exponent, f = near_one(b, x, fields_of(x))
    below, below_low = two_sum(b, f, b.operand(2.0, fields_of(x).number))
    s = b.binary("div", f, below)
    back = b.unary("neg", s)
    s_low = b.binary("div", b.fma(back, below_low, b.fma(back, below, f)), below)
    z, z_low = two_product(b, s, s)
    z_low = b.fma(b.add(s, s), s_low, z_low)
    cubic, cubic_low = two_product(b, z, b.operand(_TWO_THIRDS[0], fields_of(x).number))
    cubic_low = b.fma(z, _TWO_THIRDS[1], b.fma(z_low, _TWO_THIRDS[0], cubic_low))
    rest = b.mul(b.mul(z, z), polynomial(b, z, "log tail"))
    curve, curve_low = fast_two_sum(b, cubic, b.add(rest, cubic_low))
    term, term_low = two_product(b, s, curve)
    term_low = b.fma(s, curve_low, b.fma(s_low, curve, term_low))
    natural, natural_low = fast_two_sum(b, b.add(s, s), term)
    natural_low = b.add(natural_low, b.add(term_low, b.add(s_low, s_low)))
    binary, binary_low = two_product(b, natural, b.operand(_LOG2_E[0], fields_of(x).number))
    binary_low = b.fma(natural, _LOG2_E[1], b.fma(natural_low, _LOG2_E[0], binary_low))
    total, low = two_sum(b, exponent, binary)
    return fast_two_sum(b, total, b.add(low, binary_low))


def _special(
    b: LegalBuilder, x: Operand, y: Operand, magnitude: Operand, powered: Operand
) -> Operand:
    """Zeros, infinities, NaN, and negative bases, whose powers of integers alone are numbers."""
    number = fields_of(x).number
    infinity = b.operand(float("inf"), number)
    rises = b.binary("gt", y, 0.0)
    at_infinity = b.select(rises, infinity, 0.0)
    at_zero = b.select(rises, 0.0, infinity)
    powered = b.select(b.binary("eq", magnitude, 0.0), at_zero, powered)
    powered = b.select(b.binary("eq", magnitude, infinity), at_infinity, powered)
    endless = b.binary("eq", b.unary("abs", y), infinity)
    grows = b.binary("eq", b.binary("gt", magnitude, 1.0), rises)
    limit = b.select(grows, infinity, 0.0)
    limit = b.select(b.binary("eq", magnitude, 1.0), 1.0, limit)
    powered = b.select(endless, limit, powered)
    is_whole = b.binary("eq", b.unary("trunc", y), y)
    half = b.mul(y, 0.5)
    is_odd = b.binary("and", is_whole, b.binary("ne", b.unary("trunc", half), half))
    bits = b.bitcast(x, fields_of(x).integer)
    negative = b.binary("lt", bits, 0)
    powered = b.select(b.binary("and", negative, is_odd), b.unary("neg", powered), powered)
    root = b.binary("and", b.binary("lt", x, 0.0), b.unary("not", is_whole))
    root = b.binary("and", root, b.binary("lt", magnitude, infinity))
    powered = b.select(root, float("nan"), powered)
    unknown = b.binary("or", b.binary("ne", x, x), b.binary("ne", y, y))
    powered = b.select(unknown, float("nan"), powered)
    one = b.binary("or", b.binary("eq", x, 1.0), b.binary("eq", y, 0.0))
    return b.select(one, 1.0, powered)
