"""A plan as locks, buffers, descriptors and flows: what printer B writes out.

A memory that objects pass has `depth` buffers and, for each part of its objects, a lock that counts
free parts and one that counts full ones. A channel's descriptors go round: one for each buffer and
part.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dslc.codegen.aie.compute.ports import LockedEnd
from dslc.codegen.aie.planning.address_patterns import Dims
from dslc.codegen.aie.planning.plan import Fifo, Link, Plan, Tile
from dslc.compiler.dtypes import I32, DType

_HOST = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of a tile."""

    name: str
    tile: Tile
    count: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock of a tile and what it begins with."""

    name: str
    tile: Tile
    number: int
    value: int


@dataclass(frozen=True, slots=True)
class Descriptor:
    """One buffer descriptor between two locks, which count `amount` each time."""

    buffer: Buffer
    offset: int
    length: int
    dims: Dims
    taken: Lock
    given: Lock
    amount: int = 1


@dataclass(slots=True)
class Channel:
    """A channel of a tile's DMA, and its descriptors, which go round; a shim's has none."""

    tile: Tile
    direction: str
    number: int
    chain: list[Descriptor] = field(default_factory=list)


@dataclass(slots=True)
class Explicit:
    """All of a plan's hardware. `ends` are those of cores, by tile and FIFO."""

    plan: Plan
    buffers: list[Buffer] = field(default_factory=list)
    locks: list[Lock] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    flows: list[tuple[Fifo, Channel, tuple[Channel, ...]]] = field(default_factory=list)
    ends: dict[Tile, dict[Fifo, LockedEnd]] = field(default_factory=dict)
    turns: list[Buffer] = field(default_factory=list)
    _numbers: Counter[tuple[Tile, str]] = field(default_factory=Counter)

    def channel(self, tile: Tile, direction: str) -> Channel:
        """The next channel of a tile."""
        number = self._numbers[tile, direction]
        self._numbers[tile, direction] += 1
        self.channels.append(Channel(tile, direction, number))
        return self.channels[-1]

    def lock(self, name: str, tile: Tile, value: int) -> Lock:
        """The next lock of a tile."""
        number = self._numbers[tile, "lock"]
        self._numbers[tile, "lock"] += 1
        self.locks.append(Lock(name, tile, number, value))
        return self.locks[-1]

    def buffer(self, name: str, tile: Tile, count: int, dtype: DType) -> Buffer:
        """A buffer of a tile."""
        self.buffers.append(Buffer(name, tile, count, dtype))
        return self.buffers[-1]


def make_explicit(plan: Plan) -> Explicit:
    """The hardware of a plan, with channels numbered in the order of links and FIFOs."""
    explicit = Explicit(plan)
    sources: dict[Fifo, Channel] = {}
    targets: dict[Fifo, list[Channel]] = {f: [] for f in plan.fifos}
    linked: set[tuple[Fifo, Tile]] = set()
    for link in plan.links:
        _link(explicit, link, sources, targets)
        tile = link.outputs[0].producer
        linked |= {(f, tile) for f in (*link.inputs, *link.outputs)}
    for fifo in plan.fifos:
        if (fifo, fifo.producer) not in linked:
            sources[fifo] = _end(explicit, fifo, fifo.producer, produces=True)
        for tile in fifo.consumers:
            if (fifo, tile) not in linked:
                targets[fifo].append(_end(explicit, fifo, tile, produces=False))
        explicit.flows.append((fifo, sources[fifo], tuple(targets[fifo])))
    return explicit


def _end(made: Explicit, fifo: Fifo, tile: Tile, *, produces: bool) -> Channel:
    """A core's or a shim's end of a FIFO."""
    channel = made.channel(tile, "MM2S" if produces else "S2MM")
    if tile[1] == _HOST:
        return channel
    stem = f"{fifo.name}_at_{tile[0]}_{tile[1]}"
    buffers = [
        made.buffer(f"{stem}_{i}", tile, fifo.elements, fifo.dtype) for i in range(fifo.depth)
    ]
    free = made.lock(f"{stem}_free", tile, fifo.depth)
    full = made.lock(f"{stem}_full", tile, 0)
    taken, given = (full, free) if produces else (free, full)
    dims = fifo.dims if produces else ()
    channel.chain = [Descriptor(b, 0, fifo.elements, dims, taken, given) for b in buffers]
    turn = None
    if fifo.depth > fifo.unit or fifo.step < fifo.unit:
        turn = f"%{stem}_turn"
        made.turns.append(Buffer(f"{stem}_turn", tile, 1, I32))
    names = tuple(f"%{b.name}" for b in buffers)
    made.ends.setdefault(tile, {})[fifo] = LockedEnd(
        names, f"%{given.name}", f"%{taken.name}", turn
    )
    return channel


def _link(
    made: Explicit,
    link: Link,
    sources: dict[Fifo, Channel],
    targets: dict[Fifo, list[Channel]],
) -> None:
    joined = len(link.inputs) > 1
    outer = link.outputs[0] if joined else link.inputs[0]
    parts = link.inputs if joined else link.outputs
    tile = link.outputs[0].producer
    buffers = [
        made.buffer(f"{outer.name}_{i}", tile, outer.elements, outer.dtype)
        for i in range(outer.depth)
    ]
    offsets = link.offsets or (0,)
    locks = [
        (
            made.lock(f"{outer.name}_{i}_free", tile, outer.depth * outer.repeat),
            made.lock(f"{outer.name}_{i}_full", tile, 0),
        )
        for i in range(len(parts))
    ]
    for fifo in (*link.inputs, *link.outputs):
        sends = fifo in link.outputs
        channel = made.channel(tile, "MM2S" if sends else "S2MM")
        if sends:
            sources[fifo] = channel
        else:
            targets[fifo].append(channel)
        own = range(len(parts)) if fifo is outer else (parts.index(fifo),)
        dims = _part_dims(fifo.dims, len(own)) if sends else ()
        again, amount = (outer.repeat, 1) if sends else (1, outer.repeat)
        for buffer in (b for b in buffers for _ in range(again)):
            for i in own:
                free, full = locks[i]
                taken, given = (full, free) if sends else (free, full)
                length = outer.elements if outer.repeat > 1 else parts[i].elements
                channel.chain.append(
                    Descriptor(buffer, offsets[i], length, dims, taken, given, amount)
                )


def _part_dims(dims: Dims, parts: int) -> Dims:
    """The loops over one part, where those of the whole pass one part after another."""
    if parts == 1 or not dims:
        return dims
    (size, stride), *rest = dims
    return ((size // parts, stride), *rest)
