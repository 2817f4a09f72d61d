"""Operands of a product that are loaded panel by panel, while the panels before are multiplied."""

from __future__ import annotations

from dataclasses import replace

from dslc.codegen.nki.accesses import read
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.held import Held
from dslc.codegen.nki.products import Operand, Pieces
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Region
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.affine import simplify
from dslc.compiler.passes.nki_layout.capacity import PANEL
from dslc.compiler.targets.nki import PARTITIONS


def over_panels(pieces: Pieces) -> None:
    """The pieces of a product, one of whose operands is loaded in panels of columns."""
    e = pieces.e
    if pieces.stationary.load is not None:
        assert pieces.moving.held is not None
        _stationary_panels(e, pieces, pieces.stationary, pieces.moving.held)
    else:
        assert pieces.stationary.held is not None
        _moving_panels(e, pieces, pieces.moving, pieces.stationary.held)


def _stationary_panels(e: Emission, pieces: Pieces, side: Operand, moving: Held) -> None:
    """Chunks of the result, panel by panel."""
    made = pieces.made
    if made.chunks > 1:
        e.out.line(f"{made.name} = []")
    for start in range(0, side.columns, PANEL):
        width = min(PANEL, side.columns - start)
        panel = _panel(e, side, start, width)
        first, last = start // PARTITIONS, -(-(start + width) // PARTITIONS)
        if made.chunks == 1:
            at = At(None, made.rows)
            e.allocate(made, at)
            pieces.columns(at, panel, moving)
            continue
        index = e.index_variable("c")
        with e.out.block(f"for {e.names[index]} in range({first}, {last})"):
            at = At(index, e.rows_of(made, index))
            e.allocate(made, at)
            local = f"{PARTITIONS} * {e.names[index]}"
            if start:
                local += f" - {start}"
            pieces.columns(at, panel, moving, stationary_at=f"{local}:{local} + {at.rows}")


def _moving_panels(e: Emission, pieces: Pieces, side: Operand, stationary: Held) -> None:
    """Columns of the result, panel by panel; its chunks are there before."""
    made = pieces.made
    with e.filled(made):
        pass
    for start in range(0, side.columns, PANEL):
        width = min(PANEL, side.columns - start)
        panel = _panel(e, side, start, width)
        with e.over(made) as at:
            pieces.columns(at, stationary, panel, at_panel=str(start), width=width)


def _panel(e: Emission, side: Operand, start: int, width: int) -> Held:
    """Some columns of the operand, loaded."""
    load = side.load
    assert load is not None
    place = e.place(load.out)
    column = 1 - (place.axis or 0)
    axes = list(load.region.axes)
    number = [i for i, a in enumerate(axes) if not a.dropped][column]
    moved = ex.Binary("add", axes[number].start, ex.index(start * axes[number].step), INDEX)
    axes[number] = replace(axes[number], start=simplify(moved), size=width)
    shape = [width if i == column else n for i, n in enumerate(load.out.type.shape)]
    made = e.tile(load.out.name, load.out.type.dtype, (shape[0], shape[1]), place)
    with e.filled(made) as at:
        read(e, Region(load.region.memory, tuple(axes)), made, at, load.other)
    return made


__all__ = ["ins", "over_panels"]
