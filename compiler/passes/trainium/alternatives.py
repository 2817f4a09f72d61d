"""The ways in which a statement can be carried out: a placement for each tile that it touches.

A reduction along a partition is one instruction; a product wants the axis that it sums over along the
partitions of both operands, and gives its result with either axis there: with the rows of `a` where
`a` is the stationary operand, with the columns of `b` where `b` is. So the placements of a chain of
products follow from one another without any transposition in between (NeuronMM, section 4.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import tile_of
from dslc.compiler.passes.layouts.relations import alike, shaped
from dslc.compiler.passes.trainium.placement import (
    EVERYWHERE,
    Placement,
    normal,
    rows,
    spread,
)


@dataclass(frozen=True, slots=True)
class Way:
    """Placements of operands and of the result; `moves` where the elements go through memory.

    An operand that is not in `operands` may lie anyhow. A product is `swapped` where `b` is stationary.
    """

    operands: Mapping[Value, Placement]
    out: Placement | None = None
    moves: bool = False
    swapped: bool = False


def candidates(shape: tuple[int, ...]) -> list[Placement]:
    """The placements of a tile of that shape, each once."""
    placements = [normal(rows(axis), shape) for axis in range(len(shape))]
    if len(shape) == 1 and (even := spread(shape[0])) is not None:
        placements.append(even)
    return [*dict.fromkeys(placements), EVERYWHERE]


def ways(stmt: Stmt) -> list[Way]:
    """All ways of an instruction; those that move nothing stand first."""
    return list(_ways(stmt))


def _ways(stmt: Stmt) -> Iterator[Way]:
    match stmt:
        case ins.Dot():
            yield from _products(stmt)
        case ins.Store(x=x):
            for place in candidates(x.type.shape):
                yield Way({x: place})
        case ins.Scatter(x=x, ids=ids):
            for place in candidates(x.type.shape):
                yield Way({x: place, **dict.fromkeys(ids, EVERYWHERE)})
        case ins.AtomicRmw(x=x, ids=ids, expected=expected, out=out):
            tiles = [x] if expected is None else [x, expected]
            for place in candidates(x.type.shape):
                wants = dict.fromkeys(tiles, place) | dict.fromkeys(ids, EVERYWHERE)
                yield Way(wants) if out is None else Way(wants, place)
        case ins.Reduce():
            yield from _reductions(stmt)
        case ins.Gather(out=out, ids=ids):
            for place in candidates(out.type.shape):
                yield Way(dict.fromkeys(ids, EVERYWHERE), place)
        case _ if alike(stmt):
            first, *rest = alike(stmt)
            for place in candidates(first.type.shape):
                if not (isinstance(stmt, ins.Scan) and place.axis == stmt.axis):
                    yield Way(dict.fromkeys(rest, place), place)
        case _:
            tile = tile_of(stmt)
            if tile is not None:
                yield from _shapes(stmt, tile)


def _shapes(stmt: Stmt, out: Value) -> Iterator[Way]:
    for place in candidates(out.type.shape):
        wants: dict[Value, Placement] = {}
        for x in shaped(stmt):
            placement = operand_placement(stmt, x, place)
            if placement is None:
                yield Way({}, place, moves=True)
                break
            wants[x] = normal(placement, x.type.shape)
        else:
            yield Way(wants, place)


def operand_placement(stmt: Stmt, x: Value, out: Placement) -> Placement | None:
    """Where an operand must lie so that the statement gives a result there and moves nothing."""
    if out.axis is None:
        return EVERYWHERE
    if out.run > 1:
        return EVERYWHERE if isinstance(stmt, ins.Broadcast) else None
    mine, given = x.type.shape, stmt.out.type.shape  # type: ignore[union-attr]
    match stmt:
        case ins.Broadcast():
            axis = out.axis - (len(given) - len(mine))
            kept = axis >= 0 and mine[axis] == given[out.axis]
            return rows(axis) if kept else EVERYWHERE
        case ins.Transpose(axes=axes):
            return rows(axes[out.axis])
        case ins.Reshape():
            return _before_reshape(mine, given, out.axis)
        case ins.Concat(axis=axis) | ins.Repeat(axis=axis):
            return out if out.axis != axis else None
        case ins.Extract(starts=starts, dropped=dropped):
            kept_axes = [a for a in range(len(mine)) if a not in dropped]
            axis = kept_axes[out.axis]
            whole = mine[axis] == given[out.axis] and starts[axis] == 0
            return rows(axis) if whole else None
    return None


def _before_reshape(mine: tuple[int, ...], given: tuple[int, ...], axis: int) -> Placement | None:
    """The axis of the operand that the result's axis is: as long, and as much behind it."""
    behind = prod(given[axis + 1 :])
    for a, extent in enumerate(mine):
        if extent == given[axis] and prod(mine[a + 1 :]) == behind:
            return rows(a)
    return None


def _products(dot: ins.Dot) -> Iterator[Way]:
    """Both operands over their common axis, the result over either of its own."""
    rank = dot.out.type.rank
    first, last = rank - 2, rank - 1
    wants = {
        dot.a: normal(rows(last), dot.a.type.shape),
        dot.b: normal(rows(first), dot.b.type.shape),
    }
    for axis in (first, last):
        place = normal(rows(axis), dot.out.type.shape)
        acc = {} if dot.acc is None else {dot.acc: place}
        yield Way({**wants, **acc}, place, swapped=axis == last)


def _reductions(stmt: ins.Reduce) -> Iterator[Way]:
    shape = stmt.x.type.shape
    for axis in range(len(shape)):
        if axis != stmt.axis:
            kept = axis if stmt.keepdims or axis < stmt.axis else axis - 1
            yield Way({stmt.x: rows(axis)}, normal(rows(kept), stmt.out.type.shape))
    yield Way({stmt.x: EVERYWHERE}, EVERYWHERE)
    if stmt.op == "sum" and stmt.x.type.dtype.is_float:
        # A product with ones has the sum on all partitions.
        yield Way({stmt.x: rows(stmt.axis)}, EVERYWHERE)
