"""Gather and scatter: one address an element."""

from __future__ import annotations

import numpy as np
from dslc.codegen.c_family.ctypes_of import memory_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.remap import move
from dslc.codegen.c_family.indexing import add, chunks, loops
from dslc.codegen.c_family.memory.accesses import code, first_copy, pointer, set_code
from dslc.codegen.c_family.memory.rows import store_codes
from dslc.codegen.c_family.memory.widths import is_row, strides, tile_axis
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.ir import Region, TileType, Value
from dslc.compiler.ir import instructions as ins


def _ids_tile(e: Emission, ids: Value, shape: tuple[int, ...], axis: int, out: Value) -> Tile:
    """The id of every element of a gathered tile, in the tile's layout."""
    rank = ids.type.rank
    wide = Value(TileType(ids.type.dtype, out.type.shape, out.type.layout), "ids")
    move(e, wide, e.tile(ids), lambda i: np.ascontiguousarray(i[:, axis : axis + rank]))
    return e.tile(wide)


def _gather_address(
    e: Emission,
    region: Region,
    tile: Tile,
    found_offset: list[str],
    chosen: str,
    axis: int,
    ids_rank: int,
) -> tuple[str, str]:
    """The address and condition of a gathered element."""
    parts, inside = [], []
    for k, a in enumerate(region.axes):
        start = e.scalar(a.start)
        if k == axis:
            at = add(start, f"({chosen})")
            inside.append(f"({at}) >= 0 && ({at}) < {e.scalar(region.memory.shape[k])}")
        else:
            place = tile_axis(region, k)
            place = place if place < axis else place + ids_rank - 1
            at = (
                start
                if a.dropped
                else add(
                    start,
                    f"({found_offset[place]}) * {a.step}" if a.step != 1 else found_offset[place],
                )
            )
            if a.limit is not None:
                inside.append(f"({found_offset[place]}) < {a.limit}")
            if a.checked:
                if not e.not_negative(a.start):
                    inside.append(f"({at}) >= 0")
                inside.append(f"({at}) < {e.scalar(region.extent(k))}")
        stride = e.scalar(strides(region.memory)[k])
        parts.append(f"(long long)({at}) * {stride}" if stride != "1" else f"({at})")
    return " + ".join(parts) or "0", " && ".join(inside)


def gather(e: Emission, s: ins.Gather) -> None:
    """Rows by index."""
    ids = _ids_tile(e, s.ids, s.out.type.shape, s.axis, s.out)
    tile = e.new(s.out, zero=True)
    parts = chunks(tile.layout, 1, e.out)
    with loops(e.out, parts):
        at = [
            add(e.bases.base(tile.layout, a), parts.offset(a)) or "0"
            for a in range(tile.layout.rank)
        ]
        where, inside = _gather_address(
            e, s.region, tile, at, ids.read(parts.element), s.axis, s.ids.type.rank
        )
        memory = s.region.memory
        raw = f"({pointer(e, memory)})[{where}]"
        if is_row(memory):
            raw = f"load_row<{memory.dtype.bits}>({pointer(e, memory)}, {where})"
        e.out.line(
            f"if ({inside}) {{ {set_code(tile, parts.element, raw, s.region.memory.dtype)} }}"
        )


def scatter(e: Emission, s: ins.Scatter) -> None:
    """The inverse of a gather."""
    memory = s.region.memory
    ids = _ids_tile(e, s.ids, s.x.type.shape, s.axis, s.x)
    tile = e.tile(s.x)
    parts = chunks(tile.layout, 1, e.out)
    once = first_copy(tile.layout)
    with e.exchanging(s.region.memory), loops(e.out, parts):
        at = [
            add(e.bases.base(tile.layout, a), parts.offset(a)) or "0"
            for a in range(tile.layout.rank)
        ]
        where, inside = _gather_address(
            e, s.region, tile, at, ids.read(parts.element), s.axis, s.ids.type.rank
        )
        condition = " && ".join(c for c in (once, inside) if c)
        stored = f"({memory_type(memory.dtype)}){code(tile, parts.element)}"
        line = f"({pointer(e, memory)})[{where}] = {stored};"
        if is_row(memory):
            line = store_codes(e, memory, 1, where, tile, parts.element)
        e.out.line(f"if ({condition}) {line}")


EMITTERS: dict[type, Emitter] = {ins.Gather: gather, ins.Scatter: scatter}
