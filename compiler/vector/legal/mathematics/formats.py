"""What the functions share: the fields of f32 and f64, polynomials, and sums of two numbers."""

from __future__ import annotations

from dataclasses import dataclass

from dslc.compiler.dtypes import DType
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import dtype_named
from dslc.compiler.vector.legal.mathematics.coefficients import coefficients
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand


@dataclass(frozen=True, slots=True)
class Fields:
    """The type of a float's vector, and of the signed integers that its bits are."""

    number: VectorType
    integer: VectorType

    @property
    def is_single(self) -> bool:
        """Whether it is f32."""
        return self.number.dtype.bits == 32

    @property
    def fraction(self) -> int:
        """The bits of the fraction."""
        return self.number.dtype.mantissa

    @property
    def bias(self) -> int:
        """The exponent's field of 1.0."""
        return (1 << (self.number.dtype.exponent - 1)) - 1


def fields_of(x: Operand) -> Fields:
    """Those of a register of f32 or f64."""
    type_ = vector_type(x)
    return Fields(type_, type_.of(_signed(type_.dtype)))


def _signed(dtype: DType) -> DType:
    return dtype_named(f"i{dtype.bits}")


def polynomial(b: LegalBuilder, x: Operand, name: str) -> Operand:
    """The polynomial of that name's coefficients for x's dtype, by Horner's rule."""
    *rest, last = coefficients(name, single=fields_of(x).is_single)
    total: Operand = b.operand(last, vector_type(x))
    for c in reversed(rest):
        total = b.fma(total, x, b.operand(c, vector_type(x)))
    return total


def whole(b: LegalBuilder, x: Operand, times: float = 1.0) -> tuple[Operand, Operand]:
    """The integer nearest to x * times, as a float and as an integer, below 2^(fraction - 2).

    The sum with 1.5 * 2^fraction has no bits below 1. Of a NaN the float is one, the integer any.
    """
    fields = fields_of(x)
    magic = b.operand(1.5 * 2.0**fields.fraction, fields.number)
    moved = b.add(x, magic) if times == 1.0 else b.fma(x, times, magic)
    integer = b.sub(b.bitcast(moved, fields.integer), b.bitcast(magic, fields.integer))
    return b.sub(moved, magic), integer


def scaled(b: LegalBuilder, x: Operand, number: Operand, exponent: Operand) -> Operand:
    """x * 2^number, of at most twice the format's range, where `exponent` is the number as an integer.

    By an instruction, or by two factors that are in the format's range.
    """
    lanes = b.capabilities.vector_bits // vector_type(x).dtype.bits
    count = vector_type(x).count
    if b.capabilities.scales and vector_type(x).lanes and count % lanes == 0:
        starts = range(0, count, lanes)
        pairs = ((b.part(x, at, lanes), b.part(number, at, lanes)) for at in starts)
        return b.concat(*(b.binary("scale", part, by) for part, by in pairs))
    half = b.binary("rshift", exponent, 1)
    first = b.mul(x, power_of_two(b, x, half))
    return b.mul(first, power_of_two(b, x, b.sub(exponent, half)))


def power_of_two(b: LegalBuilder, like: Operand, exponent: Operand) -> Operand:
    """2^exponent in the type of `like`, where that is a normal number."""
    fields = fields_of(like)
    bits = b.binary("lshift", b.add(exponent, fields.bias), fields.fraction)
    return b.bitcast(bits, fields.number)


def between(b: LegalBuilder, x: Operand, least: float, greatest: float) -> Operand:
    """x moved into a range; NaN stays."""
    x = b.select(b.binary("gt", x, greatest), greatest, x)
    return b.select(b.binary("lt", x, least), least, x)


def two_sum(b: LegalBuilder, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The rounded sum and its error (Knuth)."""
    total = b.add(x, y)
    back = b.sub(total, x)
    return total, b.add(b.sub(x, b.sub(total, back)), b.sub(y, back))


def fast_two_sum(b: LegalBuilder, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The same where x has the greater magnitude, or is 0 (Dekker)."""
    total = b.add(x, y)
    return total, b.sub(y, b.sub(total, x))


def two_product(b: LegalBuilder, x: Operand, y: Operand) -> tuple[Operand, Operand]:
    """The rounded product and its error."""
    product = b.mul(x, y)
    return product, b.fma(x, y, b.unary("neg", product))
