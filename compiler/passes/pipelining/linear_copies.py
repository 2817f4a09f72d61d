"""Copies whose bytes land in shared memory in the order of the lanes.

Some machines' asynchronous copies take one address in shared memory for a whole warp, to which lane l's
bytes are written at l times their size. What lies swizzled there is then swizzled by what each lane
reads: the copy's layout is the memory's own, its digits dealt to elements, lanes, copies and warps.
"""

from __future__ import annotations

from dslc.compiler.layout import Layout, local
from dslc.compiler.layout.mode import Modes, replicated, split_modes


def linear_layout(
    tile: tuple[int, ...], memory: Layout | None, width: int, threads: int, warp: int
) -> Layout | None:
    """The layout in which lane l of a warp moves `width` elements to l * width behind the warp's first.

    `memory` is how the tile lies there, row-major where None. A warp's copies follow each other, and
    then come those of the next warp. Threads beyond the tile's end hold copies of what the first ones
    do. None where the tile's digits do not divide so.
    """
    lying = memory if memory is not None else local(*tile)
    chunks = lying.elements // width
    if lying.spatial_modes or lying.elements % width:
        return None
    used = min(threads, chunks)
    lanes = min(used, warp)
    if threads % used or chunks % used or used % lanes:
        return None
    parts: list[Modes] = []
    rest = lying.local_modes
    for low in (width, lanes, chunks // used):
        split = split_modes(rest, low)
        if split is None:
            return None
        rest, below = split
        parts.append(below)
    spatial = (replicated(threads // used), *rest, *parts[1])
    return Layout(tile, spatial, (*parts[2], *parts[0]), lying.swizzles)
