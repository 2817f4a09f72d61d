"""Operations that no engine has, made of those that one has: statements over tiles that lie alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dslc.codegen.nki.emission import Emission
from dslc.compiler.dtypes import BOOL, F32, I32, U32, DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins

_SPLITTER = 4097.0  # 2^12 + 1: halves the 24 digits of an f32 (Dekker 1971)


@dataclass(frozen=True, slots=True)
class Steps:
    """Writes out instructions over tiles of the shape and place of `like`."""

    e: Emission
    like: Value

    def tile(self, dtype: DType) -> Value:
        """A tile that nothing has filled yet."""
        like = self.like
        return Value(replace(like.type, dtype=dtype), like.name)

    def number(self, value: float, dtype: DType) -> Value:
        """A tile of one number."""
        tile = self.tile(dtype)
        self.e.statement(ins.Full(tile, ex.Const(value, dtype)))
        return tile

    def cast(self, x: Value, dtype: DType) -> Value:
        """Another type; the tile itself where it has it."""
        if x.type.dtype == dtype:
            return x
        out = self.tile(dtype)
        self.e.statement(ins.Cast(out, x))
        return out

    def binary(self, op: str, x: Value, y: Value) -> Value:
        """x op y; comparisons give bool."""
        compares = op in ("eq", "ne", "lt", "le", "gt", "ge")
        out = self.tile(BOOL if compares else x.type.dtype)
        self.e.statement(ins.Binary(out, op, x, y))
        return out

    def unary(self, op: str, x: Value) -> Value:
        """op(x)."""
        out = self.tile(x.type.dtype)
        self.e.statement(ins.Unary(out, op, x))
        return out

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """x where the condition holds, else y."""
        out = self.tile(x.type.dtype)
        self.e.statement(ins.Where(out, condition, x, y))
        return out


def unsigned_quotient(e: Emission, stmt: ins.Binary) -> None:
    """x // y and x % y of u32: twice the quotient of half of x, and at most one more.

    Halves of x are i32, and so is y but where it is 2^31 or more: then the quotient is 0 or 1.
    """
    s, x, y = Steps(e, stmt.out), stmt.x, stmt.y
    one, zero = s.number(1, U32), s.number(0, U32)
    half = s.cast(s.binary("shr", x, one), I32)
    large = s.binary("lt", s.cast(y, I32), s.number(0, I32))
    divisor = s.where(large, s.number(2**31 - 1, I32), s.cast(y, I32))
    quotient = s.binary("shl", s.cast(s.binary("floordiv", half, divisor), U32), one)
    quotient = s.where(large, zero, quotient)
    rest = s.binary("sub", x, s.binary("mul", quotient, y))
    more = s.binary("ge", rest, y)
    if stmt.op == "floordiv":
        whole = s.where(more, s.binary("add", quotient, one), quotient)
    else:
        whole = s.where(more, s.binary("sub", rest, y), rest)
    _give(e, stmt.out, whole)


def unless_zero(e: Emission, stmt: ins.Binary, divided: Value) -> None:
    """What a division has made, and 0 where it was by 0."""
    s, dtype = Steps(e, stmt.out), stmt.y.type.dtype
    by_zero = s.binary("eq", stmt.y, s.number(0, dtype))
    _give(e, stmt.out, s.where(by_zero, s.number(0, dtype), divided))


def within_width(e: Emission, stmt: ins.Binary, shifted: Value) -> None:
    """What a shift has made, and 0 where it was by less than 0 or by more bits than there are."""
    s, dtype = Steps(e, stmt.out), stmt.x.type.dtype
    by = s.cast(stmt.y, U32 if dtype == U32 else I32)
    low = s.binary("ge", by, s.number(0, by.type.dtype))
    high = s.binary("lt", by, s.number(dtype.bits, by.type.dtype))
    inside = s.binary("and", low, high)
    _give(e, stmt.out, s.where(inside, shifted, s.number(0, dtype)))


def integer_power(e: Emission, stmt: ins.Binary) -> None:
    """x ** y modulo the type's range, by the binary digits of y.

    A negative exponent leaves the whole part of the fraction: 0 but for bases of 1 and -1.
    """
    s, dtype = Steps(e, stmt.out), stmt.x.type.dtype
    wide = U32 if dtype == U32 else I32
    base, exponent = s.cast(stmt.x, wide), s.cast(stmt.y, wide)
    one, zero = s.number(1, wide), s.number(0, wide)
    power, square = one, base
    for digit in range(dtype.bits):
        if digit:
            square = s.binary("mul", square, square)
        bit = s.binary("and", s.binary("shr", exponent, s.number(digit, wide)), one)
        power = s.where(s.binary("ne", bit, zero), s.binary("mul", power, square), power)
    if dtype.is_signed:
        unit = s.binary("eq", s.binary("mul", base, base), one)
        whole = s.where(unit, s.binary("sub", one, s.binary("sub", one, power)), zero)
        power = s.where(s.binary("lt", exponent, zero), whole, power)
    _give(e, stmt.out, s.cast(power, dtype))


def float_quotient(e: Emission, stmt: ins.Binary) -> None:
    """x // y and x % y of floats, rounded down, from the nearest whole number to the quotient.

    What it leaves of x is exact as far as f32 has the quotient's digits: its product with y is taken
    in two parts.
    """
    s, dtype = Steps(e, stmt.out), stmt.x.type.dtype
    x, y = s.cast(stmt.x, F32), s.cast(stmt.y, F32)
    zero, one = s.number(0.0, F32), s.number(1.0, F32)
    quotient = s.unary("round", s.binary("div", x, y))
    product, beneath = _product(s, quotient, y)
    rest = s.binary("sub", s.binary("sub", x, product), beneath)
    rest = s.where(s.binary("eq", quotient, zero), x, rest)
    opposite = s.binary("lt", s.binary("mul", _sign(s, rest), _sign(s, y)), zero)
    if stmt.op == "floordiv":
        whole = s.where(opposite, s.binary("sub", quotient, one), quotient)
    else:
        whole = s.where(opposite, s.binary("add", rest, y), rest)
    _give(e, stmt.out, s.cast(whole, dtype))


def _sign(s: Steps, x: Value) -> Value:
    zero = s.number(0.0, F32)
    above, below = (s.cast(s.binary(op, x, zero), F32) for op in ("gt", "lt"))
    return s.binary("sub", above, below)


def _product(s: Steps, x: Value, y: Value) -> tuple[Value, Value]:
    """x y and what rounding it has taken off (Dekker 1971, section 5)."""
    (a, b), (c, d) = _halves(s, x), _halves(s, y)
    product = s.binary("mul", x, y)
    rest = s.binary("sub", s.binary("mul", a, c), product)
    for left, right in ((a, d), (b, c), (b, d)):
        rest = s.binary("add", rest, s.binary("mul", left, right))
    return product, rest


def _halves(s: Steps, x: Value) -> tuple[Value, Value]:
    moved = s.binary("mul", x, s.number(_SPLITTER, F32))
    high = s.binary("sub", moved, s.binary("sub", moved, x))
    return high, s.binary("sub", x, high)


def integer_fma(e: Emission, stmt: ins.Fma) -> None:
    """x * y + z of integers."""
    s = Steps(e, stmt.out)
    _give(e, stmt.out, s.binary("add", s.binary("mul", stmt.x, stmt.y), stmt.z))


def _give(e: Emission, out: Value, found: Value) -> None:
    e.rename(out, e.held(found))
