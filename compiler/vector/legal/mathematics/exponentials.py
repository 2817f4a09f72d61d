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

# (e^r - 1 - r) / r^2 for |r| up to ln(2) / 2.
_EXP_SINGLE = (
    0.5,
    0.16666576266288757,
    0.04166655242443085,
    0.00836323294788599,
    0.0013926250394433737,
)
_EXP_DOUBLE = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326084, 0.0013888888888883711,
    0.0001984126987500228, 2.480158732567746e-05, 2.755725517000089e-06, 2.755727347871858e-07,
    2.5105312729622103e-08, 2.09147553258932e-09,
)  # fmt: skip
# (2^r - 1) / r for |r| up to 1/2.
_EXP2_SINGLE = (
    0.6931471824645996, 0.24022650718688965, 0.055503569543361664, 0.009618083015084267,
    0.0013390863314270973, 0.00015453163359779865,
)  # fmt: skip
_EXP2_DOUBLE = (
    0.6931471805599453, 0.24022650695910072, 0.055504108664821625, 0.00961812910762848,
    0.001333355814640647, 0.00015403530393370734, 1.5252733841556773e-05, 1.3215486808705563e-06,
    1.0178057087733941e-07, 7.0548973041554995e-09, 4.4558179083360645e-10, 2.5729324177362305e-11,
)  # fmt: skip
_LOG2_E = 1.4426950408889634
_LN2_SINGLE = (0.693145751953125, 1.428606765330187e-06)  # the first has 9 bits to spare
_LN2_DOUBLE = (0.693147180559663, 2.8235290563031577e-13)


def exp(b: LegalBuilder, x: Operand) -> Operand:
    """e^x; x is cut where the result is infinite or 0 anyway."""
    single = fields_of(x).is_single
    x = between(b, x, *((-104.0, 89.0) if single else (-746.0, 710.0)))
    number, exponent = whole(b, b.mul(x, _LOG2_E))
    back = b.unary("neg", number)
    high, low = _LN2_SINGLE if single else _LN2_DOUBLE
    rest = b.fma(back, low, b.fma(back, high, x))
    curve = polynomial(b, rest, _EXP_SINGLE if single else _EXP_DOUBLE)
    return scaled(b, b.add(b.fma(b.mul(rest, rest), curve, rest), 1.0), exponent)


def exp2(b: LegalBuilder, x: Operand) -> Operand:
    """2^x."""
    x = between(b, x, *((-151.0, 129.0) if fields_of(x).is_single else (-1076.0, 1025.0)))
    number, exponent = whole(b, x)
    return scaled(b, power_near_one(b, b.sub(x, number)), exponent)


def power_near_one(b: LegalBuilder, x: Operand) -> Operand:
    """2^x for |x| up to 1/2."""
    curve = polynomial(b, x, _EXP2_SINGLE if fields_of(x).is_single else _EXP2_DOUBLE)
    return b.add(b.mul(x, curve), 1.0)


def sigmoid(b: LegalBuilder, x: Operand) -> Operand:
    """1 / (1 + e^-x), as the language has it."""
    down = b.add(b.unary("exp", b.unary("neg", x)), 1.0)
    return b.binary("div", b.operand(1.0, fields_of(x).number), down)
