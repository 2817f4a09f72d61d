"""Integer operations of the language, made of those of machines."""

from __future__ import annotations

from dslc.compiler.dtypes import BOOL, F32, F64, I32, DType
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import dtype_named
from dslc.compiler.vector.values import Constant, Operand, Register

_UNSIGNED = {bits: dtype_named(f"u{bits}") for bits in (8, 16, 32, 64)}


def known(x: Operand) -> int | None:
    """The number that all lanes of a constant have."""
    if isinstance(x, Constant) and x.is_splat and x.type.dtype != BOOL:
        return int(x.values[0])
    return None


def shift(b: LegalBuilder, op: str, x: Operand, y: Operand, bits: int) -> Operand:
    """`shl` or `shr` of integers of so many bits: 0 where y is negative or `bits` or more."""
    machine = "lshift" if op == "shl" else "rshift"
    count = known(y)
    if count is not None:
        inside = 0 <= count < bits
        return b.binary(machine, x, y) if inside else b.operand(0, vector_type(x))
    dtype = vector_type(y).dtype
    unsigned = b.bitcast(y, vector_type(y).of(_UNSIGNED[dtype.bits]))
    legal = b.binary("lt", unsigned, bits)
    bounded = b.binary("and", y, dtype.bits - 1)
    return b.select(legal, b.binary(machine, x, bounded), 0)


def divided(b: LegalBuilder, op: str, x: Operand, y: Operand) -> Operand:
    """`floordiv` or `mod`: towards minus infinity, 0 where y is 0."""
    dtype, number = vector_type(x).dtype, known(y)
    if number is not None:
        return _by_constant(b, op, x, number)
    zero = b.binary("eq", y, 0)
    unsafe = zero
    if dtype.is_signed:
        least = dtype.integer_range[0]
        overflows = b.binary("and", b.binary("eq", x, least), b.binary("eq", y, -1))
        unsafe = b.binary("or", zero, overflows)
    divisor = b.select(unsafe, 1, y)
    result = _towards_minus_infinity(b, op, x, divisor)
    return b.select(zero, 0, result)


def _by_constant(b: LegalBuilder, op: str, x: Operand, number: int) -> Operand:
    """A divisor that is known; a power of two is a shift or a mask."""
    if number == 0:
        return b.operand(0, vector_type(x))
    if number == 1:
        return x if op == "floordiv" else b.operand(0, vector_type(x))
    if number == -1:
        return b.unary("neg", x) if op == "floordiv" else b.operand(0, vector_type(x))
    if number > 0 and not number & (number - 1):
        if op == "mod":
            return b.binary("and", x, number - 1)
        return b.binary("rshift", x, number.bit_length() - 1)
    return _towards_minus_infinity(b, op, x, b.operand(number, vector_type(x)))


def _towards_minus_infinity(b: LegalBuilder, op: str, x: Operand, y: Operand) -> Operand:
    quotient = b.binary("quotient", x, y)
    if not vector_type(x).dtype.is_signed:
        return quotient if op == "floordiv" else b.sub(x, b.mul(quotient, y))
    rest = b.sub(x, b.mul(quotient, y))
    opposite = b.binary("lt", b.binary("xor", rest, y), 0)
    below = b.binary("and", opposite, b.binary("ne", rest, 0))
    if op == "floordiv":
        return b.sub(quotient, b.convert(below, vector_type(x).dtype))
    return b.add(rest, b.select(below, y, 0))


def quotient(b: LegalBuilder, x: Operand, y: Operand) -> Operand | None:
    """Vectors by floats that hold their integers, as machines divide no vectors of integers.

    A quotient that is no integer is at least 1 / y away from the nearest one, and rounding errs by less
    than that: f32 for 16 bits (24 of precision), f64 for 32 (53).
    """
    type_ = vector_type(x)
    dtype = type_.dtype
    if type_.lanes is None or known(y) is not None or dtype.bits > 32:
        return None
    wide = F32 if dtype.bits <= 16 else F64
    ratio = b.binary("div", b.convert(x, wide), b.convert(y, wide))
    held = I32 if dtype.bits < 32 else dtype
    return b.convert(b.convert(ratio, held, in_range=True), dtype)


def remainder(b: LegalBuilder, x: Operand, y: Operand) -> Operand | None:
    """x - quotient * y, where the quotient is not the machine's."""
    whole = quotient(b, x, y)
    return None if whole is None else b.sub(x, b.mul(whole, y))


def power(b: LegalBuilder, x: Operand, y: Operand, dtype: DType) -> Operand:
    """x to the y by squaring; a negative exponent leaves 0 but for bases of 1 and -1.

    `dtype` is that of the program, whose container x and y are in.
    """
    type_ = vector_type(x)
    exponent = b.binary("max", y, 0) if dtype.is_signed else y
    one = b.operand(1, type_)

    def test(carried: tuple[Register, ...]) -> list[Operand]:
        left = b.binary("ne", carried[2], 0)
        return [left if type_.lanes is None else b.reduce("or", left)]

    def body(carried: tuple[Register, ...]) -> list[Operand]:
        result, base, left = carried
        odd = b.binary("ne", b.binary("and", left, 1), 0)
        taken = b.mul(result, b.select(odd, base, 1))
        return [taken, b.mul(base, base), b.binary("rshift", left, 1)]

    result: Operand = b.while_([one, x, exponent], test, body)[0]
    if not dtype.is_signed:
        return result
    unit = b.select(b.binary("ne", b.binary("and", y, 1), 0), x, 1)
    is_unit = b.binary("or", b.binary("eq", x, 1), b.binary("eq", x, -1))
    return b.select(b.binary("ge", y, 0), result, b.select(is_unit, unit, 0))
