"""What it takes to bring a tile from one layout to another."""

from __future__ import annotations

import enum

import numpy as np
from dslc.compiler.diagnostics import error
from dslc.compiler.layout.layout import Layout
from numpy.typing import NDArray


class Conversion(enum.Enum):
    """The way between two layouts of one tile, the cheapest first."""

    NONE = "none"
    REGISTERS = "registers"  # each thread has what it needs, at other places
    SHUFFLE = "shuffle"  # each warp has what its threads need
    SHARED = "shared"  # through shared memory


def conversion(source: Layout, target: Layout, warp_size: int = 32) -> Conversion:
    """The cheapest conversion of a tile that lies as `source` to one that lies as `target`.

    Warps are `warp_size` threads with consecutive numbers (a wave on AMD; 1 where threads cannot
    exchange registers). DSL0302 where the shapes differ.
    """
    if source.shape != target.shape:
        raise error(
            "DSL0302",
            f"{source} and {target} lay out different tiles: {list(source.shape)} and "
            f"{list(target.shape)}",
        )
    if source == target:
        return Conversion.NONE
    have, want = _numbers(source), _numbers(target)
    if _covered(have, want, 1, source.elements):
        return Conversion.REGISTERS
    if _covered(have, want, warp_size, source.elements):
        return Conversion.SHUFFLE
    return Conversion.SHARED


def _numbers(layout: Layout) -> NDArray[np.int64]:
    """The row-major number of every held element, int64 of shape [threads, locals]."""
    table = layout.table()
    number = np.zeros(table.shape[:2], dtype=np.int64)
    for axis, extent in enumerate(layout.shape):
        number = number * extent + table[..., axis]
    return number


def _covered(have: NDArray[np.int64], want: NDArray[np.int64], group: int, elements: int) -> bool:
    """Whether each group of threads wants only what the same group has."""
    keys = [
        (np.arange(side.shape[0], dtype=np.int64) // group)[:, None] * elements + side
        for side in (have, want)
    ]
    return bool(np.isin(keys[1], keys[0]).all())
