"""The device of a module: tiles, memories, locks, channels and streams, as they are declared."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

import numpy as np
from dslc.runtime.aie_simulator.channels import Channel, Descriptor, check_descriptor
from dslc.runtime.aie_simulator.errors import AieFault
from dslc.runtime.aie_simulator.machine import (
    COLUMNS,
    COMPUTE,
    LOCK_MOST,
    STACK,
    Kind,
    kind_of,
)
from dslc.runtime.aie_simulator.parts import Cascade, Lock, Memory, Stream, Tile, element_type
from dslc.runtime.aie_simulator.reader import Operation

_MEMREF = re.compile(r"memref<((?:\d+x)*)(\w+)>")


def memref_of(text: str, line: int) -> tuple[int, str]:
    """Elements and element type of a memref's type."""
    found = _MEMREF.search(text)
    if found is None:
        raise AieFault("syntax", f"{text} is no memref of known size", line=line)
    return math.prod(int(n) for n in found[1].split("x") if n), found[2]


@dataclass(slots=True, eq=False)
class Fifo:
    """An object FIFO: its tiles, the depth of its memories, its objects, the loops of its producer."""

    name: str
    producer: Tile
    consumers: tuple[Tile, ...]
    depth: int
    elements: int
    kind: str
    loops: tuple[tuple[int, int], ...]
    line: int
    repeat: int = 1


@dataclass(slots=True, eq=False)
class End:
    """A core's end of a FIFO: its objects, and the locks that are acquired and released."""

    name: str
    objects: list[Memory]
    taken: Lock
    given: Lock
    produces: bool
    held: int = 0
    at: int = 0
    checked: bool = True  # whether objects hold values


