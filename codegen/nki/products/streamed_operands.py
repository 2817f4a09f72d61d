"""Operands of a product that are loaded some columns at a time, while those before are multiplied."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dslc.codegen.nki.emission import Emission
from dslc.codegen.nki.movement.accesses import read, staged
from dslc.codegen.nki.movement.stacks import may_stack, stack
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.regions import part
from dslc.compiler.targets.nki import PARTITIONS


@dataclass(frozen=True, slots=True)
class Operand:
    """A side of the product: its tile, or the load that brings it piece by piece."""

    value: Value
    load: ins.Load | None
    held: TileValue | None
    columns: int


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the product: chunks `first` to `last` of the result, `width` of its columns.

    The operands' columns begin at `stationary_from` and `column_from` of the whole.
    """

    stationary: TileValue
    moving: TileValue
    first: int
    last: int
    width: int
    stationary_from: int = 0
    column_from: int = 0


def parts(e: Emission, stationary: Operand, moving: Operand, chunks: int) -> Iterator[Part]:
    """The product as a whole, or a part for each column block: its load is written out first.

    The result has as many chunks of 128 rows.
    """
    if stationary.load is not None:
        assert moving.held is not None
        for start, block, width in _column_blocks(e, stationary):
            first, last = start // PARTITIONS, -(-(start + width) // PARTITIONS)
            yield Part(block, moving.held, first, last, moving.columns, stationary_from=start)
    elif moving.load is not None:
        assert stationary.held is not None
        for start, block, width in _column_blocks(e, moving):
            yield Part(stationary.held, block, 0, chunks, width, column_from=start)
    else:
        assert stationary.held is not None
        assert moving.held is not None
        yield Part(stationary.held, moving.held, 0, chunks, moving.columns)


def _column_blocks(e: Emission, side: Operand) -> Iterator[tuple[int, TileValue, int]]:
    """Some columns of the operand after others, loaded."""
    for start in range(0, side.columns, e.column_block):
        width = min(e.column_block, side.columns - start)
        yield start, _column_block(e, side, start, width), width


def _column_block(e: Emission, side: Operand, start: int, width: int) -> TileValue:
    load = side.load
    assert load is not None
    place = e.place(load.out)
    column = 1 - (place.axis or 0)
    region = part(load.region, column, start, width)
    rows, columns = load.out.type.shape
    shape = (rows, width) if column == 1 else (width, columns)
    block = e.tile(load.out.name, load.out.type.dtype, shape, place)
    if may_stack(e, region, block):
        stack(e, region, block)
        return block
    region = staged(e, region, block)
    with e.filled(block) as at:
        read(e, region, block, at, load.other)
    return block
