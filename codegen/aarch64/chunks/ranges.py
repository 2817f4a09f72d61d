"""Which integers a tile can hold: intervals through elementwise operations.

A sum of products that stays below 2^22 need not be converted to f32: an accumulator that begins at
0x4B400000, the bits of 1.5 * 2^23, is the bits of 1.5 * 2^23 + sum all the time, since numbers of that
size have a unit of 1 in the last place. One subtraction, which is exact, gives the sum as f32.
"""

from __future__ import annotations

from collections.abc import Mapping

from dslc.compiler.dtypes import DType
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import operands

BIASED = 0x4B400000
LIMIT = 1 << 22
SIXTEENTHS = 0x49400000
"""The bits of 1.5 * 2^19: a number of that size plus n units in the last place is n / 16 more."""

Interval = tuple[int, int]
_SAME = (
    ins.Transpose,
    ins.Reshape,
    ins.Broadcast,
    ins.Repeat,
    ins.Extract,
    ins.ConvertLayout,
)


def interval(value: Value, made: Mapping[Value, ins.Stmt]) -> Interval:
    """The least and the greatest integer that a tile may hold."""
    dtype = value.type.dtype
    whole = dtype.integer_range
    found: Interval | None = None
    match made.get(value):
        case ins.Cast(x=x, saturate=False) if x.type.dtype.is_integer:
            found = interval(x, made)
        case ins.Full(value=number):
            known = constant(number)
            found = None if known is None else (int(known), int(known))
        case ins.Binary(op=op, x=x, y=y):
            found = _combined(op, interval(x, made), interval(y, made))
        case stmt if isinstance(stmt, _SAME):
            (x,) = operands(stmt)
            found = interval(x, made)
        case _:
            pass
    if found is None or found[0] < whole[0] or found[1] > whole[1]:
        return whole  # it may wrap
    return found


def _combined(op: str, x: Interval, y: Interval) -> Interval | None:
    match op:
        case "add":
            return x[0] + y[0], x[1] + y[1]
        case "sub":
            return x[0] - y[1], x[1] - y[0]
        case "mul":
            ends = [a * b for a in x for b in y]
            return min(ends), max(ends)
        case "min" | "max":
            pick = min if op == "min" else max
            return pick(x[0], y[0]), pick(x[1], y[1])
        case "and" if min(x[0], y[0]) >= 0:
            return 0, min(x[1], y[1])
        case _:
            return None


def fits_biased(dot: ins.Dot, made: Mapping[Value, ins.Stmt], out: DType) -> bool:
    """Whether a product's sums, from 0 on, stay where a biased accumulator is exact."""
    if out.name != "f32" or dot.acc is not None or not dot.a.type.dtype.is_integer:
        return False
    if not dot.b.type.dtype.is_integer or dot.out.type.dtype.bits != 32:
        return False
    a, b = interval(dot.a, made), interval(dot.b, made)
    most = max(abs(x * y) for x in a for y in b)
    return most * dot.a.type.shape[-1] < LIMIT
