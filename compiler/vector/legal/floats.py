"""Operations of f32 and f64 that machines have otherwise than the language."""

from __future__ import annotations

from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import dtype_named
from dslc.compiler.vector.values import Operand, Register

_STEP = 20  # bits of quotient an iteration of the remainder takes off


def extreme(b: LegalBuilder, op: str, x: Operand, y: Operand) -> Operand:
    """`min` or `max`, NaN where one of them is: a machine's gives its second operand then."""
    chosen = b.select(b.binary("lt" if op == "min" else "gt", x, y), x, y)
    return b.select(b.binary("ne", x, x), x, chosen)


def _bits(b: LegalBuilder, x: Operand) -> Operand:
    type_ = vector_type(x)
    return b.bitcast(x, type_.of(dtype_named(f"i{type_.dtype.bits}")))


def with_sign(b: LegalBuilder, x: Operand, sign: Operand) -> Operand:
    """The magnitude of x with the sign of another."""
    type_ = vector_type(x)
    top = -(1 << (type_.dtype.bits - 1))
    bits = b.binary("or", b.binary("and", _bits(b, x), ~top), b.binary("and", _bits(b, sign), top))
    return b.bitcast(bits, type_)


def remainder(b: LegalBuilder, x: Operand, y: Operand) -> Operand:
    """C's fmod, exact: the rest of a division towards 0.

    Each iteration takes off a multiple of y * 2^k whose quotient has few bits. The fused difference is
    exact: it is a multiple of the lesser of the last places of both and below y * 2^k.
    """
    type_ = vector_type(x)
    fraction = type_.dtype.mantissa
    divisor = b.unary("abs", y)

    def going(rest: Operand) -> Operand:
        return b.binary("ge", rest, divisor)

    def test(carried: tuple[Register, ...]) -> list[Operand]:
        left = going(carried[0])
        return [left if type_.lanes is None else b.reduce("or", left)]

    def body(carried: tuple[Register, ...]) -> list[Operand]:
        rest = carried[0]
        apart = b.sub(_exponent(b, rest), _exponent(b, divisor))
        apart = b.binary("max", b.sub(apart, _STEP), 0)
        bias = (1 << (type_.dtype.exponent - 1)) - 1
        half = b.binary("rshift", apart, 1)  # 2^apart may be past the range, its root is not
        scale = b.bitcast(b.binary("lshift", b.add(half, bias), fraction), type_)
        other = b.bitcast(b.binary("lshift", b.add(b.sub(apart, half), bias), fraction), type_)
        step = b.mul(b.mul(divisor, scale), other)
        count = b.unary("trunc", b.binary("div", rest, step))
        less = b.fma(b.unary("neg", count), step, rest)
        less = b.select(b.binary("lt", less, 0.0), b.add(less, step), less)
        less = b.select(b.binary("ge", less, step), b.sub(less, step), less)
        return [b.select(going(rest), less, rest)]

    finite = b.binary("lt", b.unary("abs", x), float("inf"))
    legal = b.binary("and", finite, b.binary("gt", divisor, 0.0))
    start = b.select(legal, b.unary("abs", x), 0.0)
    (rest,) = b.while_([start], test, body)
    signed = with_sign(b, rest, x)
    signed = b.select(legal, signed, float("nan"))
    return b.select(b.binary("ne", y, y), y, signed)


def _exponent(b: LegalBuilder, x: Operand) -> Operand:
    """The exponent of a number that is not negative, as its field would be had subnormals one."""
    dtype = vector_type(x).dtype
    least = 2.0 ** (2 - (1 << (dtype.exponent - 1)))
    subnormal, up = b.binary("lt", x, least), dtype.mantissa + 1
    normal = b.select(subnormal, b.mul(x, 2.0**up), x)
    field = b.binary("rshift", _bits(b, normal), dtype.mantissa)
    return b.sub(field, b.select(subnormal, b.operand(up, vector_type(field)), 0))


def divided(b: LegalBuilder, op: str, x: Operand, y: Operand) -> Operand:
    """`mod` has the sign of y; `floordiv` is the whole quotient that belongs to it, as NumPy's are."""
    rest = remainder(b, x, y)
    inexact = b.binary("ne", rest, 0.0)
    opposite = b.binary("ne", b.binary("lt", y, 0.0), b.binary("lt", rest, 0.0))
    below = b.binary("and", inexact, opposite)
    if op == "mod":
        whole = b.select(below, b.add(rest, y), rest)
        return b.select(inexact, whole, with_sign(b, b.operand(0.0, vector_type(x)), y))
    quotient = b.binary("div", b.sub(x, rest), y)
    quotient = b.select(below, b.sub(quotient, 1.0), quotient)
    floor = b.unary("floor", quotient)
    floor = b.select(b.binary("gt", b.sub(quotient, floor), 0.5), b.add(floor, 1.0), floor)
    ratio = b.binary("div", x, y)
    zero = with_sign(b, b.operand(0.0, vector_type(x)), ratio)
    whole = b.select(b.binary("ne", quotient, 0.0), floor, zero)
    return b.select(b.binary("eq", y, 0.0), ratio, whole)
