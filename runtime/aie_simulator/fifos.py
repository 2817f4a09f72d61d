"""Object FIFOs as what they stand for: buffers, locks, buffer descriptors and streams.

Each memory that objects pass has `depth` buffers and two locks, one that counts free objects and
one that counts full ones. A link shares the buffers of a memory tile: each part of its objects has
locks of its own, so that a fast core cannot stand in for a slow one. Neighbouring cores share the
objects themselves, without a DMA.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from dslc.compiler.mlir import Opaque, Symbol
from dslc.runtime.aie_simulator.channels import Channel
from dslc.runtime.aie_simulator.descriptors import Descriptor, Loops
from dslc.runtime.aie_simulator.device import Device, End
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.explicit import fill
from dslc.runtime.aie_simulator.machine import COMPUTE, SHIM, kind_of, reaches
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, elements_of, loops_of, pads_of


@dataclass(slots=True, eq=False)
class Fifo:
    """An object FIFO: its tiles, how many objects each end has, and the loops at each end."""

    name: str
    producer: Tile
    consumers: tuple[Tile, ...]
    depths: tuple[int, ...]
    elements: int
    kind: str
    loops: Loops
    from_stream: tuple[Loops, ...]
    line: int
    repeat: int = 1
    pads: Loops = ()
    pad_value: int = 0
    initial: Sequence[object] = field(default=())
    is_shared: bool = False  # neighbours that need no DMA
    in_consumer: bool = False  # the shared objects lie at the consumer

    @property
    def depth(self) -> int:
        """The objects at the producer's end."""
        return self.depths[0]

    def depth_at(self, tile: Tile) -> int:
        """The objects at an end."""
        return self.depths[1 + self.consumers.index(tile)] if tile in self.consumers else self.depth


def read_fifo(device: Device, op: Operation) -> Fifo:
    """`aie.objectfifo @name(producer, {consumers}, depth) : type`."""
    line, name = op.line, op.text("sym_name")
    elements, kind = elements_of(op.attributes["elemType"].inner, line)
    producer, *consumers = (device.tile(n, line) for n in op.operands)
    given = op.attributes["elemNumber"]
    depths = [int(n.value) for n in given] if isinstance(given, list) else [int(given.value)]
    depths = depths * (1 + len(consumers)) if len(depths) == 1 else depths
    if len(depths) != 1 + len(consumers):
        text = f"@{name} has {len(depths)} depths for {1 + len(consumers)} ends"
        raise AieFault("fifo", text, line=line)
    loops = loops_of(op.fields("dimensionsToStream"), line)
    froms = op.fields("dimensionsFromStreamPerConsumer") or ()
    per_consumer = [loops_of(f.value if isinstance(f, Opaque) else f, line) for f in froms]
    fifo = Fifo(
        name,
        producer,
        tuple(consumers),
        tuple(depths),
        elements,
        kind,
        loops,
        tuple(per_consumer or [()] * len(consumers)),
        line,
        op.integer("repeat_count", 1),
        pads_of(op.fields("padDimensions"), line),
        op.integer("padValue", 0),
        op.attributes.get("initValues", ()),
    )
    if op.integer("repeat_count", 1) < 1:
        raise AieFault("fifo", f"@{name} is repeated {op.integer('repeat_count')} times", line=line)
    direct = not (loops or any(fifo.from_stream) or fifo.repeat > 1 or op.flag("via_DMA"))
    if direct and len(consumers) == 1 and producer != consumers[0]:
        back = reaches(consumers[0], producer, dma=False)
        ahead = reaches(producer, consumers[0], dma=False)
        fifo.is_shared = back or ahead
        fifo.in_consumer = ahead and (not back or op.integer("via_shared_mem", 0) == 1)
    return fifo


