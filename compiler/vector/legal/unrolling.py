"""Loops whose body is written several times between the branches, and a loop over what is left.

    for %i in range(%n, %m, 4) unroll 2 { ... }

becomes

    %left = max(%m - %n, 0)
    %last = %n + (%left - %left % 8)
    for %i in range(%n, %last, 8) { ... of %i; ... of %i + 4 }
    for %i in range(%last, %m, 4) { ... }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.compiler.vector.function import Block, For, Return
from dslc.compiler.vector.values import Operand, Register

if TYPE_CHECKING:
    from dslc.compiler.vector.legal.legalise import Legaliser


def unroll(legaliser: Legaliser, stmt: For) -> None:
    """Write the loop so; its results are those of the second loop."""
    b, was_copying = legaliser.b, legaliser.copying
    if stmt.block.body and isinstance(stmt.block.body[-1], Return):
        legaliser.control(replace(stmt, unroll=1))
        return
    begin, end = legaliser.read(stmt.begin), legaliser.read(stmt.end)
    forth = stmt.step > 0
    left = b.binary("max", b.sub(end, begin) if forth else b.sub(begin, end), 0)
    whole = b.sub(left, b.binary("mod", left, abs(stmt.step) * stmt.unroll))
    last = b.add(begin, whole) if forth else b.sub(begin, whole)
    legaliser.copying = True
    starts: Sequence[Operand] = legaliser.reads(stmt.starts)
    for first, until, times in ((begin, last, stmt.unroll), (last, end, 1)):
        starts = _copies(legaliser, stmt, (first, until), starts, times)
    legaliser.copying = was_copying
    legaliser.held.update(zip(stmt.outs, starts, strict=True))


def _copies(
    legaliser: Legaliser,
    stmt: For,
    bounds: tuple[Operand, Operand],
    starts: Sequence[Operand],
    times: int,
) -> tuple[Register, ...]:
    """A loop that does so many iterations at once; its results."""
    b = legaliser.b
    var = legaliser.own(stmt.var)
    carried, outs = (tuple(map(legaliser.own, rs)) for rs in (stmt.carried, stmt.outs))
    b.bodies.append([])
    values: Sequence[Operand] = carried
    for number in range(times):
        legaliser.held[stmt.var] = b.add(var, number * stmt.step)
        legaliser.held.update(zip(stmt.carried, values, strict=True))
        legaliser.body(stmt.block.body)
        values = legaliser.reads(stmt.block.yields)
    block = Block(tuple(b.bodies.pop()), tuple(values))
    first, until = bounds
    step = stmt.step * times
    b.append(For(outs, var, first, until, step, carried, tuple(starts), block, loc=stmt.loc))
    return outs
