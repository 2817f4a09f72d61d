"""Tiles side by side in one: what makes a part writes it where the whole has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dslc.codegen.nki.dtypes import element
from dslc.codegen.nki.tile_values import TileValue
from dslc.compiler.ir import Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.instructions import Stmt
from dslc.compiler.ir.traverse import Body, bodies, tile_of
from dslc.compiler.passes.trainium.placement import chunks, placement_of

if TYPE_CHECKING:
    from dslc.codegen.nki.emission import Emission


@dataclass(frozen=True, slots=True)
class Home:
    """Where a tile lies in a concatenation: as which operand, from `start` along the axis on."""

    whole: ins.Concat
    part: Value
    start: int


def homes(body: Body, uses: Counter[Value], kept: Collection[Value]) -> dict[Value, Home]:
    """The tiles that an engine can write into the concatenation that alone reads them.

    Tiles that stay through a loop, `kept`, and what is made with them have tensors of their own.
    """
    found: dict[Value, Home] = {}
    made: dict[Value, Stmt] = {}
    for stmt in body:
        out = tile_of(stmt)
        if isinstance(stmt, ins.Concat) and is_along_partitions(stmt):
            start = 0
            for part in stmt.xs:
                maker = made.get(part)
                value = part
                if isinstance(maker, ins.Reshape) and with_units(maker) and uses[part] == 1:
                    value, maker = maker.x, made.get(maker.x)
                alone = uses[value] == 1 and value not in kept and stmt.out not in kept
                if alone and isinstance(maker, (*ins.ELEMENTWISE, ins.Fused)):
                    found[value] = Home(stmt, part, start)
                start += part.type.shape[stmt.axis]
        if out is not None:
            made[out] = stmt
        for nested in bodies(stmt):
            found.update(homes(nested, uses, kept))
    return found


def is_along_partitions(stmt: ins.Concat) -> bool:
    """Whether the parts lie one behind another in each partition, of one tensor."""
    layout = stmt.out.type.layout
    place = None if layout is None else placement_of(layout)
    if place is None or place.axis == stmt.axis or place.run > 1:
        return False
    return chunks(place, stmt.out.type.shape) == 1


def with_units(stmt: ins.Reshape) -> bool:
    """Whether a reshape only adds or takes axes of one element."""
    mine, given = stmt.out.type.shape, stmt.x.type.shape
    return [n for n in mine if n > 1] == [n for n in given if n > 1]


def into(e: Emission, value: Value, home: Home) -> TileValue:
    """The part of the whole that a tile is; the first one makes the whole's tensor."""
    out, axis = home.whole.out, home.whole.axis
    whole = e.begun.get(out)
    if whole is None:
        whole = e.begun[out] = e.tile(out.name, out.type.dtype, out.type.shape, e.place(out))
        dtype = element(whole.dtype)
        e.out.line(f"{whole.name} = {e.tensor(whole.name, whole.rows, whole.extents, dtype)}")
    long = zip(whole.strides, home.part.type.shape, strict=True)
    strides = iter([stride for stride, n in long if n > 1])
    shape = value.type.shape
    mine = tuple(next(strides) if n > 1 else 0 for n in shape)
    offset = home.start * whole.strides[axis]
    return replace(whole, shape=shape, strides=mine, offset=offset, place=e.place(value))
