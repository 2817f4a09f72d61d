"""Tiles by index: the region of the row that a chunk lies in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.indexed import Indexed, first_id_axis, ids_shape, kept_axes

Register = TypeVar("Register")
Home = TypeVar("Home")


def row_of(
    e: Tiles[Register, Home],
    stmt: Indexed,
    at: At,
    number: Callable[[Value, At], Register],
) -> tuple[Region, At]:
    """The region of one place that ids choose, and a chunk's coordinates in it.

    `number` is the element of a tile of ids at a place.
    """
    region = stmt.region
    if not stmt.axes:
        return region, at
    rank, before = len(ids_shape(stmt)), first_id_axis(region, stmt.axes)
    (first, *_) = at.lanes
    where = At(at.base[before : before + rank], (tuple(first[before : before + rank]),))
    axes = list(region.axes)
    for axis, ids in zip(stmt.axes, stmt.ids, strict=True):
        var = e.fresh("row")
        e.bind(var, number(ids, where))
        axes[axis] = AxisSlice(ex.Binary("add", axes[axis].start, var, INDEX), 1, dropped=True)
    rest = At(
        (*at.base[:before], *at.base[before + rank :]),
        tuple((*lane[:before], *lane[before + rank :]) for lane in at.lanes),
        at.live,
    )
    return Region(region.memory, tuple(axes)), rest


def runs_along_rows(stmt: Indexed) -> bool:
    """Whether an axis of the region is behind that of the ids: a chunk then lies in one row."""
    rank = len(ids_shape(stmt))
    last = max(kept_axes(stmt.region, stmt.axes, rank).values(), default=-1)
    return last > first_id_axis(stmt.region, stmt.axes)
