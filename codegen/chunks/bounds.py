"""What of a region lies within its tensor: coordinates of each axis, and facts inside their loops."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.nests import Span
from dslc.codegen.chunks.regions import Inside, region_at
from dslc.codegen.chunks.tiles import Tiles
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import AxisSlice, Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir.arithmetic.affine import linear, simplify


def is_bounded(axis: AxisSlice) -> bool:
    """Whether an axis of a region is looped over only as far as it is in bounds."""
    return axis.checked and axis.step == 1 and not axis.dropped


def spans(e: Tiles[Any, Any], region: Region) -> list[Span]:
    """For each axis of a region's tile the coordinates in bounds; None where all count."""
    return [
        _span(e, axis, region.extent(k)) if is_bounded(axis) else None
        for k, axis in enumerate(region.axes)
        if not axis.dropped
    ]


def _span(e: Tiles[Any, Any], axis: AxisSlice, extent: ex.Expr) -> tuple[ex.Expr, ex.Expr]:
    start = axis.start if axis.start.dtype == INDEX else ex.Convert(axis.start, INDEX)
    low: ex.Expr = ex.index(0)
    if not e.is_natural(linear(start)):
        low = ex.Binary("max", low, ex.Unary("neg", start, INDEX), INDEX)
    left = ex.Binary("sub", extent, start, INDEX)
    high = ex.Binary("min", ex.index(axis.size), left, INDEX)
    return simplify(low), simplify(ex.Binary("max", low, high, INDEX))


@contextmanager
def within(e: Tiles[Any, Any], region: Region, at: At) -> Iterator[None]:
    """Code of a chunk in loops over `spans`: that it is in bounds is known."""
    where = region_at(region, at)
    before = len(e.inside)
    e.inside += [
        Inside(where.base[k], max(lane[k] for lane in where.lanes) + 1, region.extent(k))
        for k, axis in enumerate(region.axes)
        if is_bounded(axis)
    ]
    yield
    del e.inside[before:]
