"""sin and cos: the number less a multiple of pi/2, then one of two polynomials.

The multiple is taken off by fused products with pi/2 in three parts, the first of which are exact
(Cody and Waite). Where a lane is so large that this does not do, it takes the way of Payne and Hanek:
the number times 2/pi in pieces of 24 bits, of which those that give whole turns are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from dslc.compiler.dtypes import F64, I64, INDEX
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import lanes_of
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.mathematics.formats import (
    Fields,
    fields_of,
    polynomial,
    two_product,
    two_sum,
    whole,
)
from dslc.compiler.vector.values import Constant, Operand

_HALF_PI = {
    True: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    False: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_TWO_OVER_PI = 0.6366197723675814
_NEAR = {True: 1e5, False: 1e9}  # the greatest magnitude whose multiple three parts hold
_PIECE = 24  # bits
_DIGITS = 1200  # bits of 2/pi: the largest exponent, and what is left below it
_MOVED = 256  # bits by which pieces are larger, and numbers smaller, so that neither underflows


def sine(b: LegalBuilder, x: Operand) -> Operand:
    """The sine; x itself where that is 0, with its sign."""
    return b.select(b.binary("eq", x, 0.0), x, _turned(b, x, 0))


def cosine(b: LegalBuilder, x: Operand) -> Operand:
    """The cosine, which is the sine a quarter of a turn further on."""
    return _turned(b, x, 1)


def _turned(b: LegalBuilder, x: Operand, quarters: int) -> Operand:
    """The sine of x and so many quarter turns."""
    fields = fields_of(x)
    near = b.binary("le", b.unary("abs", x), _NEAR[fields.is_single])
    far = b.unary("not", near)
    anywhere = far if vector_type(x).lanes is None else b.reduce("or", far)

    def mixed() -> Sequence[Operand]:
        """Lanes that are not large keep their way, on which small ones lose nothing."""
        pairs = zip(_near(b, x, fields), _far(b, x, fields), strict=True)
        return [b.select(near, mine, theirs) for mine, theirs in pairs]

    rest, multiple = b.if_(anywhere, mixed, lambda: _near(b, x, fields), rare=True)
    z = b.mul(rest, rest)
    sine = b.fma(b.mul(rest, z), polynomial(b, z, "sin"), rest)
    half = b.mul(z, 0.5)
    top = b.sub(b.operand(1.0, fields.number), half)
    tail = b.sub(b.sub(b.operand(1.0, fields.number), top), half)
    curve = polynomial(b, z, "cos")
    cosine = b.add(top, b.fma(b.mul(z, z), curve, tail))
    count = b.add(multiple, quarters)
    turned = b.select(b.binary("ne", b.binary("and", count, 1), 0), cosine, sine)
    below = b.binary("ne", b.binary("and", count, 2), 0)
    return b.select(below, b.unary("neg", turned), turned)


def _near(b: LegalBuilder, x: Operand, fields: Fields) -> Sequence[Operand]:
    """The rest and the multiple of pi/2."""
    number, count = whole(b, x, _TWO_OVER_PI)
    rest, back = x, b.unary("neg", number)
    for part in _HALF_PI[fields.is_single]:
        rest = b.fma(back, part, rest)
    return rest, count


def _far(b: LegalBuilder, x: Operand, fields: Fields) -> Sequence[Operand]:
    """The same of any number; NaN of infinities. A function of its own: few kernels come here."""
    types = (fields.number, fields.integer)
    return b.apart(f"quarter_turns_{fields.number}", lambda b, x: _far_rest(b, x, fields), x, types)


def _far_rest(b: LegalBuilder, x: Operand, fields: Fields) -> Sequence[Operand]:
    finite = b.binary("lt", b.unary("abs", x), float("inf"))
    number = b.convert(b.select(finite, x, 0.0), F64)
    if vector_type(number).lanes is None:
        rest, count = (b.extract(r, 0) for r in _payne_hanek(b, b.broadcast(number, 1), fields))
    else:
        rest, count = _payne_hanek(b, number, fields)
    rest = b.convert(rest, fields.number.dtype)
    count = b.convert(count, fields.integer.dtype)
    return b.select(finite, rest, float("nan")), count


def _payne_hanek(b: LegalBuilder, x: Operand, fields: Fields) -> tuple[Operand, Operand]:
    """f64 less its multiple of pi/2, in f64, and the multiple modulo 4, i64."""
    table = b.table(_pieces())
    parts = [x] if fields.is_single else _short_parts(b, x)
    total: Operand = b.operand(0.0, vector_type(x))
    error = total
    for step in range(5 if fields.is_single else 8):
        for part in parts:
            product = b.mul(b.mul(part, 2.0**-_MOVED), _piece(b, table, part, step))
            if step < 2:  # whole turns of it are left out, exactly
                turns = b.unary("round", b.mul(product, 0.25))
                product = b.fma(b.unary("neg", turns), 4.0, product)
            total, low = two_sum(b, total, product)
            error = b.add(error, low)
    number, count = whole(b, total)
    rest, low = two_sum(b, b.sub(total, number), error)
    high, product_low = two_product(b, rest, b.operand(_HALF_PI[False][0], vector_type(x)))
    product_low = b.fma(rest, _HALF_PI[False][1], b.fma(low, _HALF_PI[False][0], product_low))
    return b.add(high, product_low), count


def _short_parts(b: LegalBuilder, x: Operand) -> list[Operand]:
    """f64 as a sum of three numbers of 24 bits at most, so that products with pieces are exact."""
    parts = []
    for _ in range(2):
        bits = b.bitcast(x, vector_type(x).of(I64))
        part = b.bitcast(b.binary("and", bits, -(1 << 29)), vector_type(x))
        parts.append(part)
        x = b.sub(x, part)
    return [*parts, x]


def _piece(b: LegalBuilder, table: Operand, x: Operand, step: int) -> Operand:
    """The piece of 2/pi that is `step` after the first that matters to x, by x's exponent.

    x is a multiple of 2^(e - 23); its products with earlier pieces are multiples of 4.
    """
    bits = b.binary("and", b.bitcast(x, vector_type(x).of(I64)), (1 << 63) - 1)
    exponent = b.sub(b.binary("rshift", bits, 52), 1023)
    first = b.binary("max", b.sub(exponent, 2 * _PIECE + 1), -_PIECE)
    # first >= -24, so that its quotient by 24 is towards 0 after it is moved: by a product and a shift.
    number = b.binary("rshift", b.mul(b.add(first, _PIECE), 0xAAAB), 20)
    return b.gather(table, 8 * step, b.bitcast(number, vector_type(number).of(INDEX)), F64, scale=8)


@functools.cache
def _pieces() -> Constant:
    """2/pi in pieces of 24 bits, each as a float of its own place."""
    mask, all_digits = (1 << _PIECE) - 1, _two_over_pi()
    ends = range(_PIECE, _DIGITS + 1, _PIECE)
    return lanes_of(
        [float((all_digits >> (_DIGITS - end)) & mask) * 2.0 ** (_MOVED - end) for end in ends], F64
    )


def _two_over_pi() -> int:
    """2/pi * 2^1200, cut."""
    return (2 << (2 * _DIGITS + 64)) // _pi(_DIGITS + 64)


def _pi(bits: int) -> int:
    """pi * 2^bits, cut, by Machin's formula: 16 atan(1/5) - 4 atan(1/239)."""
    guard = bits + 64

    def arctangent(inverse: int) -> int:
        power = (1 << guard) // inverse
        total, n, square = power, 1, inverse * inverse
        while power:
            power //= square
            n += 2
            total += power // n if n % 4 == 1 else -(power // n)
        return total

    return (16 * arctangent(5) - 4 * arctangent(239)) >> 64
