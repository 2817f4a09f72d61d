"""Loads from LDS of tiles that lie there along another axis than the lanes have them in registers.

    operand of a product: a lane has 8 of k for each of 8 columns; in LDS columns are neighbours
    8 reads of 16 bytes, one for each k; then 32 permutations, each of two halves of two words

A lane's neighbours in memory are read together, as wide as they come, and put into the order of the
registers in pairs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.remap import registers
from dslc.codegen.c_family.memory import accesses
from dslc.codegen.c_family.memory.widths import tile_axis, vector_width
from dslc.codegen.c_family.registers import Tile
from dslc.codegen.c_family.unrolling import linear_loops
from dslc.compiler.ir import Place, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.layout import Layout
from dslc.compiler.layout.neighbours import neighbours_last

_HALF = 16  # bits


def load(e: Emission, s: ins.Load) -> None:
    """A tile from global memory or LDS."""
    layout = s.out.type.layout
    assert layout is not None
    read = _read_layout(e, s, layout)
    if read is None:
        accesses.load(e, s)
        return
    from_memory = Value(replace(s.out.type, layout=read), s.out.name)
    accesses.load(e, replace(s, out=from_memory))
    _turn(e, e.new(s.out, zero=False), e.tile(from_memory))


def _read_layout(e: Emission, s: ins.Load, layout: Layout) -> Layout | None:
    """The order in which lanes read wider than in that of their registers; None where there is none."""
    memory, last = s.region.memory, s.region.axes[-1] if s.region.axes else None
    if memory.place is not Place.SHARED or last is None or last.dropped:
        return None
    if memory.dtype.bits != _HALF or layout.locals % 2:
        return None
    ordered = neighbours_last(layout, tile_axis(s.region, memory.rank - 1))
    wider = vector_width(e, s.region, ordered) > max(1, vector_width(e, s.region, layout))
    return ordered if wider else None


def _turn(e: Emission, to: Tile, read: Tile) -> None:
    """Each word of the tile from the words of two of its elements."""
    picks = registers(read.layout, to.layout.numbers())
    assert picks is not None, "both are the same elements of every thread"
    pairs = np.array(picks).reshape(-1, 2)
    for halves, digits in (((0, 0), "5410"), ((0, 1), "7610"), ((1, 0), "5432"), ((1, 1), "7632")):
        rows = [[i, p // 2, q // 2] for i, (p, q) in enumerate(pairs) if (p % 2, q % 2) == halves]
        if not rows:
            continue
        for i, low, high in linear_loops(e.out, np.array(rows)):
            call = f"bytes({read.name}[{low}], {read.name}[{high}], 0x{digits}u)"
            e.out.line(f"{to.name}[{i}] = {call};")


EMITTERS: dict[type, Emitter] = {ins.Load: load}
