"""Tiles by index: the region of the row that a chunk lies in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import expr as ex

Register = TypeVar("Register")
Home = TypeVar("Home")


def row_of(
    e: Tiles[Register, Home],
    region: Region,
    ids: Value,
    axis: int,
    at: At,
    number: Callable[[At], Register],
) -> tuple[Region, At]:
    """The region of one id, whose `number` is at a place of `ids`, and a chunk's coordinates in it."""
    rank = ids.type.rank
    before = sum(not a.dropped for a in region.axes[:axis])
    (first, *_) = at.lanes
    where = At(at.base[before : before + rank], (tuple(first[before : before + rank]),))
    var = e.fresh("row")
    e.bind(var, number(where))
    start = ex.Binary("add", region.axes[axis].start, var, INDEX)
    chosen = AxisSlice(start, 1, dropped=True)
    axes = (*region.axes[:axis], chosen, *region.axes[axis + 1 :])
    rest = At(
        (*at.base[:before], *at.base[before + rank :]),
        tuple((*lane[:before], *lane[before + rank :]) for lane in at.lanes),
        at.live,
    )
    return Region(region.memory, axes), rest


def runs_along_rows(region: Region, axis: int) -> bool:
    """Whether an axis of the region is behind that of the ids: a chunk then lies in one row."""
    return any(not a.dropped for a in region.axes[axis + 1 :])
