"""Tiles by index, and joined tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.indirect import row_of, runs_along_rows
from dslc.codegen.chunks.nests import lanes_for
from dslc.codegen.cpu.accesses import load_region, store_chunk
from dslc.codegen.cpu.nests import nest
from dslc.codegen.cpu.statements import lanes_of_tile, scratch_for
from dslc.codegen.cpu.transfer import store_lanes
from dslc.compiler.dtypes import INDEX
from dslc.compiler.ir import Region, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import Indexed

if TYPE_CHECKING:
    from dslc.codegen.cpu.emission import Emission


def row(e: Emission, i: Indexed, at: At) -> tuple[Region, At]:
    """The region of one place that ids choose, and a chunk's coordinates in it."""
    return row_of(e, i, at, lambda ids, where: e.b.convert(e.pull(ids, where), INDEX))


def _lanes(e: Emission, i: Indexed, x: Value) -> int:
    return lanes_for(x.type.shape[-1], lanes_of_tile(e, x)) if runs_along_rows(i) else 1


def gather(e: Emission, i: ins.Gather) -> None:
    """Row by row; ids out of range read 0."""
    result = scratch_for(e, i.out)

    def chunk(at: At) -> None:
        region, rest = row(e, i, at)
        store_lanes(e, result, at, load_region(e, region, rest))

    nest(e, i.out.type.shape, _lanes(e, i, i.out), chunk)
    e.settle(i.out, result)
    e.forget()


def scatter(e: Emission, i: ins.Scatter) -> None:
    """Row by row; ids out of range are dropped."""

    def chunk(at: At) -> None:
        region, rest = row(e, i, at)
        store_chunk(e, region, rest, e.pull(i.x, at))

    nest(e, i.x.type.shape, _lanes(e, i, i.x), chunk)
    e.forget()


def concat(e: Emission, i: ins.Concat) -> None:
    """Each tile to its part of the result."""
    result = scratch_for(e, i.out)
    start, axis = 0, i.axis % i.out.type.rank
    for x in i.xs:
        offset = result.strides[axis].scale(start).constant * result.size
        part = replace(result, offset=result.offset + offset)

        def chunk(at: At, x: Value = x, part: object = part) -> None:
            store_lanes(e, part, at, e.pull(x, at))  # type: ignore[arg-type]

        nest(e, x.type.shape, lanes_for(x.type.shape[-1], lanes_of_tile(e, x)), chunk)
        start += x.type.shape[axis]
    e.settle(i.out, result)
    e.forget()


STATEMENTS = {ins.Gather: gather, ins.Scatter: scatter, ins.Concat: concat}
