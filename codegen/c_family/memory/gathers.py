"""Gather and scatter: one address an element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from dslc.codegen.c_family.ctypes_of import memory_type
from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.codegen.c_family.exchanges.remap import move
from dslc.codegen.c_family.indexing import Chunks, add, chunks, loops
from dslc.codegen.c_family.memory.accesses import code, first_copy, pointer, set_code
from dslc.codegen.c_family.memory.rows import store_codes
from dslc.codegen.c_family.memory.widths import is_row, strides
from dslc.codegen.c_family.registers import Tile
from dslc.compiler.ir import Memory, TileType, Value
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.indexed import Indexed, first_id_axis, ids_shape, kept_axes


@dataclass(frozen=True, slots=True)
class Places:
    """Where the elements of a tile are that ids choose: addresses, and whether they are in bounds."""

    memory: Memory
    runs: Chunks
    address: str
    inside: str


def places(e: Emission, stmt: Indexed, tile: Tile) -> Places:
    """An address an element, within `loops` over `runs`."""
    ids = [_ids_tile(e, stmt, v, tile) for v in stmt.ids]
    runs = chunks(tile.layout, 1, e.out)
    at = [add(e.bases.base(tile.layout, a), runs.offset(a)) or "0" for a in range(tile.layout.rank)]
    chosen = dict(zip(stmt.axes, (v.read(runs.element) for v in ids), strict=True))
    address, inside = _address(e, stmt, at, chosen)
    return Places(stmt.region.memory, runs, address, inside)


def _ids_tile(e: Emission, stmt: Indexed, ids: Value, tile: Tile) -> Tile:
    """The id of every element of a gathered tile, in the tile's layout."""
    first, rank = first_id_axis(stmt.region, stmt.axes), ids.type.rank
    wide = Value(TileType(ids.type.dtype, tile.layout.shape, tile.layout), "ids")
    move(e, wide, e.tile(ids), lambda i: np.ascontiguousarray(i[:, first : first + rank]))
    return e.tile(wide)


def _address(
    e: Emission, stmt: Indexed, offset: list[str], chosen: dict[int, str]
) -> tuple[str, str]:
    """The address and condition of an element; `chosen` are its ids, `offset` its place in the tile."""
    region = stmt.region
    kept = kept_axes(region, stmt.axes, len(ids_shape(stmt)))
    parts, inside = [], []
    for k, a in enumerate(region.axes):
        start = e.scalar(a.start)
        if k in chosen:
            at = add(start, f"({chosen[k]})")
            inside.append(f"({at}) >= 0 && ({at}) < {e.scalar(region.memory.shape[k])}")
        else:
            own = offset[kept[k]] if k in kept else "0"
            stepped = f"({own}) * {a.step}" if a.step != 1 else own
            at = start if a.dropped else add(start, stepped)
            if a.limit is not None:
                inside.append(f"({own}) < {a.limit}")
            if a.checked:
                if not e.not_negative(a.start):
                    inside.append(f"({at}) >= 0")
                inside.append(f"({at}) < {e.scalar(region.extent(k))}")
        stride = e.scalar(strides(region.memory)[k])
        parts.append(f"(long long)({at}) * {stride}" if stride != "1" else f"({at})")
    return " + ".join(parts) or "0", " && ".join(inside)


def gather(e: Emission, s: ins.Gather) -> None:
    """Elements by index."""
    tile = e.new(s.out, zero=True)
    at, memory = places(e, s, tile), s.region.memory
    with loops(e.out, at.runs):
        raw = f"({pointer(e, memory)})[{at.address}]"
        if is_row(memory):
            raw = f"load_row<{memory.dtype.bits}>({pointer(e, memory)}, {at.address})"
        e.out.line(f"if ({at.inside}) {{ {set_code(tile, at.runs.element, raw, memory.dtype)} }}")


def scatter(e: Emission, s: ins.Scatter) -> None:
    """The inverse of a gather."""
    memory, tile = s.region.memory, e.tile(s.x)
    at, once = places(e, s, tile), first_copy(tile.layout)
    with e.exchanging(memory), loops(e.out, at.runs):
        condition = " && ".join(c for c in (once, at.inside) if c)
        stored = f"({memory_type(memory.dtype)}){code(tile, at.runs.element)}"
        line = f"({pointer(e, memory)})[{at.address}] = {stored};"
        if is_row(memory):
            line = store_codes(e, memory, 1, at.address, tile, at.runs.element)
        e.out.line(f"if ({condition}) {line}")


EMITTERS: dict[type, Emitter] = {ins.Gather: gather, ins.Scatter: scatter}
