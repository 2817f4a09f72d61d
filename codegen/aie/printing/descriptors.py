"""A plan printed at the level of locks, buffer descriptors and flows (printer B).

The forms are those of mlir-aie 1.4: locks are used by an i32 operand, descriptors name offset, length,
sizes and strides. earlier_release.py has those of the releases before 1.3.5.
"""

from __future__ import annotations

from collections.abc import Iterator

from dslc.codegen.aie.compute.core_program import CoreProgram, program_of
from dslc.codegen.aie.compute.ports import LockPorts
from dslc.codegen.aie.planning.plan import Tile
from dslc.codegen.aie.planning.plan_kernel import Planned
from dslc.codegen.aie.printing.explicit import Channel, Descriptor, Explicit, make_explicit
from dslc.codegen.aie.printing.objectfifos import (
    cascade_lines,
    core_lines,
    device_text,
    memref,
    module_text,
    sequence_lines,
    tile_name,
)

_HOST, _MEMORY = 0, 1


def print_descriptors(planned: Planned, device: str) -> str:
    """The module of a kernel without object FIFOs."""
    return module_text([device_text(device, descriptor_lines(planned))])


def descriptor_lines(planned: Planned, sequence: str = "") -> Iterator[str]:
    """What a kernel's device holds; `sequence` is the symbol of its sequence, with the @."""
    plan = planned.plan
    explicit = make_explicit(plan)
    tiles = sorted(
        {c.tile for c in explicit.channels} | set(plan.cores), key=lambda t: (t[1], t[0])
    )
    yield from (f"    {tile_name(t)} = aie.tile({t[0]}, {t[1]})" for t in tiles)
    for buffer in (*explicit.buffers, *explicit.turns):
        own = f'{{sym_name = "{buffer.name}"}} : {memref(buffer.count, buffer.dtype)}'
        yield f"    %{buffer.name} = aie.buffer({tile_name(buffer.tile)}) {own}"
    for lock in explicit.locks:
        options = f'{{init = {lock.value} : i32, sym_name = "{lock.name}"}}'
        yield f"    %{lock.name} = aie.lock({tile_name(lock.tile)}, {lock.number}) {options}"
    yield from _flows(explicit)
    yield from cascade_lines(plan)
    for tile in plan.cores:
        yield from core_lines(tile, _program(planned, explicit, tile), plan.array.stack)
    for tile in tiles:
        if tile[1] != _HOST:
            yield from _dma(explicit, tile)
    yield from sequence_lines(plan, sequence)


def _program(planned: Planned, made: Explicit, tile: Tile) -> CoreProgram:
    ports = LockPorts(made.ends.get(tile, {}))
    return program_of(planned.plan, planned.blocking, tile, ports)


def _flows(made: Explicit) -> Iterator[str]:
    for fifo, source, targets in made.flows:
        for target in targets:
            ends = [f"{tile_name(c.tile)}, DMA : {c.number}" for c in (source, target)]
            yield f"    aie.flow({ends[0]}, {ends[1]})"
        for channel in (source, *targets):
            if channel.tile[1] == _HOST:
                place = f"{tile_name(channel.tile)}, {channel.direction}, {channel.number}"
                yield f"    aie.shim_dma_allocation @{fifo.name}({place})"


def _dma(made: Explicit, tile: Tile) -> Iterator[str]:
    """The program of a tile's DMA: a start for each channel, then a ring of blocks."""
    channels = [c for c in made.channels if c.tile == tile]
    if not channels:
        return
    word = "memtile_dma" if tile[1] == _MEMORY else "mem"
    yield f"    aie.{word}({tile_name(tile)}) {{"
    block = 0
    for channel in channels:
        if block:
            yield f"    ^bb{block}:"
        first, after = block + 1, block + 1 + len(channel.chain)
        start = f"{channel.direction}, {channel.number}, ^bb{first}, ^bb{after}"
        yield f"      %start_{block} = aie.dma_start({start})"
        yield from _ring(channel, first)
        block = after
    yield f"    ^bb{block}:"
    yield "      aie.end"
    yield "    }"


def _ring(channel: Channel, first: int) -> Iterator[str]:
    count = len(channel.chain)
    for number, descriptor in enumerate(channel.chain):
        one = f"%one_{first + number}"
        yield f"    ^bb{first + number}:"
        yield f"      {one} = arith.constant {descriptor.amount} : i32"
        yield f"      aie.use_lock(%{descriptor.taken.name}, AcquireGreaterEqual, {one})"
        yield f"      {_transfer(descriptor)}"
        yield f"      aie.use_lock(%{descriptor.given.name}, Release, {one})"
        yield f"      aie.next_bd ^bb{first + (number + 1) % count}"


def _transfer(descriptor: Descriptor) -> str:
    buffer = descriptor.buffer
    moved = f"offset = {descriptor.offset} len = {descriptor.length}"
    if descriptor.dims:
        sizes, strides = (", ".join(str(d[n]) for d in descriptor.dims) for n in (0, 1))
        moved = f"{moved} sizes = [{sizes}] strides = [{strides}]"
    return f"aie.dma_bd(%{buffer.name} : {memref(buffer.count, buffer.dtype)} {moved})"
