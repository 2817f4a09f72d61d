"""tanh and erf: polynomials near 0, then 1 less something small."""

from __future__ import annotations

from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.floats import with_sign
from dslc.compiler.vector.legal.mathematics.formats import between, fields_of, polynomial
from dslc.compiler.vector.values import Operand


def tanh(b: LegalBuilder, x: Operand) -> Operand:
    """Near 0 a polynomial, else 1 - 2 / (e^(2 |x|) + 1)."""
    fields = fields_of(x)
    magnitude = b.unary("abs", x)
    grown = b.add(b.unary("exp", b.add(magnitude, magnitude)), 1.0)
    far = b.binary("div", b.operand(2.0, fields.number), grown)
    far = b.sub(b.operand(1.0, fields.number), far)
    z = b.mul(x, x)
    near = b.fma(
        b.mul(magnitude, z),
        polynomial(b, z, "tanh"),
        magnitude,
    )
    result = b.select(b.binary("lt", magnitude, 0.625), near, far)
    return with_sign(b, result, x)


def erf(b: LegalBuilder, x: Operand) -> Operand:
    """Near 0 a polynomial, else 1 - e^p(|x|), p a polynomial for the logarithm of what is missing."""
    fields = fields_of(x)
    magnitude = b.unary("abs", x)
    z = b.mul(x, x)
    near = b.fma(magnitude, polynomial(b, z, "erf"), magnitude)
    missing = _log_erfc(b, between(b, magnitude, 1.0, 4.0 if fields.is_single else 6.0))
    far = b.sub(b.operand(1.0, fields.number), b.unary("exp", missing))
    return with_sign(b, b.select(b.binary("lt", magnitude, 1.0), near, far), x)


def _log_erfc(b: LegalBuilder, x: Operand) -> Operand:
    """From 1 on."""
    if fields_of(x).is_single:
        return polynomial(b, b.sub(x, 2.5), "log erfc")
    near = polynomial(b, b.sub(x, 1.625), "log erfc")
    far = polynomial(b, b.sub(x, 4.125), "log erfc far")
    return b.select(b.binary("lt", x, 2.25), near, far)
