"""Loads and stores of regions: lanes that may be out of bounds are masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.regions import region_at, unproved
from dslc.codegen.cpu.bits import load_bits, store_bits
from dslc.codegen.cpu.places import Array
from dslc.codegen.cpu.transfer import both, load_lanes, store_lanes
from dslc.compiler.dtypes import BOOL, I32, INDEX, Kind
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import Linear, simplify, to_expr
from dslc.compiler.ir.arithmetic.index_arithmetic import largest, least
from dslc.compiler.vector.building import lanes_of
from dslc.compiler.vector.types import VectorType
from dslc.compiler.vector.values import Operand

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission


def load(e: Emission, i: ins.Load, at: At) -> Operand:
    """A chunk of a region; `other`, or 0, where it is out of bounds."""
    return load_region(e, i.region, at, i.other)


def load_region(e: Emission, region: Region, at: At, other: ex.Expr | None = None) -> Operand:
    """The same of any region."""
    where = region_at(region, at)
    array = e.memories[region.memory]
    condition, within = bounds(e, region, where)
    fill = None
    if other is not None and (condition is not None or within is not None):
        fill = e.scalar(other)
    elif region.memory.dtype.kind is Kind.SCALE:
        fill = e.b.operand(2.0**-127, VectorType(region.memory.dtype))
    load = load_bits if array.compact else load_lanes
    return load(e, array, where, condition, within, fill)


def bounds(e: Emission, region: Region, where: At) -> tuple[Operand | None, Operand | None]:
    """Whether a chunk is in bounds: a condition for all its lanes, and a mask, where they differ."""
    condition: Operand | None = None
    within: Operand | None = None
    for k in unproved(region, where, e.inside):
        extent = region.extent(k)
        distances = [lane[k] for lane in where.lanes]
        if len(set(distances)) == 1:
            found = _inside(e, where.base[k] + Linear(constant=distances[0]), extent)
            condition = both(e, condition, found)
        else:
            within = both(e, within, _lanes_inside(e, where.base[k], distances, extent))
    return condition, within


def _inside(e: Emission, x: Linear, extent: ex.Expr) -> Operand:
    """Whether a coordinate is, found ahead of the loops that do not change it."""
    below: ex.Expr = ex.Binary("lt", to_expr(x), extent, BOOL)
    if not e.is_natural(x):
        below = ex.Binary("and", below, ex.Binary("ge", to_expr(x), ex.index(0), BOOL), BOOL)
    return e.scalar(below)


def _lanes_inside(e: Emission, base: Linear, distances: list[int], extent: ex.Expr) -> Operand:
    """Which of some distances from a coordinate are; compared as i32 within the chunk's reach."""
    key = ("inside", to_expr(base), tuple(distances), extent)
    known = e.recall(key)
    if known is not None:
        return known
    left = simplify(ex.Binary("sub", extent, to_expr(base), INDEX))
    with e.ahead_of(max(e.level_of(left), e.level_of(to_expr(base)))):
        return e.remember(key, _compared(e, base, distances, left))


def _compared(e: Emission, base: Linear, distances: list[int], left: ex.Expr) -> Operand:
    b, low, high = e.b, min(distances), max(distances)
    lanes = lanes_of(distances, I32)

    def bound(x: ex.Expr) -> Operand:
        near = least(largest(x, low), high + 1)
        return b.broadcast(b.convert(e.scalar(near), I32), len(distances))

    below = b.binary("lt", lanes, bound(left))
    if e.is_natural(base + Linear(constant=low)):
        return below
    return b.binary("and", below, b.binary("ge", lanes, bound(to_expr(-base))))


def store_chunk(
    e: Emission,
    region: Region,
    at: At,
    x: Operand,
    where: Operand | None = None,
    *,
    stream: bool = False,
) -> None:
    """A chunk of a tile to its place in a region; what a mask or the bounds exclude is dropped."""
    there = region_at(region, at)
    array: Array = e.memories[region.memory]
    condition, within = bounds(e, region, there)
    mask = both(e, both(e, where, within), condition, at.count)
    if array.compact:
        store_bits(e, array, there, x, mask)
        return
    store_lanes(e, array, there, x, mask, stream=stream)


PULLS: dict[type, Any] = {ins.Load: load}
