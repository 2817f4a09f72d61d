"""Which integers a tile can hold: intervals through elementwise operations."""

from __future__ import annotations

from collections.abc import Mapping

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import operands

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
    bounds: Interval | None = None
    match made.get(value):
        case ins.Cast(x=x, saturate=False) if x.type.dtype.is_integer:
            bounds = interval(x, made)
        case ins.Full(value=number):
            known = constant(number)
            bounds = None if known is None else (int(known), int(known))
        case ins.Binary(op=op, x=x, y=y):
            bounds = _combined(op, interval(x, made), interval(y, made))
        case stmt if isinstance(stmt, _SAME):
            (x,) = operands(stmt)
            bounds = interval(x, made)
        case _:
            pass
    if bounds is None or bounds[0] < whole[0] or bounds[1] > whole[1]:
        return whole  # it may wrap
    return bounds


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
