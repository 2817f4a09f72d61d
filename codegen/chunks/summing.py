"""Loops that do nothing but add up products: their iterations may be swept tile by tile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dslc.codegen.chunks.driving import Meetings
from dslc.codegen.chunks.planning import LAZY
from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import cdiv, mul, sub
from dslc.compiler.ir.rewrite import Substitution
from dslc.compiler.ir.traverse import operands, results


@dataclass(frozen=True, slots=True)
class Swept:
    """A loop of this kind, whose iterations may be begun in any order."""

    loop: ins.For

    @property
    def trips(self) -> ex.Expr:
        """How many iterations the loop has."""
        loop = self.loop
        return simplify(cdiv(sub(loop.stop, loop.start), loop.step))

    def begin_iteration(self, e: Tiles[Any, Any], iteration: Linear) -> None:
        """Define what the loop's body is made of, for the iteration of that number."""
        loop = self.loop
        here = simplify(ex.Binary("add", loop.start, mul(to_expr(iteration), loop.step), INDEX))
        begun = Substitution(scalars={loop.var: here})
        e.forget()
        for stmt in begun.body(loop.body):
            if isinstance(stmt, ins.Let):
                begun.bind(stmt.var, stmt.value)
            else:
                _define(e, stmt)


def sum_of(e: Tiles[Any, Any], loop: ins.For) -> ins.Dot | None:
    """The product that a loop of this kind adds up, two axes by two; its body is defined."""
    dot = is_sum(loop, e.kept)
    if dot is None or dot.out.type.rank != 2 or not adds_up(loop, dot, e.plan):
        return None
    for stmt in loop.body:
        _define(e, stmt)
    return dot


def _define(e: Tiles[Any, Any], stmt: ins.Stmt) -> None:
    if not isinstance(stmt, ins.Dot):
        assert isinstance(stmt, (*LAZY, ins.View))
        e.define(stmt.out, stmt)


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
    defining = {s.out: s for s in loop.body if isinstance(s, (*LAZY, ins.View))}
    if _reads(dot, carried.inner, defining):
        return False
    stack = [carried.yielded]
    while stack:
        value = stack.pop()
        if not isinstance(value, Value) or value is carried.inner:
            continue
        stmt = defining.get(value)
        if isinstance(stmt, ins.ELEMENTWISE):
            stack += operands(stmt)
        elif stmt is not None and _reads(stmt, carried.inner, defining):
            return False
    return True


def _reads(stmt: ins.Stmt, value: object, made: Mapping[Value, ins.Stmt]) -> bool:
    read = operands(stmt)
    return value in read or any(_reads(made[v], value, made) for v in read if v in made)
