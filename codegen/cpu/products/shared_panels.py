"""Blocks of rows that share the second operand's panel, as BLIS orders its loops.

    for m, n in turns:                    for n:
        for k in blocks:                      for some m, as many as the caches hold sums of:
            b[k, n] into its panel                for k in blocks:
            a[m, k] into its panel    ->              b[k, n] into its panel
            acc += their product                      for each m: a[m, k] into its panel
        acc into c[m, n]                                          acc[m] += their product
                                                  for each m: acc[m] into c[m, n]

So b is read, converted and zipped once for many rows (Goto and van de Geijn, "Anatomy of
High-Performance Matrix Multiplication", 2008). It is done where a turn is one loop that adds up
products, and b does not change along an axis of the grid. A turn may also be a branch of which the
other part is of this kind: the one for a single row is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from dslc.codegen.chunks.grid import turn_variables
from dslc.codegen.chunks.nests import each
from dslc.codegen.chunks.planning import LAZY
from dslc.codegen.cpu.blocks import giving_nothing
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.products.sweeps import Sweep, run, sweep_of
from dslc.codegen.cpu.statements import keep, scratch_for
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import GridAxis, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, constant, linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import (
    add,
    cdiv,
    div,
    largest,
    least,
    mul,
    sub,
)
from dslc.compiler.ir.traverse import uses_of
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission

_MOST = 64  # blocks of rows: beyond, filling the panel is below a hundredth of the work


@dataclass(frozen=True, slots=True)
class Shared:
    """A kernel of this kind: the axis of its rows, and the statements around the loop of products."""

    axis: GridAxis
    before: tuple[Any, ...]
    loop: ins.For
    after: tuple[ins.Stmt, ...]
    sweep: Sweep
    changing: frozenset[ex.Var]  # scalars that are other ones for other rows
    alone: ins.If | None = None  # blocks for which its condition holds do its first part


def shared(e: Emission) -> Shared | None:
    """The kernel as one of this kind, if it is."""
    before, body = _split(e.kernel.body)
    alone = None
    if len(body) == 1 and isinstance(body[0], ins.If) and not body[0].joined:
        alone = body[0]
        more, body = _split(alone.otherwise)
        before = (*before, *more)
    if not body or not isinstance(loop := body[0], ins.For):
        return None
    tiles = [s for s in before if not isinstance(s, ins.Let)]
    if any(s.out in e.kept for s in tiles):
        return None
    for stmt in tiles:
        e.define(stmt.out, stmt)
    sweep = sweep_of(e, loop, shared=True)
    if sweep is None or sweep.job.direct:
        return None
    dot = sweep.job.dot
    of_b = [sweep.job.b.value, *([dot.scale_b] if dot.scale_b else [])]
    uses = (*of_b, loop.start, loop.stop, loop.step, e.extent(dot.out, 1))
    for axis in reversed(e.kernel.grid):
        changing = _changing(axis.var, (*before, *loop.body))
        if not any(_varies(e, use, changing) for use in uses):
            return Shared(axis, before, loop, body[1:], sweep, changing, alone)
    return None


def _split(body: Sequence[ins.Stmt]) -> tuple[tuple[Any, ...], tuple[ins.Stmt, ...]]:
    """The tiles and scalars that a body begins with, and what follows them."""
    begins = (*LAZY, ins.View, ins.Let)
    at = next((k for k, s in enumerate(body) if not isinstance(s, begins)), len(body))
    return tuple(body[:at]), tuple(body[at:])


def _changing(var: ex.Var, body: Sequence[ins.Stmt]) -> frozenset[ex.Var]:
    """A variable, and the scalars of a body that are made of it."""
    found = {var}
    for stmt in body:
        if isinstance(stmt, ins.Let) and found & set(ex.walk(stmt.value)):
            found.add(stmt.var)
    return frozenset(found)


def _varies(e: Emission, use: Value | ex.Expr, changing: frozenset[ex.Var]) -> bool:
    """Whether a tile or a scalar is made of what changes; what is not known here does."""
    if isinstance(use, Value):
        stmt = e.lazy.get(use)
        return stmt is None or any(_varies(e, u, changing) for u in uses_of(stmt))
    return any(
        x in changing if isinstance(x, ex.Var) else isinstance(x, ex.Read) for x in ex.walk(use)
    )


def turns(e: Emission, kind: Shared, begin: Operand, end: Operand) -> None:
    """The turns from `begin` up to `end`, those of a row of blocks one after another."""
    axis = kind.axis
    down = simplify(largest(1, cdiv(sub(axis.stop, axis.start), axis.step)))
    first, last = e.fresh("first"), e.fresh("last")
    for var, value in ((first, begin), (last, end)):
        e.bind(var, value)
        e.natural.add(var)
    (carried,) = kind.loop.carried
    assert isinstance(carried.inner, Value)
    home = scratch_for(e, carried.inner)
    size = prod(int(constant(x) or 0) for x in home.shape) * home.size
    size = -(-size // 64) * 64
    most = max(1, min(_MOST, e.machine.l3 // 2 // size))
    e.reserve((most - 1) * size)  # behind the first one's

    def column(number: Linear) -> None:
        others = [a for a in e.kernel.grid if a is not axis]
        for other, value in turn_variables(others, to_expr(number)):
            _bind(e, other, value)
        origin = mul(to_expr(number), down)
        low = simplify(largest(0, sub(first, origin)))
        left = simplify(sub(least(down, sub(last, origin)), low))

        def some(block: Linear) -> None:
            start = simplify(add(low, mul(to_expr(block), most)))
            count = simplify(least(most, sub(left, mul(to_expr(block), most))))
            _rows(e, kind, home, size, start, count)

        each(e, ex.index(0), simplify(cdiv(left, most)), 1, some, movable=False)

    each(e, div(first, down), simplify(cdiv(last, down)), 1, column, movable=False)


def _rows(
    e: Emission, kind: Shared, home: Array, size: int, start: ex.Expr, count: ex.Expr
) -> None:
    """Some blocks of rows of one block of columns; the sums of each lie `size` bytes further on."""
    (carried,) = kind.loop.carried
    init, result = carried.init, carried.result
    assert isinstance(init, Value)
    assert isinstance(result, Value)
    _begin(e, kind, changing=False)

    def bind(number: Linear) -> None:
        axis = kind.axis
        _bind(e, axis, add(axis.start, mul(add(start, to_expr(number)), axis.step)))
        _begin(e, kind, changing=True)

    def each_block(body: Callable[[Array], None], alone: Callable[[], None]) -> None:
        def one(number: Linear) -> None:
            bind(number)

            def shared() -> None:
                moved = e.b.advance(home.pointer, e.sum(number.scale(size)))
                body(replace(home, pointer=moved, level=e.level))

            if kind.alone is None:
                shared()
            else:
                condition = e.scalar(kind.alone.condition)
                e.choose(condition, giving_nothing(alone), giving_nothing(shared))
            e.forget()

        each(e, ex.index(0), count, 1, one, movable=False)
        e.vars.pop(kind.axis.var)

    def begin(place: Array) -> None:
        keep(e, init, place)

    def multiplied() -> None:
        each_block(begin, lambda: None)
        run(e, kind.sweep, lambda body: each_block(body, lambda: None))

    def finish(place: Array) -> None:
        e.settle(result, place)
        e.body(kind.after)

    if kind.alone is None:
        multiplied()
        each_block(finish, lambda: None)
        return
    alone = kind.alone
    with e.loop("some", ex.index(0), count, 1, [e.b.operand(False, VectorType(BOOL))]) as (
        at,
        loop,
    ):
        bind(at)
        together = e.b.unary("not", e.scalar(alone.condition))
        loop.yields = (e.b.binary("or", loop.carried[0], together),)
    e.vars.pop(kind.axis.var)
    e.when(loop.results[0], multiplied)
    each_block(finish, lambda: e.body(alone.then))


def _begin(e: Emission, kind: Shared, *, changing: bool) -> None:
    """What the loop of products is made of: scalars of all rows, or those of one block."""
    for stmt in kind.before:
        if not isinstance(stmt, ins.Let):
            e.define(stmt.out, stmt)
        elif (stmt.var in kind.changing) is changing:
            e.bind(stmt.var, e.scalar(stmt.value))


def _bind(e: Emission, axis: GridAxis, value: ex.Expr) -> None:
    """The variable of an axis of the grid."""
    e.bind(axis.var, e.scalar(simplify(value)))
    if e.is_natural(linear(axis.start)):
        e.natural.add(axis.var)
