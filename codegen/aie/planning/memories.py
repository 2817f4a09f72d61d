"""FIFO depths, and what lies in the memories of tiles: both are chosen so that all of it fits.

FIFOs hold two objects for each stream, so that one is filled while the other is used. Where a
core's memory is short, results give up theirs first, then the largest operands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from dslc.codegen.aie.compute.core_program import CoreProgram
from dslc.codegen.aie.dtypes import bytes_of
from dslc.codegen.aie.planning.plan import Fifo, Plan, Tile
from dslc.compiler.diagnostics import error


def choose_depths(plan: Plan, programs: Mapping[Tile, CoreProgram]) -> None:
    """Set the depths of all FIFOs; DSL0553 where single objects do not fit."""
    for fifo in plan.fifos:
        once = all(s.scope.parent is None for s in fifo.streams)
        fifo.depth = fifo.unit * (1 if once else 2)
    for fifo in plan.fifos:
        tile = fifo.ends(plan.array.memory.rows[0])
        if fifo.repeat > 1 and tile and memory_tile_bytes(plan, tile) > plan.array.memory.memory:
            fifo.depth = fifo.depth if fifo.ends(0) is None else fifo.unit  # a single panel
    for tile in plan.cores:
        while core_bytes(plan, tile, programs[tile]) > plan.array.compute.memory:
            shrinkable = [f for f in ending(plan, tile) if f.depth > f.unit]
            if not shrinkable:
                raise _too_much(plan, tile, programs[tile])
            chosen = max(shrinkable, key=lambda f: (f.streams[0].output, f.bytes))
            for fifo in plan.fifos:
                alike = fifo.streams == chosen.streams
                if alike and any(t[1] >= plan.array.compute.rows[0] for t in _tiles(fifo)):
                    fifo.depth = fifo.unit


def ending(plan: Plan, tile: Tile) -> list[Fifo]:
    """The FIFOs that begin or end in a tile."""
    return [f for f in plan.fifos if tile in _tiles(f)]


def _tiles(fifo: Fifo) -> Iterable[Tile]:
    return (fifo.producer, *fifo.consumers)


def core_bytes(plan: Plan, tile: Tile, program: CoreProgram) -> int:
    """The bytes that a core's memory holds: stack, objects, buffers."""
    return plan.array.stack + sum(n for _, n in parts_of(plan, tile, program))


def parts_of(plan: Plan, tile: Tile, program: CoreProgram) -> list[tuple[str, int]]:
    """What a core's memory holds, by the names of tensors and tiles."""
    bytes_by_name: Counter[str] = Counter()
    for fifo in ending(plan, tile):
        bytes_by_name[fifo.streams[0].memory.name] += fifo.depth * fifo.bytes
    for name, count, dtype in program.buffers:
        bytes_by_name[name.split("_")[0]] += count * bytes_of(dtype)
    return bytes_by_name.most_common()


def memory_tile_bytes(plan: Plan, tile: Tile, *, doubled: bool = False) -> int:
    """The bytes of the objects that pass a memory tile; `doubled` if each FIFO held two."""
    return sum((2 if doubled else f.depth) * f.bytes for f in _passing(plan, tile))


def _passing(plan: Plan, tile: Tile) -> list[Fifo]:
    """The FIFOs whose objects lie in a memory tile."""
    ends = (x.inputs[0] if len(x.inputs) == 1 else x.outputs[0] for x in plan.links)
    return [f for f in ends if tile in _tiles(f)]


def _too_much(plan: Plan, tile: Tile, program: CoreProgram) -> Exception:
    used, limit = core_bytes(plan, tile, program), plan.array.compute.memory
    largest = ", ".join(f"{name} {size}" for name, size in parts_of(plan, tile, program)[:4])
    first = plan.streams[0].memory
    return error(
        "DSL0553",
        f"{plan.kernel.name}: a core holds {used} bytes, {limit} is what its memory has; the largest "
        f"are {largest}, and {plan.array.stack} of stack",
        first.loc,
        hint="choose smaller blocks",
    )
