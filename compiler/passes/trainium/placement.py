"""How a tile lies on the partitions of a NeuronCore: which of its axes is spread over them.

An on-chip memory has 128 partitions, and an engine works on all of them at once, each on its own
elements. A tile's axis lies along the partitions, the others along each partition; rows past the 128th
begin a further chunk. In the algebra of layouts the partition is the thread:

    rows(0) of [256, 512]     spatial(256, 1).local(1, 512)    two chunks of 128 rows
    rows(1) of [256, 512]     spatial(1, 512).local(256, 1)    the transposed tile, four chunks
    everywhere of [512]       replicate(128).local(512)        the same elements on each partition
    spread over [1024]        spatial(128).local(8)            a vector, eight neighbours a partition
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import prod

from dslc.compiler.layout import Layout, local, replicate, spatial

PARTITIONS = 128


@dataclass(frozen=True, slots=True)
class Placement:
    """`axis` lies along the partitions; None for a tile that each partition has a copy of.

    `run` is how many neighbours along that axis each partition holds: more than one for a vector that
    is spread evenly.
    """

    axis: int | None
    run: int = 1


EVERYWHERE = Placement(None)


def rows(axis: int) -> Placement:
    """The axis along the partitions."""
    return Placement(axis)


def normal(placement: Placement, shape: tuple[int, ...]) -> Placement:
    """One placement for all that are the same: an axis of extent 1 is on one partition."""
    if placement.axis is None or shape[placement.axis] != 1:
        return placement
    return Placement(shape.index(1))


def spread(extent: int) -> Placement | None:
    """A vector over as many partitions as divide it; None where rows(0) is that already."""
    if extent <= PARTITIONS:
        return None
    count = next(p for p in range(PARTITIONS, 0, -1) if extent % p == 0)
    return Placement(0, extent // count) if count > 1 else None


def layout_of(placement: Placement, shape: tuple[int, ...]) -> Layout:
    """The placement in the algebra."""
    if placement.axis is None:
        copies = replicate(PARTITIONS)
        if not shape:
            return Layout((), copies.spatial_modes, ())
        return copies.compose(local(*shape)) if len(shape) > 0 else copies
    along = [n // placement.run if i == placement.axis else 1 for i, n in enumerate(shape)]
    within = [placement.run if i == placement.axis else n for i, n in enumerate(shape)]
    return spatial(*along).compose(local(*within))


@functools.lru_cache(maxsize=4096)  # it is asked for each tile at every statement, of few layouts
def placement_of(layout: Layout) -> Placement | None:
    """The placement that a layout is, None where it is none: explicit layouts may be any."""
    shape = layout.shape
    moving = [m for m in layout.spatial_modes if not m.is_replicated]
    if not moving:
        if layout.replication == PARTITIONS:
            placement = EVERYWHERE
        elif 1 in shape:
            placement = Placement(shape.index(1))
        else:
            return None
    else:
        axis = moving[0].axis
        placement = Placement(axis, shape[axis] // prod(m.size for m in moving))
    return placement if layout_of(placement, shape) == layout else None


def counts(placement: Placement, shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows along the partitions (maybe more than 128), and elements in each."""
    if placement.axis is None:
        return PARTITIONS, prod(shape)
    along = shape[placement.axis] // placement.run
    return along, prod(shape) // along


def chunks(placement: Placement, shape: tuple[int, ...]) -> int:
    """How many times 128 partitions the tile takes."""
    return -(-counts(placement, shape)[0] // PARTITIONS)


__all__ = [
    "EVERYWHERE", "PARTITIONS", "Placement", "chunks", "counts", "layout_of", "normal", "placement_of",
    "rows", "spread",
]  # fmt: skip
