"""Tiles by index, joined tiles, and views of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dslc.codegen.aarch64.chunks.conversions import for_memory
from dslc.codegen.aarch64.memory.accesses import load
from dslc.codegen.aarch64.memory.chunk_stores import store_chunk
from dslc.codegen.aarch64.memory.nests import nest
from dslc.codegen.aarch64.memory.transfer import store_lanes, to_general
from dslc.codegen.aarch64.places import Array
from dslc.codegen.aarch64.statements import in_registers, scratch_for
from dslc.codegen.chunks.at import At
from dslc.codegen.chunks.indirect import row_of, runs_along_rows
from dslc.codegen.chunks.nests import lanes_for
from dslc.compiler.ir import Region, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import Indexed

if TYPE_CHECKING:
    from dslc.codegen.aarch64.emission import Emission


def row(e: Emission, i: Indexed, at: At) -> tuple[Region, At]:
    """The region of one place that ids choose, and a chunk's coordinates in it."""
    return row_of(e, i, at, lambda ids, at: to_general(e, e.pull(ids, at), ids.type.dtype))


def _lanes(i: Indexed, shape: tuple[int, ...]) -> int:
    return lanes_for(shape[-1]) if runs_along_rows(i) else 1


def gather(e: Emission, i: ins.Gather) -> None:
    """Row by row; ids out of range read 0."""
    result = scratch_for(e, i.out)
    dtype = i.out.type.dtype

    def chunk(at: At) -> None:
        region, rest = row(e, i, at)
        one = ins.Load(Value(TileType(dtype, region.shape)), region)
        store_lanes(e, result, at, for_memory(e, load(e, one, rest), dtype))

    shape = i.out.type.shape
    held = any(in_registers(e, ids) for ids in i.ids)
    nest(e, shape, _lanes(i, shape), chunk, unroll=held)
    e.settle(i.out, result)


def scatter(e: Emission, i: ins.Scatter) -> None:
    """Row by row; ids out of range are dropped."""

    def chunk(at: At) -> None:
        region, rest = row(e, i, at)
        lanes = for_memory(e, e.pull(i.x, at), i.x.type.dtype)
        store_chunk(e, region, rest, lanes)

    shape = i.x.type.shape
    held = any(in_registers(e, v) for v in (i.x, *i.ids))
    nest(e, shape, _lanes(i, shape), chunk, unroll=held)
    e.forget()


def concat(e: Emission, i: ins.Concat) -> None:
    """Each tile to its part of the result."""
    result = scratch_for(e, i.out)
    start = 0
    for x in i.xs:
        offset = result.strides[i.axis].scale(start).constant * result.form.bits // 8
        part = Array(
            result.base,
            result.offset + offset,
            result.form,
            result.shape,
            result.strides,
            result.alias,
        )
        shape = x.type.shape

        def chunk(at: At, x: Value = x, part: Array = part) -> None:
            store_lanes(e, part, at, for_memory(e, e.pull(x, at), x.type.dtype))

        nest(e, shape, lanes_for(shape[-1]), chunk, unroll=in_registers(e, x))
        start += shape[i.axis]
    e.settle(i.out, result)


STATEMENTS = {ins.Gather: gather, ins.Scatter: scatter, ins.Concat: concat}
