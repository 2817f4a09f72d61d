"""Accesses by index tiles: which axes of the tile the indices give, and which the slices.

The tile of a gather or scatter has the axes of its region in their order, but that those of the ids
stand, once, where the first axis stood that they choose along.
"""

from __future__ import annotations

from typing import TypeAlias

from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.values import Region

Indexed: TypeAlias = ins.Gather | ins.Scatter | ins.AtomicRmw


def numbered(stmt: ins.Stmt) -> tuple[int, ...]:
    """The axes of its memory along which tiles of ids choose; none where slices alone do."""
    match stmt:
        case ins.Gather(axes=axes) | ins.Scatter(axes=axes) | ins.AtomicRmw(axes=axes):
            return axes
    return ()


def first_id_axis(region: Region, axes: tuple[int, ...]) -> int:
    """The tile's axis where those of the ids begin."""
    return sum(not a.dropped for a in region.axes[: axes[0]])


def kept_axes(region: Region, axes: tuple[int, ...], rank: int) -> dict[int, int]:
    """For the memory's axes that slices give, the tile's; `rank` is that of the ids."""
    places: dict[int, int] = {}
    at = 0
    for number, axis in enumerate(region.axes):
        if axes and number == axes[0]:
            at += rank
        elif number not in axes and not axis.dropped:
            places[number] = at
            at += 1
    return places


def indexed_shape(region: Region, axes: tuple[int, ...], ids: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the tile; `ids` is that of the ids."""
    shape: list[int] = []
    for number, axis in enumerate(region.axes):
        if axes and number == axes[0]:
            shape += ids
        elif number not in axes and not axis.dropped:
            shape.append(axis.size)
    return tuple(shape)


def ids_shape(stmt: Indexed) -> tuple[int, ...]:
    """The shape that its ids have in common; () of an access by slices alone."""
    return stmt.ids[0].type.shape if stmt.ids else ()


def memory_axes(stmt: Indexed) -> dict[int, int]:
    """For the axes of the tile that ids do not give, the memory's axes."""
    places = kept_axes(stmt.region, stmt.axes, len(ids_shape(stmt)))
    return {place: number for number, place in places.items()}
