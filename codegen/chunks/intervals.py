"""Which integers a tile can hold: intervals through elementwise operations."""

from __future__ import annotations

from collections.abc import Mapping

from dslc.compiler.analysis import intervals
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import operands

Interval = tuple[int, int]


def interval(value: Value, made: Mapping[Value, ins.Stmt]) -> Interval:
    """The least and the greatest integer that a tile may hold."""
    dtype = value.type.dtype
    bounds: intervals.Interval | None = None
    match made.get(value):
        case ins.Cast(x=x, saturate=False) if x.type.dtype.is_integer:
            bounds = interval(x, made)
        case ins.Full(value=number):
            known = constant(number)
            bounds = None if known is None else (int(known), int(known))
        case ins.Binary(op=op, x=x, y=y) if x.type.dtype.is_integer:
            both = interval(x, made), interval(y, made)
            bounds = intervals.of_binary(op, *both, x.type.dtype)
        case stmt if isinstance(stmt, intervals.MOVES):
            (x,) = operands(stmt)
            bounds = interval(x, made)
        case _:
            pass
    low, high = intervals.held(bounds, dtype)
    return int(low), int(high)
