"""Quotients and remainders of integers, which round down: no engine divides integers.

A product with the reciprocal in f32 gives a quotient that is nearly right, GpSimd's exact integers what
it leaves. For 32 bits each further one divides the rest of the one before, which is 2^22 times smaller;
for fewer bits the first is enough. Whether the last was rounded up is told by the sign of what is left.
"""

from __future__ import annotations

from dslc.codegen.nki.arithmetic.combining import combine, widened, wrap
from dslc.codegen.nki.arithmetic.composed import unsigned_quotient
from dslc.codegen.nki.arithmetic.reciprocals import inverse
from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.copying import copy
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.dtypes import F32, I32
from dslc.compiler.ir import instructions as ins

_EXACT = "nisa.engine.gpsimd"
_ROUNDS = 3


def divide(e: Emission, stmt: ins.Binary, x: TileValue, y: TileValue) -> None:
    """out = x // y or x % y, rounded down; wraps as other operations do."""
    dtype = stmt.x.type.dtype
    if dtype.bits == 32 and not dtype.is_signed:
        unsigned_quotient(e, stmt)
        return
    a, b = widened(e, x, I32), widened(e, y, I32)
    quotient, rest = _nearest(e, a, b, _ROUNDS if dtype.bits == 32 else 1)
    beyond = _beyond(e, rest, b)
    if stmt.op == "floordiv":
        whole = _exact(e, "quotient", "nl.subtract", quotient, beyond)
    else:
        back = _exact(e, "back", "nl.multiply", beyond, b)
        whole = _exact(e, "rest", "nl.add", rest, back)
    e.rename(stmt.out, whole if dtype == I32 else wrap(e, whole, dtype))


def _nearest(e: Emission, a: TileValue, b: TileValue, rounds: int) -> tuple[TileValue, TileValue]:
    """The whole number nearest to the quotient, or one beside it, and what it leaves."""
    inverted = inverse(e, b)
    quotient, rest = None, a
    for _ in range(rounds):
        part = e.like(a, "part", I32)
        combine(e, part, "nl.multiply", _float(e, rest), inverted)
        taken = _exact(e, "taken", "nl.multiply", part, b)
        rest = _exact(e, "rest", "nl.subtract", rest, taken)
        if quotient is not None:
            part = _exact(e, "quotient", "nl.add", quotient, part)
        quotient = part
    assert quotient is not None
    return quotient, rest


def _beyond(e: Emission, rest: TileValue, b: TileValue) -> TileValue:
    """1 where the rest has not the divisor's sign: the quotient was rounded up."""
    value = _float(e, rest)
    signs = []
    for held in (value, _float(e, b)):
        below = e.like(held, "below", F32)
        _compare(e, below, "nl.less", held)
        signs.append(below)
    other, some, both = (e.like(value, n, F32) for n in ("other", "some", "both"))
    combine(e, other, "nl.not_equal", signs[0], signs[1])
    _compare(e, some, "nl.not_equal", value)
    combine(e, both, "nl.multiply", other, some)
    beyond = e.like(value, "beyond", I32)
    copy(e, beyond, both)
    return beyond


def _compare(e: Emission, made: TileValue, op: str, x: TileValue) -> None:
    with e.filled(made) as at:
        e.call("tensor_scalar", dst=e.text(made, at), data=e.text(x, at), op0=op, operand0=0.0)


def _float(e: Emission, held: TileValue) -> TileValue:
    number = e.like(held, "number", F32)
    copy(e, number, held)
    return number


def _exact(e: Emission, hint: str, op: str, x: TileValue, y: TileValue) -> TileValue:
    out = e.like(x, hint, I32)
    with e.filled(out) as at:
        e.call(
            "tensor_tensor",
            dst=e.text(out, at),
            data1=e.text(x, at),
            data2=e.text(y, at),
            op=op,
            engine=_EXACT,
        )
    return out
