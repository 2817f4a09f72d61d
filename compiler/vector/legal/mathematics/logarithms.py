"""Logarithms: of a number near 1, by the series of its quotient s = f / (2 + f), and of its exponent.

log(1 + f) = log((1 + s) / (1 - s)) = f - f^2 / 2 + s * (f^2 / 2 + R(s^2)), as in FreeBSD's msun.
"""

from __future__ import annotations

from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.mathematics.formats import Fields, fields_of, polynomial
from dslc.compiler.vector.values import Operand

_LN2 = {
    True: (0.693145751953125, 1.428606765330187e-06),
    False: (0.693147180559663, 2.8235290563031577e-13),
}
# 1 / ln(2), the first with half the bits.
_INVERSE = {
    True: (1.4423828125, 0.00031222839606925845),
    False: (1.4426950216293335, 1.9259629911266175e-08),
}
_ROOT_HALF = {True: 0x3F3504F3, False: 0x3FE6A09E667F3BCD}


def log(b: LegalBuilder, x: Operand) -> Operand:
    """The natural logarithm."""
    fields = fields_of(x)
    exponent, f = near_one(b, x, fields)
    half, curve = _series(b, f, fields)
    high, low = _LN2[fields.is_single]
    tail = b.sub(b.sub(half, b.fma(exponent, low, curve)), f)
    return _finished(b, x, b.fma(exponent, high, b.unary("neg", tail)))


def log2(b: LegalBuilder, x: Operand) -> Operand:
    """The logarithm to base 2; exact for powers of 2."""
    fields = fields_of(x)
    exponent, f = near_one(b, x, fields)
    half, curve = _series(b, f, fields)
    # f - half in two numbers, of which the first times the first of 1 / ln(2) is exact.
    bits = b.bitcast(b.sub(f, half), fields.integer)
    keep = -(1 << (12 if fields.is_single else 32))
    upper = b.bitcast(b.binary("and", bits, keep), fields.number)
    lower = b.add(b.sub(b.sub(f, upper), half), curve)
    high, low = _INVERSE[fields.is_single]
    first = b.mul(upper, high)
    total = b.add(exponent, first)
    error = b.add(b.sub(exponent, total), first)
    error = b.add(error, b.fma(b.add(lower, upper), low, b.mul(lower, high)))
    return _finished(b, x, b.add(total, error))


def near_one(b: LegalBuilder, x: Operand, fields: Fields) -> tuple[Operand, Operand]:
    """k and f of a positive number: x = 2^k * (1 + f), 1 + f from sqrt(1/2) up to sqrt(2)."""
    least = 2.0 ** (1 - fields.bias)
    up = fields.fraction + 2
    subnormal = b.binary("lt", x, least)
    normal = b.select(subnormal, b.mul(x, 2.0**up), x)
    bits = b.bitcast(normal, fields.integer)
    exponent = b.binary("rshift", b.sub(bits, _ROOT_HALF[fields.is_single]), fields.fraction)
    mantissa = b.sub(bits, b.binary("lshift", exponent, fields.fraction))
    exponent = b.sub(exponent, b.select(subnormal, b.operand(up, fields.integer), 0))
    number = b.convert(exponent, fields.number.dtype)
    return number, b.sub(b.bitcast(mantissa, fields.number), 1.0)


def _series(b: LegalBuilder, f: Operand, fields: Fields) -> tuple[Operand, Operand]:
    """f^2 / 2, and s * (f^2 / 2 + R(s^2))."""
    s = b.binary("div", f, b.add(f, 2.0))
    z = b.mul(s, s)
    half = b.mul(b.mul(f, f), 0.5)
    rest = b.mul(z, polynomial(b, z, "log"))
    return half, b.mul(s, b.add(half, rest))


def _finished(b: LegalBuilder, x: Operand, logarithm: Operand) -> Operand:
    """The logarithms of 0, infinity, and of what has none."""
    infinity = b.operand(float("inf"), fields_of(x).number)
    logarithm = b.select(b.binary("eq", x, infinity), infinity, logarithm)
    logarithm = b.select(b.binary("eq", x, 0.0), float("-inf"), logarithm)
    return b.select(b.binary("ge", x, 0.0), logarithm, float("nan"))


def rsqrt(b: LegalBuilder, x: Operand) -> Operand:
    """1 / sqrt(x), both rounded, as the language has it."""
    return b.binary("div", b.operand(1.0, fields_of(x).number), b.unary("sqrt", x))
