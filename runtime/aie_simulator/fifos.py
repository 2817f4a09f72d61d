"""Object FIFOs as what they stand for: buffers, locks, buffer descriptors and streams.

Each memory that objects pass has `depth` buffers and two locks, one that counts free objects and
one that counts full ones. A link shares the buffers of a memory tile: each part of its objects has
locks of its own, so that a fast core cannot stand in for a slow one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dslc.runtime.aie_simulator.channels import Channel, Descriptor
from dslc.runtime.aie_simulator.device import Device, End, Fifo, memref_of
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import COMPUTE, SHIM, kind_of
from dslc.runtime.aie_simulator.parts import Lock, Memory, Tile
from dslc.runtime.aie_simulator.reader import Operation, integers, strided

_FIFO = (
    r"@(?P<name>\w+)\s*\((?P<producer>%\w+)(?:\s+dimensionsToStream\s+\[(?P<dims>[^\]]*)\])?,"
    r"\s*\{(?P<consumers>[^}]*)\},\s*(?P<depth>\d+) : i32\)"
    r"(?:\s*\{repeat_count = (?P<repeat>\d+) : i32\})?\s*:\s*!aie.objectfifo<(?P<type>.*)>"
)
_LINK = r"\[(.*?)\]\s*->\s*\[(.*?)\]\s*\(\[(.*?)\]\s*\[(.*?)\]\)"


def declare_fifo(device: Device, operation: Operation) -> None:
    """`aie.objectfifo @name(producer, {consumers}, depth) : type`."""
    found, line = operation.match(_FIFO), operation.line
    elements, kind = memref_of(found["type"], line)
    consumers = tuple(device.tile(n.strip(), line) for n in found["consumers"].split(","))
    name = found["name"]
    if name in device.fifos:
        raise AieFault("symbol", f"@{name} is defined twice", line=line)
    producer = device.tile(found["producer"], line)
    loops = strided(found["dims"] or "")
    device.fifos[name] = Fifo(
        name, producer, consumers, int(found["depth"]), elements, kind, loops, line,
        int(found["repeat"] or 1),
    )  # fmt: skip


class Elaboration:
    """Turns the FIFOs of a device into its buffers, locks, channels and streams."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._sources: dict[str, Channel] = {}
        self._targets: dict[str, list[Channel]] = {}

    def run(self, links: Sequence[Operation]) -> None:
        """Links first: their FIFOs meet in the buffers of a memory tile."""
        linked: set[tuple[str, Tile]] = set()
        for link in links:
            self._link(link, linked)
        for fifo in self.device.fifos.values():
            if (fifo.name, fifo.producer) not in linked:
                self._source(fifo)
            for tile in fifo.consumers:
                if (fifo.name, tile) not in linked:
                    self._target(fifo, tile)
            self.device.flow(fifo.name, self._sources[fifo.name], self._targets[fifo.name])

    def _source(self, fifo: Fifo) -> None:
        """The producer's end: a core's objects, or a shim's channel."""
        device, tile = self.device, fifo.producer
        channel = device.channel(tile, "MM2S", fifo.line)
        self._sources[fifo.name] = channel
        if kind_of(tile[1]) is SHIM:
            device.host[fifo.name] = channel
            return
        objects, free, full = self._objects(fifo, tile, "prod")
        channel.chain = [
            Descriptor(o, 0, fifo.elements, fifo.loops, (full, 1), (free, 1), fifo.line)
            for o in objects
        ]
        device.ends[fifo.name, tile] = End(fifo.name, objects, free, full, produces=True)

    def _target(self, fifo: Fifo, tile: Tile) -> None:
        device = self.device
        channel = device.channel(tile, "S2MM", fifo.line)
        self._targets.setdefault(fifo.name, []).append(channel)
        if kind_of(tile[1]) is SHIM:
            device.host[fifo.name] = channel
            return
        objects, free, full = self._objects(fifo, tile, "cons")
        channel.chain = [
            Descriptor(o, 0, fifo.elements, (), (free, 1), (full, 1), fifo.line) for o in objects
        ]
        device.ends[fifo.name, tile] = End(fifo.name, objects, full, free, produces=False)

    def _objects(self, fifo: Fifo, tile: Tile, side: str) -> tuple[list[Memory], Lock, Lock]:
        if kind_of(tile[1]) is not COMPUTE:
            raise AieFault(
                "link", f"@{fifo.name} ends in a memory tile without a link there", line=fifo.line
            )
        device, title = self.device, f"{fifo.name}_{side}_{tile[0]}_{tile[1]}"
        objects = [
            device.memory(tile, f"{title}_{i}", fifo.elements, fifo.kind, fifo.line)
            for i in range(fifo.depth)
        ]
        free = device.lock(tile, f"{title}_free", fifo.depth, fifo.line)
        return objects, free, device.lock(tile, f"{title}_full", 0, fifo.line)

    def _link(self, operation: Operation, linked: set[tuple[str, Tile]]) -> None:
        device, line = self.device, operation.line
        found = operation.match(_LINK)
        sides = [[self._fifo(n, line) for n in re.findall(r"@(\w+)", found[i])] for i in (1, 2)]
        inputs, outputs = sides
        tile = outputs[0].producer
        if any(f.producer != tile for f in outputs) or any(tile not in f.consumers for f in inputs):
            raise AieFault("link", "its FIFOs do not meet in one tile", line=line)
        joined = len(inputs) > 1
        outer = outputs[0] if joined else inputs[0]
        parts = inputs if joined else outputs
        offsets = integers(found[3] if joined else found[4]) or (0,)
        again = outputs[0].repeat
        whole = len(inputs) == len(outputs) == 1 and outer.elements % parts[0].elements == 0
        if not (whole and (again > 1 or outer.elements > parts[0].elements)):
            _check_parts(outer, parts, offsets, line)
        if again > 1 and not whole:
            raise AieFault("link", f"@{outputs[0].name} repeats parts of objects", line=line)
        objects = [
            device.memory(tile, f"{outer.name}_{i}", outer.elements, outer.kind, line)
            for i in range(outer.depth)
        ]
        locks = []
        for number in range(len(parts)):
            free = device.lock(tile, f"{outer.name}_{number}_free", outer.depth * again, line)
            locks.append((free, device.lock(tile, f"{outer.name}_{number}_full", 0, line)))
        lengths = [outer.elements if whole else p.elements for p in parts]
        shares = list(zip(parts, offsets, locks, lengths, strict=True))
        for fifo in inputs:
            own = shares if fifo is outer else [p for p in shares if p[0] is fifo]
            channel = device.channel(tile, "S2MM", line)
            self._targets.setdefault(fifo.name, []).append(channel)
            channel.chain = [
                Descriptor(o, at, length, (), (free, again), (full, again), line)
                for o in objects
                for _, at, (free, full), length in own
            ]
            linked.add((fifo.name, tile))
        for fifo in outputs:
            own = shares if fifo is outer else [p for p in shares if p[0] is fifo]
            channel = device.channel(tile, "MM2S", line)
            self._sources[fifo.name] = channel
            channel.chain = [
                Descriptor(
                    o, at, length, _part_loops(fifo, len(own), line), (full, 1), (free, 1), line
                )
                for o in objects
                for _ in range(again)
                for _, at, (free, full), length in own
            ]
            linked.add((fifo.name, tile))

    def _fifo(self, name: str, line: int) -> Fifo:
        if name not in self.device.fifos:
            raise AieFault("symbol", f"@{name} is no FIFO", line=line)
        return self.device.fifos[name]


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


def _part_loops(fifo: Fifo, parts: int, line: int) -> tuple[tuple[int, int], ...]:
    """The loops over one part of an object whose loops are given as a whole: its outermost is cut."""
    if parts == 1 or not fifo.loops:
        return fifo.loops
    (size, stride), *rest = fifo.loops
    if size % parts or size // parts * stride * parts != fifo.elements:
        raise AieFault(
            "link", f"the loops of @{fifo.name} do not pass its parts in turn", line=line
        )
    return ((size // parts, stride), *rest)