@dataclass(slots=True, eq=False)
class Device:
    """All that is declared. Tiles are (column, row); `values` are what SSA names stand for."""

    values: dict[str, object] = field(default_factory=dict)
    tiles: list[Tile] = field(default_factory=list)
    memories: dict[Tile, list[Memory]] = field(default_factory=dict)
    locks: dict[Tile, list[Lock]] = field(default_factory=dict)
    channels: dict[tuple[Tile, str], list[Channel]] = field(default_factory=dict)
    fifos: dict[str, Fifo] = field(default_factory=dict)
    ends: dict[tuple[str, Tile], End] = field(default_factory=dict)
    host: dict[str, Channel] = field(default_factory=dict)
    cores: list[tuple[Tile, Operation]] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    stacks: dict[Tile, int] = field(default_factory=dict)
    cascades: list[Cascade] = field(default_factory=list)

    def tile(self, name: str, line: int) -> Tile:
        """The tile of an SSA name."""
        found = self.values.get(name)
        if not isinstance(found, tuple):
            raise AieFault("symbol", f"{name} is no tile", line=line)
        return found

    def declare_tile(self, operation: Operation) -> None:
        """`%t = aie.tile(column, row)`."""
        found = operation.match(r"\((\d+), (\d+)\)")
        tile = (int(found[1]), int(found[2]))
        if tile[0] >= COLUMNS or kind_of(tile[1]) is None:
            raise AieFault("tile", f"there is no tile {tile[0]}, {tile[1]}", line=operation.line)
        if tile in self.tiles:
            raise AieFault(
                "symbol", f"tile {tile[0]}, {tile[1]} is declared twice", line=operation.line
            )
        self.tiles.append(tile)
        self.define(operation, tile)

    def define(self, operation: Operation, value: object) -> None:
        """The one result of an operation."""
        (name,) = operation.results
        if name in self.values:
            raise AieFault("symbol", f"{name} is defined twice", line=operation.line)
        self.values[name] = value

    def memory(self, tile: Tile, name: str, count: int, kind: str, line: int) -> Memory:
        """A buffer of a tile."""
        if not kind_of_tile(tile, line).memory:
            raise AieFault("tile", f"{name} is in a shim tile, which has no memory", line=line)
        made = Memory(name, kind, np.zeros(count, element_type(kind, line)))
        self.memories.setdefault(tile, []).append(made)
        return made

    def lock(self, tile: Tile, name: str, value: int, line: int = 0) -> Lock:
        """A lock of a tile with its first value."""
        kind = kind_of_tile(tile, line)
        own = self.locks.setdefault(tile, [])
        if len(own) == kind.locks:
            raise AieFault("locks", f"{name} is one more than a {kind.name} tile has", line=line)
        if not 0 <= value <= LOCK_MOST:
            raise AieFault("lock-value", f"{name} begins at {value}", line=line)
        made = Lock(tile, name, value)
        own.append(made)
        return made

    def channel(self, tile: Tile, direction: str, line: int, number: int | None = None) -> Channel:
        """The next channel of a direction, or the one of that number."""
        kind = kind_of_tile(tile, line)
        own = self.channels.setdefault((tile, direction), [])
        number = len(own) if number is None else number
        if number >= kind.channels[direction] or any(c.number == number for c in own):
            raise AieFault(
                "channels",
                f"{direction} {number} of tile {tile[0]}, {tile[1]}: a {kind.name} tile has "
                f"{kind.channels[direction]}, each for one use",
                line=line,
            )
        made = Channel(tile, direction, number, line=line)
        own.append(made)
        return made

    def flow(self, name: str, source: Channel, targets: list[Channel]) -> None:
        """A stream from a channel to others."""
        stream = Stream(name, source.name, tuple(t.name for t in targets))
        for channel in (source, *targets):
            if channel.stream is not None:
                raise AieFault("channels", f"{channel.name} is in two streams", line=channel.line)
            channel.stream = stream
        self.streams.append(stream)

    def used(self, tile: Tile) -> int:
        """The bytes of a tile's memory that are taken, a core's stack among them."""
        stack = self.stacks.get(tile, STACK) if kind_of_tile(tile, 0) is COMPUTE else 0
        return stack + sum(m.data.nbytes for m in self.memories.get(tile, ()))

    # What must hold of all of it

    def check(self) -> None:
        """AieFault where a tile has not room for what it is given."""
        for tile, memories in self.memories.items():
            kind, used = kind_of_tile(tile, 0), self.used(tile)
            if used > kind.memory:
                largest = max(memories, key=lambda m: m.data.nbytes)
                raise AieFault(
                    "memory",
                    f"tile {tile[0]}, {tile[1]} holds {used} bytes of {kind.memory}, the largest are "
                    f"{largest.data.nbytes} of {largest.name}",
                )
        for tile in self.tiles:
            self._check_descriptors(tile)

    def _check_descriptors(self, tile: Tile) -> None:
        kind = kind_of_tile(tile, 0)
        counts = [0, 0]
        for (owner, _), channels in self.channels.items():
            if owner == tile:
                for channel in channels:
                    counts[channel.number % 2] += len(channel.chain)
                    for descriptor in channel.chain:
                        check_descriptor(descriptor, tile[1])
        halves = kind.dims == 4  # memory tiles give half to the odd channels
        if (max(counts) > kind.descriptors // 2) if halves else (sum(counts) > kind.descriptors):
            raise AieFault(
                "descriptors",
                f"tile {tile[0]}, {tile[1]} takes {counts[0]} on even and {counts[1]} on odd "
                f"channels, a "
                f"{kind.name} tile has {kind.descriptors}",
            )


def kind_of_tile(tile: Tile, line: int) -> Kind:
    """The kind of a tile of the array."""
    found = kind_of(tile[1])
    if found is None:
        raise AieFault("tile", f"there is no tile {tile[0]}, {tile[1]}", line=line)
    return found


def transfer(
    memory: Memory, offset: int, length: int, line: int, loops: tuple[tuple[int, int], ...] = ()
) -> Descriptor:
    """A descriptor without locks."""
    return Descriptor(memory, offset, length, loops, line=line)