class Elaboration:
    """Turns the FIFOs of a device into its buffers, locks, channels and streams."""

    def __init__(self, device: Device, fifos: Sequence[Operation]) -> None:
        self.device = device
        self.fifos: dict[str, Fifo] = {}
        for op in fifos:
            fifo = read_fifo(device, op)
            device.name(fifo.name, fifo, fifo.line)
            self.fifos[fifo.name] = fifo
        self._sources: dict[str, Channel] = {}
        self._targets: dict[str, list[Channel]] = {}

    def run(self, links: Sequence[Operation]) -> None:
        """Links first: their FIFOs meet in the buffers of a memory tile."""
        linked: set[tuple[str, Tile]] = set()
        for link in links:
            self._link(link, linked)
        for fifo in self.fifos.values():
            ends = [(fifo.name, tile) for tile in (fifo.producer, *fifo.consumers)]
            if fifo.is_shared and not linked.intersection(ends):
                self._share(fifo)
                continue
            if ends[0] not in linked:
                self._source(fifo)
            for tile in fifo.consumers:
                if (fifo.name, tile) not in linked:
                    self._target(fifo, tile)
            self.device.flow(fifo.name, self._sources[fifo.name], self._targets[fifo.name])

    def _share(self, fifo: Fifo) -> None:
        """The objects of neighbours, in the memory of one of them."""
        (consumer,) = fifo.consumers
        tile = consumer if fifo.in_consumer else fifo.producer
        objects, free, full = self._objects(fifo, tile, "")
        ends = ((fifo.producer, free, full, True), (consumer, full, free, False))
        for end, taken, given, produces in ends:
            at = full.value % len(objects) if produces else 0
            self.device.ends[fifo.name, end] = End(
                fifo.name, objects, taken, given, produces, at=at
            )

    def _source(self, fifo: Fifo) -> None:
        """The producer's end: a core's objects, or a shim's channel."""
        device, tile = self.device, fifo.producer
        channel = device.channel(tile, "MM2S", fifo.line)
        self._sources[fifo.name] = channel
        if kind_of(tile[1]) is SHIM:
            device.host[fifo.name] = channel
            return
        objects, free, full = self._objects(fifo, tile, "_prod")
        channel.declare(
            [
                Descriptor(
                    o,
                    0,
                    fifo.elements,
                    fifo.loops,
                    (full, 1, False),
                    (free, 1),
                    fifo.line,
                    fifo.pads,
                    fifo.pad_value,
                )
                for o in objects
                for _ in range(fifo.repeat)
            ]
        )
        device.ends[fifo.name, tile] = End(fifo.name, objects, free, full, produces=True)

    def _target(self, fifo: Fifo, tile: Tile) -> None:
        device = self.device
        channel = device.channel(tile, "S2MM", fifo.line)
        self._targets.setdefault(fifo.name, []).append(channel)
        if kind_of(tile[1]) is SHIM:
            device.host[fifo.name] = channel
            return
        objects, free, full = self._objects(fifo, tile, "_cons")
        loops = fifo.from_stream[fifo.consumers.index(tile)]
        channel.declare(
            [
                Descriptor(o, 0, fifo.elements, loops, (free, 1, False), (full, 1), fifo.line)
                for o in objects
            ]
        )
        device.ends[fifo.name, tile] = End(fifo.name, objects, full, free, produces=False)

    def _objects(self, fifo: Fifo, tile: Tile, side: str) -> tuple[list[Memory], Lock, Lock]:
        if kind_of(tile[1]) is not COMPUTE and not (fifo.initial and tile == fifo.producer):
            raise AieFault(
                "link", f"@{fifo.name} ends in a memory tile without a link there", line=fifo.line
            )
        device, title = self.device, f"{fifo.name}{side}_{tile[0]}_{tile[1]}"
        depth = fifo.depth_at(tile)
        objects = [
            device.memory(tile, f"{title}_{i}", fifo.elements, fifo.kind, fifo.line)
            for i in range(depth)
        ]
        full = self._begin(fifo, objects) if tile == fifo.producer or fifo.is_shared else 0
        again = fifo.repeat if side == "_prod" else 1
        free = device.lock(tile, f"{title}_free", (depth - full) * again, fifo.line)
        return objects, free, device.lock(tile, f"{title}_full", full * again, fifo.line)

    def _begin(self, fifo: Fifo, objects: Sequence[Memory]) -> int:
        """Fill the objects that have initial values; how many they are."""
        if len(fifo.initial) > len(objects):
            text = f"@{fifo.name} has {len(fifo.initial)} initial values for {len(objects)} objects"
            raise AieFault("fifo", text, line=fifo.line)
        for memory, initial in zip(objects, fifo.initial, strict=False):
            fill(memory, initial, fifo.line)
        return len(fifo.initial)

    def _link(self, operation: Operation, linked: set[tuple[str, Tile]]) -> None:
        device, line = self.device, operation.line
        sides = [[self._fifo(n, line) for n in operation.attributes[k]] for k in _SIDES]
        inputs, outputs = sides
        tile = outputs[0].producer
        if any(f.producer != tile for f in outputs) or any(tile not in f.consumers for f in inputs):
            raise AieFault("link", "its FIFOs do not meet in one tile", line=line)
        joined = len(inputs) > 1
        alone = len(inputs) == len(outputs) == 1
        # One to one the larger objects are those of the tile: the smaller pass in turn.
        outer = outputs[0] if joined or (alone and _is_larger(*outputs, *inputs)) else inputs[0]
        parts = inputs if joined or outer is outputs[0] else outputs
        offsets = tuple(operation.integers(_OFFSETS[0] if joined else _OFFSETS[1]))
        offsets = offsets or tuple(
            itertools.accumulate((p.elements for p in parts[:-1]), initial=0)
        )
        again = outputs[0].repeat
        whole = alone and outer.elements % parts[0].elements == 0
        if not (whole and (again > 1 or outer.elements > parts[0].elements)):
            _check_parts(outer, parts, offsets, line)
        if again > 1 and not whole:
            raise AieFault("link", f"@{outputs[0].name} repeats parts of objects", line=line)
        if any(f.initial for f in inputs):
            raise AieFault("link", "objects of a linked FIFO begin with values", line=line)
        depth = outer.depth_at(tile)
        objects = [
            device.memory(tile, f"{outer.name}_{i}", outer.elements, outer.kind, line)
            for i in range(depth)
        ]
        begun = self._begin(outputs[0], objects) if alone else 0
        locks = []
        for number in range(len(parts)):
            free = device.lock(tile, f"{outer.name}_{number}_free", (depth - begun) * again, line)
            full = device.lock(tile, f"{outer.name}_{number}_full", begun * again, line)
            locks.append((free, full))
        lengths = [outer.elements if whole else p.elements for p in parts]
        shares = list(zip(parts, offsets, locks, lengths, strict=True))
        for fifo in inputs:
            own = shares if fifo is outer or alone else [p for p in shares if p[0] is fifo]
            channel = device.channel(tile, "S2MM", line)
            self._targets.setdefault(fifo.name, []).append(channel)
            loops = _part_loops(fifo, fifo.from_stream[fifo.consumers.index(tile)], len(own), line)
            channel.declare(
                [
                    Descriptor(o, at, length, loops, (free, again, False), (full, again), line)
                    for o in objects
                    for _, at, (free, full), length in own
                ]
            )
            linked.add((fifo.name, tile))
        for fifo in outputs:
            own = shares if fifo is outer or alone else [p for p in shares if p[0] is fifo]
            channel = device.channel(tile, "MM2S", line)
            self._sources[fifo.name] = channel
            loops = _part_loops(fifo, fifo.loops, len(own), line)
            descriptors = [
                Descriptor(
                    o,
                    at,
                    length,
                    loops,
                    (full, 1, False),
                    (free, 1),
                    line,
                    fifo.pads,
                    fifo.pad_value,
                )
                for o in objects
                for _ in range(again)
                for _, at, (free, full), length in own
            ]
            if fifo.pads:
                for descriptor in descriptors:
                    descriptor.length = descriptor.count
            channel.declare(descriptors)
            linked.add((fifo.name, tile))

    def _fifo(self, name: object, line: int) -> Fifo:
        if not isinstance(name, Symbol) or name not in self.fifos:
            raise AieFault("symbol", f"@{name} is no FIFO", line=line)
        return self.fifos[name]


