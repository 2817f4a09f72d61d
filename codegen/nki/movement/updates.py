"""Atomic updates: one core runs all turns one after another, so that no other comes in between.

Elements that ids choose are updated one place after another, so that equal ids meet what those before
them have left.
"""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.emission import Emission, Emit
from dslc.codegen.nki.movement.accesses import read, write
from dslc.codegen.nki.movement.gathers import Place, each_place, rows_of, whole, zeros_in
from dslc.compiler.dtypes import BOOL
from dslc.compiler.ir import Region, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.passes.trainium.placement import EVERYWHERE, layout_of


def update(e: Emission, stmt: ins.AtomicRmw) -> None:
    """The region's elements, and what stood there."""
    if not stmt.ids:
        before = _updated(e, stmt, stmt.region, stmt.x, stmt.expected)
        if stmt.out is not None:
            e.rename(stmt.out, e.held(before))
        return
    given = [rows_of(e, v) for v in (stmt.x, stmt.expected) if v is not None]
    old = None if stmt.out is None else zeros_in(e, stmt.out)

    def one(place: Place) -> None:
        tiles = []
        for memory in given:
            region = place.row(memory)
            shape = region.shape
            type_ = TileType(memory.dtype, shape, layout_of(EVERYWHERE, shape))
            tiles.append(Value(type_, "row"))
            e.statement(ins.Load(tiles[-1], region))
        x, *expected = tiles
        before = _updated(e, stmt, place.region, x, expected[0] if expected else None)
        if old is not None:
            e.statement(ins.Store(place.row(old), before))

    each_place(e, stmt, one)
    if stmt.out is not None and old is not None:
        e.statement(ins.Load(stmt.out, whole(old), loc=stmt.loc))


def _updated(
    e: Emission, stmt: ins.AtomicRmw, region: Region, x: Value, expected: Value | None
) -> Value:
    """Update a region by a tile of its shape; what stood there."""
    before, after = (Value(x.type, name) for name in ("before", "after"))
    held = e.result(before)
    with e.filled(held) as at:
        read(e, region, held, at)
    if stmt.op == "exchange":
        after = x
    elif expected is not None:
        same = Value(replace(x.type, dtype=BOOL), "same")
        e.statement(ins.Binary(same, "eq", before, expected))
        e.statement(ins.Where(after, same, x, before))
    else:
        e.statement(ins.Binary(after, stmt.op, before, x))
    held = e.in_sbuf(e.tensors(e.held(after)))
    with e.over(held) as at:
        write(e, region, held, at)
    return before


EMITTERS: dict[type, Emit] = {ins.AtomicRmw: update}
