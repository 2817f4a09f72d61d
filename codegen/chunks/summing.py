"""Loops that do nothing but add up products: their iterations may be swept tile by tile."""

from __future__ import annotations

from collections.abc import Mapping

from dslc.codegen.chunks.driving import Meetings
from dslc.codegen.chunks.planning import LAZY
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.traverse import operands, results


def is_sum(loop: ins.For, kept: frozenset[Value]) -> ins.Dot | None:
    """The one product of a loop that carries one tile and computes nothing that is kept."""
    if len(loop.carried) != 1:
        return None
    dots = [s for s in loop.body if isinstance(s, ins.Dot)]
    if len(dots) != 1 or not all(isinstance(s, (*LAZY, ins.View, ins.Dot)) for s in loop.body):
        return None
    if any(v in kept for s in loop.body for v in results(s) if isinstance(v, Value)):
        return None
    return dots[0]


def adds_up(loop: ins.For, dot: ins.Dot, meetings: Meetings) -> bool:
    """Whether what is carried is read at its own place alone, and goes through the product's result."""
    (carried,) = loop.carried
    if dot.out in meetings.in_place:
        return meetings.in_place[dot.out] is carried.inner
    if meetings.driven.get(dot.out) is not carried.yielded or dot.acc is not None:
        return False
    made = {s.out: s for s in loop.body if isinstance(s, (*LAZY, ins.View))}
    if _reads(dot, carried.inner, made):
        return False
    stack = [carried.yielded]
    while stack:
        value = stack.pop()
        if not isinstance(value, Value) or value is carried.inner:
            continue
        stmt = made.get(value)
        if isinstance(stmt, ins.ELEMENTWISE):
            stack += operands(stmt)
        elif stmt is not None and _reads(stmt, carried.inner, made):
            return False
    return True


def _reads(stmt: ins.Stmt, value: object, made: Mapping[Value, ins.Stmt]) -> bool:
    found = operands(stmt)
    return value in found or any(_reads(made[v], value, made) for v in found if v in made)