_SIDES = ("fifoIns", "fifoOuts")
_OFFSETS = ("src_offsets", "dst_offsets")


def _is_larger(fifo: Fifo, other: Fifo) -> bool:
    return fifo.elements > other.elements and fifo.repeat == 1 and not fifo.pads


def _check_parts(outer: Fifo, parts: Sequence[Fifo], offsets: tuple[int, ...], line: int) -> None:
    at = 0
    if len(offsets) != len(parts):
        raise AieFault("link", f"{len(parts)} parts, {len(offsets)} offsets", line=line)
    for part, offset in zip(parts, offsets, strict=True):
        if offset != at or part.kind != outer.kind:
            raise AieFault(
                "link",
                f"@{part.name} begins at element {offset} of @{outer.name}, not {at}",
                line=line,
            )
        at += part.elements
    if at != outer.elements:
        raise AieFault(
            "link", f"the parts of @{outer.name} have {at} elements of {outer.elements}", line=line
        )


def _part_loops(fifo: Fifo, loops: Loops, parts: int, line: int) -> Loops:
    """The loops over one part of an object whose loops are given as a whole: its outermost is cut."""
    if parts == 1 or not loops:
        return loops
    (size, stride), *rest = loops
    if size % parts or size // parts * stride * parts != fifo.elements:
        raise AieFault(
            "link", f"the loops of @{fifo.name} do not pass its parts in turn", line=line
        )
    return ((size // parts, stride), *rest)
