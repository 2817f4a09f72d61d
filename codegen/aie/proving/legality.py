"""The prover: every rule of the machine, held against a plan before it is printed.

It reads the plan alone, counts for itself what the plan takes of each tile, and names the tensor
and the rule where that is more than there is. What it proves is what the hardware does not tell: a
descriptor that is cut short, a task that is dropped, a FIFO that nobody fills.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

from dslc.codegen.aie.compute.core_program import CoreProgram
from dslc.codegen.aie.dtypes import WORD, bytes_of
from dslc.codegen.aie.planning.memories import core_bytes, memory_tile_bytes
from dslc.codegen.aie.planning.plan import Fifo, Link, Plan, Tile
from dslc.codegen.aie.proving.task_legality import (
    HOST,
    broken,
    check_balance,
    check_loops,
    check_ports,
    check_queues,
    check_task,
)
from dslc.compiler.diagnostics import DiagnosticError, error

_BUNDLE = 16  # bytes of an instruction, which an operation fills in the worst case


def prove_network(plan: Plan) -> None:
    """The part that needs no programs: channels, and single objects in flight."""
    _channels(plan)
    check_ports(plan)


def prove(plan: Plan, programs: Mapping[Tile, CoreProgram]) -> None:
    """DSL0554 with the tensor and the rule where a plan breaks one."""
    _channels(plan)
    _descriptors(plan)
    _locks(plan)
    _links(plan)
    _memories(plan, programs)
    _programs(plan, programs)
    _cascade(plan, programs)
    for fifo in plan.fifos:
        _objects(plan, fifo)
    check_ports(plan)
    check_queues(plan)
    for phase in plan.phases:
        for task in phase:
            check_task(plan, task)
    check_balance(plan)


def _tiles(fifo: Fifo) -> tuple[Tile, ...]:
    return (fifo.producer, *fifo.consumers)


def _channels(plan: Plan) -> None:
    used: Counter[tuple[Tile, bool]] = Counter()
    for fifo in plan.fifos:
        for tile in _tiles(fifo):
            sends = tile == fifo.producer
            used[tile, sends] += 1
            kind = plan.array.kind(tile[1])
            limit = kind.outputs if sends else kind.inputs
            if used[tile, sends] > limit:
                word = "MM2S" if sends else "S2MM"
                raise broken(
                    fifo, f"no {word} channel of tile {tile} is left for it",
                    f"a {kind.name} tile has {limit}",
                )  # fmt: skip


def _chains(plan: Plan) -> Iterator[tuple[Fifo, Tile, bool, int]]:
    """The buffer descriptors that each end of a FIFO takes; shims are given theirs by tasks."""
    linked: dict[tuple[Fifo, Tile], int] = {}
    for link in plan.links:
        tile = link.outputs[0].producer
        outer = _outer(link)
        parts = max(len(link.inputs), len(link.outputs))
        for fifo in (*link.inputs, *link.outputs):
            again = fifo.repeat if fifo in link.outputs else 1
            linked[fifo, tile] = outer.depth * (parts if fifo is outer else 1) * again
    for fifo in plan.fifos:
        for tile in _tiles(fifo):
            if tile[1] != HOST:
                yield fifo, tile, tile == fifo.producer, linked.get((fifo, tile), fifo.depth)


def _outer(link: Link) -> Fifo:
    return link.outputs[0] if len(link.inputs) > 1 else link.inputs[0]


def _descriptors(plan: Plan) -> None:
    numbers: Counter[tuple[Tile, bool]] = Counter()
    used: Counter[tuple[Tile, int]] = Counter()
    for fifo, tile, sends, count in _chains(plan):
        kind = plan.array.kind(tile[1])
        halves = (
            2 if kind is plan.array.memory else 1
        )  # even channels have one half, odd ones the other
        half = numbers[tile, sends] % halves
        numbers[tile, sends] += 1
        used[tile, half] += count
        if used[tile, half] > kind.descriptors // halves:
            raise broken(
                fifo, f"{used[tile, half]} buffer descriptors of tile {tile} are taken with it",
                f"a {kind.name} tile has {kind.descriptors // halves} for these channels",
            )  # fmt: skip


def _locks(plan: Plan) -> None:
    used: Counter[Tile] = Counter()
    inner = {
        (f, link.outputs[0].producer) for link in plan.links for f in link.inputs + link.outputs
    }
    for link in plan.links:
        outer, tile = _outer(link), link.outputs[0].producer
        used[tile] += 2 * max(len(link.inputs), len(link.outputs))
        _lock_count(plan, outer, tile, used)
    for fifo in plan.fifos:
        if fifo.depth * fifo.repeat > plan.array.lock_value:
            raise broken(
                fifo, f"{fifo.depth * fifo.repeat} objects",
                f"a lock counts to {plan.array.lock_value}",
            )  # fmt: skip
        for tile in _tiles(fifo):
            if (fifo, tile) not in inner and tile[1] != HOST:
                used[tile] += 2
                _lock_count(plan, fifo, tile, used)


def _lock_count(plan: Plan, fifo: Fifo, tile: Tile, used: Counter[Tile]) -> None:
    kind = plan.array.kind(tile[1])
    if used[tile] > kind.locks:
        raise broken(
            fifo, f"{used[tile]} locks of tile {tile}", f"a {kind.name} tile has {kind.locks}"
        )


def _links(plan: Plan) -> None:
    for link in plan.links:
        outer = _outer(link)
        parts = link.inputs if len(link.inputs) > 1 else link.outputs
        at = 0
        offsets = link.offsets or (0,) * len(parts)
        for part, offset in zip(parts, offsets, strict=True):
            if offset != at:
                raise broken(part, f"begins at element {offset} of {outer.name}", f"it is at {at}")
            at += part.elements
        if len(parts) == 1 and outer.repeat > 1:
            if outer.elements % at or parts[0].repeat != outer.repeat:
                raise broken(
                    outer, f"panels of {outer.elements} elements, sent in objects of {at}",
                    "a panel is whole objects",
                )  # fmt: skip
        elif at != outer.elements:
            raise broken(
                outer, f"its parts have {at} elements of {outer.elements}",
                "the parts of linked objects cover the larger one",
            )  # fmt: skip


def _memories(plan: Plan, programs: Mapping[Tile, CoreProgram]) -> None:
    for fifo in plan.fifos:
        for tile in _tiles(fifo):
            kind = plan.array.kind(tile[1])
            if kind is plan.array.compute:
                used = core_bytes(plan, tile, programs[tile])
            else:
                used = memory_tile_bytes(plan, tile)
            if used > kind.memory and tile[1] != HOST:
                raise broken(
                    fifo, f"tile {tile} holds {used} bytes", f"a {kind.name} tile has {kind.memory}"
                )


def _programs(plan: Plan, programs: Mapping[Tile, CoreProgram]) -> None:
    limit = plan.array.compute.program
    for program in programs.values():
        size = program.operations * _BUNDLE
        if size > limit:
            raise error(
                "DSL0554",
                f"{plan.kernel.name}: a core's program of {program.operations} operations takes up to "
                f"{size} bytes; program memory has {limit}",
                plan.kernel.loc,
                hint="fewer unrolled iterations, or two kernels",
            )


def _cascade(plan: Plan, programs: Mapping[Tile, CoreProgram]) -> None:
    """Results pass between neighbours, downwards, and as many are taken as are given."""
    below = dict(plan.flows)
    above = {b: a for a, b in plan.flows}
    for tile, program in programs.items():
        taken, given = program.passed
        following = below.get(tile)
        if following is not None and following != (tile[0], tile[1] - 1):
            raise _broken_cascade(
                plan, f"core {tile} passes results to {following}",
                "a cascade leads to the neighbour below",
            )  # fmt: skip
        for count, other, word in ((taken, above.get(tile), "takes"), (given, following, "gives")):
            if bool(count) != (other is not None):
                raise _broken_cascade(
                    plan, f"core {tile} {word} {count} vectors", "each goes to, or comes from, a core"
                )  # fmt: skip
        if following is not None and programs[following].passed[0] != given:
            raise _broken_cascade(
                plan, f"core {tile} gives {given} vectors, {following} takes "
                f"{programs[following].passed[0]}",
                "a core that waits for more than comes waits for ever",
            )  # fmt: skip


def _broken_cascade(plan: Plan, what: str, rule: str) -> DiagnosticError:
    loc = plan.cascade.loop.loc if plan.cascade is not None else plan.kernel.loc
    tensors = "/".join(t.memory.name for t in plan.tensors)
    return error("DSL0554", f"tensor {tensors}: {what}; {rule}", loc)


def _objects(plan: Plan, fifo: Fifo) -> None:
    """Length and loops of the descriptors that move a FIFO's objects."""
    if fifo.depth < fifo.unit:
        raise broken(
            fifo, f"{fifo.depth} objects, {fifo.unit} are held at once",
            "a core that waits for more objects than there are waits for ever",
        )  # fmt: skip
    if fifo.bytes % WORD:
        raise broken(fifo, f"objects of {fifo.bytes} bytes", f"a DMA moves words of {WORD} bytes")
    for tile in _tiles(fifo):
        kind = plan.array.kind(tile[1])
        if kind.memory and not 1 <= fifo.bytes // WORD <= kind.length:
            raise broken(
                fifo, f"objects of {fifo.bytes // WORD} words",
                f"a {kind.name} tile's descriptor moves at most {kind.length}",
            )  # fmt: skip
    if fifo.dims:
        check_loops(fifo, fifo.dims, plan.array.kind(fifo.producer[1]), bytes_of(fifo.dtype))
        whole = _panel(plan, fifo)
        if math.prod(size for size, _ in fifo.dims) != whole:
            raise broken(fifo, "its loops pass another number of elements", f"it has {whole}")


def _panel(plan: Plan, fifo: Fifo) -> int:
    """The elements that a FIFO's producer sends by a descriptor: an object's, or a panel's."""
    if fifo.repeat == 1 or fifo.producer[1] == HOST:
        return fifo.elements
    return next(x.inputs[0].elements for x in plan.links if fifo in x.outputs)
