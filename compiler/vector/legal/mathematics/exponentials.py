"""e^x and 2^x: 2^k times a polynomial over half a binade on both sides of 1."""

from __future__ import annotations

from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.mathematics.formats import (
    between,
    fields_of,
    polynomial,
    scaled,
    whole,
)
from dslc.compiler.vector.values import Operand

_LOG2_E = 1.4426950408889634
_LN2_SINGLE = (0.693145751953125, 1.428606765330187e-06)  # the first has 9 bits to spare
_LN2_DOUBLE = (0.693147180559663, 2.8235290563031577e-13)


def exp(b: LegalBuilder, x: Operand) -> Operand:
    """e^x; x is cut where the result is infinite or 0 anyway."""
    single = fields_of(x).is_single
    x = between(b, x, *((-104.0, 89.0) if single else (-746.0, 710.0)))
    number, exponent = whole(b, x, _LOG2_E)
    back = b.unary("neg", number)
    high, low = _LN2_SINGLE if single else _LN2_DOUBLE
    rest = b.fma(back, low, b.fma(back, high, x))
    curve = polynomial(b, rest, "exp")
    return scaled(b, b.add(b.fma(b.mul(rest, rest), curve, rest), 1.0), number, exponent)


def exp2(b: LegalBuilder, x: Operand) -> Operand:
    """2^x."""
    x = between(b, x, *((-151.0, 129.0) if fields_of(x).is_single else (-1076.0, 1025.0)))
    number, exponent = whole(b, x)
    return scaled(b, power_near_one(b, b.sub(x, number)), number, exponent)


def power_near_one(b: LegalBuilder, x: Operand) -> Operand:
    """2^x for |x| up to 1/2."""
    curve = polynomial(b, x, "exp2")
    return b.add(b.mul(x, curve), 1.0)


def sigmoid(b: LegalBuilder, x: Operand) -> Operand:
    """1 / (1 + e^-x), as the language has it."""
    down = b.add(b.unary("exp", b.unary("neg", x)), 1.0)
    return b.binary("div", b.operand(1.0, fields_of(x).number), down)
