"""Buffers of a turn that lie in SBUF: rows along the partitions, read and written on the chip.

A buffer does where each access takes rows of it as a tile's partitions, from a place that an
instruction can begin at, and where it fits beside all that lives at one time. Any other buffer is a
tensor in HBM, which transfers read and write in any placement.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from dslc.codegen.nki.dtypes import element, item_bytes
from dslc.codegen.nki.emission import At, Emission
from dslc.codegen.nki.movement.copying import shared_copy
from dslc.codegen.nki.tile_values import PARTITIONS, TileValue
from dslc.compiler.ir import Memory, Region, Value
from dslc.compiler.ir import expr as ex
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.arithmetic.affine import constant
from dslc.compiler.ir.traverse import regions, walk
from dslc.compiler.passes.trainium.capacity import sbuf_peak, usable


def lies_on_chip(e: Emission, memory: Memory) -> bool:
    """Whether a buffer can lie in SBUF, and there is room."""
    shape = [constant(n) for n in memory.shape]
    if any(n is None for n in shape) or len(shape) < 2 or memory.dtype.is_low_bit:
        return False
    kept = sum(r.bytes for r in e.resident.values()) + sum(e.on_chip.values())
    need = kept + sbuf_peak(e.kernel, e.column_block).bytes + _bytes(memory)
    return need <= usable(e.engines) and all(
        _by_rows(e, memory, stmt, region) for stmt, region in _accesses(e, memory)
    )


def _bytes(memory: Memory) -> int:
    """Of each partition."""
    rows, *others = (int(constant(n) or 0) for n in memory.shape)
    return -(-rows // PARTITIONS) * prod(others) * item_bytes(memory.dtype)


def _accesses(e: Emission, memory: Memory) -> Iterator[tuple[ins.Stmt, Region]]:
    for stmt in walk(e.kernel.body):
        for region in regions(stmt):
            if region.memory is memory:
                yield stmt, region


def _by_rows(e: Emission, memory: Memory, stmt: ins.Stmt, region: Region) -> bool:
    tile = _tile(stmt)
    if tile is None or tile.type.rank < 2 or tile.type.shape != region.shape:
        return False
    rows, *_ = region.axes
    place = e.place(tile)
    total, start = int(constant(memory.shape[0]) or 0), constant(rows.start)
    step = 32 if rows.size <= 32 else 64 if rows.size <= 64 else PARTITIONS
    whole = start == 0 and rows.size == total
    return (
        place.axis == 0
        and place.run == 1
        and not rows.dropped
        and start is not None
        and (whole or (total <= PARTITIONS and start % step == 0))
        and all(a.step == 1 and not a.checked and not e.is_dynamic(a.start) for a in region.axes)
        and not any(ex.free_vars(a.start) & e.machine for a in region.axes)
    )


def _tile(stmt: ins.Stmt) -> Value | None:
    match stmt:
        case ins.Load(out=out):
            return out
        case ins.Store(x=x):
            return x
    return None


def allocate(e: Emission, memory: Memory) -> None:
    """Its tensors: one, or a list of them for more than 128 rows."""
    rows, *others = (int(constant(n) or 0) for n in memory.shape)
    name = e.memories[memory] = e.out.name(memory.name)
    e.on_chip[memory] = _bytes(memory)
    dtype = element(memory.dtype)
    if rows <= PARTITIONS:
        e.out.line(f"{name} = {e.tensor(name, rows, others, dtype)}")
        return
    e.out.line(f"{name} = []")
    first = e.out.name("r")
    with e.out.block(f"for {first} in range(0, {rows}, {PARTITIONS})"):
        count = f"min({PARTITIONS}, {rows} - {first})" if rows % PARTITIONS else PARTITIONS
        e.out.line(f"{name}.append({e.tensor(name, count, others, dtype)})")


def copy_rows(e: Emission, region: Region, held: TileValue, at: At, *, store: bool) -> None:
    """A chunk of a tile from its part of the buffer, or to it."""
    rows, *others = region.axes
    base = e.memories[region.memory]
    first = int(constant(rows.start) or 0)
    if held.chunks > 1:
        assert at.index is not None
        base = f"{base}[{e.names[at.index]}]"
    spans = [f"{first}:{first} + {at.rows}" if first else f"0:{at.rows}"]
    for a in others:
        start = e.scalar(a.start)
        if a.dropped:
            spans.append(start)
        else:
            spans.append(f"0:{a.size}" if start == "0" else f"{start}:{start} + {a.size}")
    part, tile = f"{base}[{', '.join(spans)}]", e.text(held, at)
    dst, src = (part, tile) if store else (tile, part)
    if held.dtype.is_float and held.dtype.bits >= 16:
        shared_copy(e, dst, src, prod(held.extents), held.chunks)
    else:
        e.call("tensor_copy", dst=dst, src=src)
